//! `blksched record`: what it prints, what it refuses, and as root what it records from a loop device.

use std::fs;
use std::process::Command;

use super::{blksched, done, refused};

#[test]
fn the_commands_for_another_machine_find_their_devices_there_and_a_shell_can_read_them() {
    let text = done(&["record", "sdz9", "--time", "5s", "--max-size", "64", "--print"]);
    for part in ["for d in sdz9; do", "timeout 5 cat $I/trace_pipe", "head -c 64M", "block_bio_queue", "rmdir $I"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let path = std::env::temp_dir().join(format!("blksched-record-{}.sh", std::process::id()));
    fs::write(&path, text).unwrap();
    let checked = Command::new("sh").arg("-n").arg(&path).output().unwrap();
    fs::remove_file(path).unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

#[test]
fn what_is_no_disk_is_refused_before_anything_is_done() {
    let error = refused(&["record", "sdz9", "--time", "1s"]);
    assert!(error.contains("`sdz9` is no disk of this machine: expected one of"), "{error}");
}

/// Sets a loop device up and takes it down.
struct Loop {
    file: std::path::PathBuf,
    device: String,
}

impl Loop {
    fn new() -> Loop {
        let file = std::env::temp_dir().join(format!("blksched-record-{}.img", std::process::id()));
        fs::File::create(&file).unwrap().set_len(64 << 20).unwrap();
        let output = Command::new("losetup").args(["--find", "--show"]).arg(&file).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Loop { file, device: String::from_utf8(output.stdout).unwrap().trim().to_owned() }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        drop(Command::new("losetup").args(["--detach", &self.device]).output());
        drop(fs::remove_file(&self.file));
    }
}

#[test]
#[ignore = "root: a loop device and tracefs"]
fn what_a_loop_device_is_asked_for_is_recorded_and_compared_with_its_defaults() {
    let disk = Loop::new();
    let out = std::env::temp_dir().join(format!("blksched-record-{}.trace.gz", std::process::id()));
    let (name, out_name) = (disk.device.strip_prefix("/dev/").unwrap().to_owned(), out.to_str().unwrap().to_owned());
    let recording = std::thread::spawn({
        let (name, out) = (name.clone(), out_name.clone());
        move || blksched(&["record", &name, "--time", "3s", "--out", &out])
    });
    std::thread::sleep(std::time::Duration::from_secs(1));
    let target = format!("of={}", disk.device);
    let dd = Command::new("dd").args(["if=/dev/zero", &target, "bs=64k", "count=50", "oflag=direct"]).output().unwrap();
    assert!(dd.status.success(), "{}", String::from_utf8_lossy(&dd.stderr));
    let output = recording.join().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no event was lost"));
    let info = done(&["trace", "info", &out_name]);
    let compared = done(&["compare", &out_name, "--disk", "sata-ssd", "--parse-only"]);
    fs::remove_file(&out).unwrap();
    assert!(info.contains("can carry a verdict about queueing:") && info.contains("write: 50 "), "{info}");
    assert!(info.contains("dd ["), "{info}");
    assert!(compared.contains(&format!("name={name}")), "{compared}");
    let left = fs::read_dir("/sys/kernel/tracing/instances").map_or(0, |entries| {
        entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with("blksched-")).count()
    });
    assert_eq!(left, 0, "no instance is left behind");
}
