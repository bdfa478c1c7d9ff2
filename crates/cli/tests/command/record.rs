//! `blksched record`: what it prints, what it refuses, and as root what it records from a loop device.

use std::fs;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{blksched, done, refused};

#[test]
fn the_commands_for_another_machine_find_their_devices_there_and_a_shell_can_read_them() {
    let text = done(&["record", "sdz9", "--time", "5s", "--max-size", "64", "--print"]);
    for part in ["disks=sdz9\n", "seconds=5\n", "most=67108864\n", "block_bio_queue", "rmdir "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let path = std::env::temp_dir().join(format!("blksched-record-{}.sh", std::process::id()));
    fs::write(&path, text).unwrap();
    let checked = blksched_testkit::output(Command::new("sh").arg("-n").arg(&path)).unwrap();
    fs::remove_file(path).unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

#[test]
fn what_is_no_disk_is_refused_before_anything_is_done() {
    let error = refused(&["record", "sdz9", "--time", "1s"]);
    assert!(error.contains("`sdz9` is not a disk of this machine: expected one of"), "{error}");
}

/// Serialises the tests that record: each looks for leftovers.
static ALONE: Mutex<()> = Mutex::new(());

/// Sets a loop device up and takes it down.
struct Loop {
    _alone: MutexGuard<'static, ()>,
    file: std::path::PathBuf,
    device: String,
}

impl Loop {
    fn new() -> Loop {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let file = std::env::temp_dir().join(format!("blksched-record-{}.img", std::process::id()));
        fs::File::create(&file).unwrap().set_len(64 << 20).unwrap();
        let output = blksched_testkit::output(Command::new("losetup").args(["--find", "--show"]).arg(&file)).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Loop { _alone: alone, file, device: String::from_utf8(output.stdout).unwrap().trim().to_owned() }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        drop(blksched_testkit::output(Command::new("losetup").args(["--detach", &self.device])));
        drop(fs::remove_file(&self.file));
    }
}

/// Records a loop device's I/O into `out`.
fn recorded(disk: &Loop, out: &str, load: &[&str]) {
    let name = disk.device.strip_prefix("/dev/").unwrap().to_owned();
    let recording = std::thread::spawn({
        let out = out.to_owned();
        move || blksched(&["record", &name, "--time", "3s", "--out", &out])
    });
    std::thread::sleep(std::time::Duration::from_secs(1));
    let output = blksched_testkit::output(Command::new(load[0]).args(&load[1..])).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = recording.join().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no event was lost"));
}

fn out_file(what: &str) -> String {
    let name = format!("blksched-{what}-{}.trace.gz", std::process::id());
    std::env::temp_dir().join(name).to_str().unwrap().to_owned()
}

/// Time, first byte and length of each I/O, from the rows of its own trace.
fn rows(trace: &str) -> Vec<(u64, u64, u64)> {
    let csv = format!("{trace}.csv");
    done(&["trace", "convert", trace, &csv]);
    let text = fs::read_to_string(&csv).unwrap();
    fs::remove_file(&csv).unwrap();
    let row = |line: &str| {
        let columns: Vec<&str> = line.split(',').collect();
        let number = |at: usize| columns[at].parse::<u64>().unwrap();
        (number(0), number(4), number(5))
    };
    text.lines().skip(1).map(row).collect()
}

#[test]
#[ignore = "root: a loop device and tracefs"]
fn the_slowest_of_what_was_recorded_are_told_by_their_places_and_their_pieces_add_up() {
    let (disk, out) = (Loop::new(), out_file("explain"));
    let filename = format!("--filename={}", disk.device);
    let reader = ["fio", "--name=reader", "--rw=randread", "--bs=4k", "--iodepth=16", "--ioengine=libaio"];
    let rest = ["--direct=1", "--runtime=1", "--time_based", "--rate_iops=300", "--output=/dev/null", &filename];
    recorded(&disk, &out, &[&reader[..], &rest].concat());
    let rows = rows(&out);
    let story = ["--disk", "hdd-7200", "--slowest", "5", "--json"];
    let explained: serde_json::Value =
        serde_json::from_str(&done(&[&["explain", out.as_str()][..], &story].concat())).unwrap();
    fs::remove_file(&out).unwrap();
    let stories = explained["stories"].as_array().unwrap();
    assert_eq!(stories.len(), 5, "{explained:#}");
    for story in stories {
        let number = |value: &serde_json::Value| value.as_u64().unwrap();
        let place = (number(&story["sector"]) * 512, number(&story["sectors"]) * 512);
        // It begins later where its process sleeps for a slot.
        let asked = |&(time, offset, size): &(u64, u64, u64)| {
            time - rows[0].0 <= number(&story["begun_ns"]) && (offset, size) == place
        };
        assert!(rows.iter().any(asked), "no recorded I/O is this one: {story:#}");
        let mut at = number(&story["begun_ns"]);
        for piece in story["pieces"].as_array().unwrap() {
            assert_eq!(number(&piece["from_ns"]), at, "a gap: {story:#}");
            at += number(&piece["ns"]);
        }
        assert_eq!(at, number(&story["begun_ns"]) + number(&story["latency_ns"]), "{story:#}");
        assert!(story["sentence"].as_str().unwrap().contains("its own service in the disk took"), "{story:#}");
    }
    let slowest = |story: &serde_json::Value| std::cmp::Reverse(story["latency_ns"].as_u64());
    assert!(stories.is_sorted_by_key(slowest), "{explained:#}");
}

#[test]
#[ignore = "root: a loop device and tracefs"]
fn what_a_loop_device_is_asked_for_is_recorded_and_compared_with_its_defaults() {
    let disk = Loop::new();
    let (name, out_name) = (disk.device.strip_prefix("/dev/").unwrap().to_owned(), out_file("record"));
    let target = format!("of={}", disk.device);
    recorded(&disk, &out_name, &["dd", "if=/dev/zero", &target, "bs=64k", "count=50", "oflag=direct"]);
    let info = done(&["trace", "info", &out_name]);
    let compared = done(&["compare", &out_name, "--disk", "sata-ssd", "--parse-only"]);
    fs::remove_file(&out_name).unwrap();
    assert!(info.contains("supports a verdict about queueing:") && info.contains("write: 50 "), "{info}");
    assert!(info.contains("dd ["), "{info}");
    assert!(compared.contains(&format!("name={name}")), "{compared}");
    let left = fs::read_dir("/sys/kernel/tracing/instances").map_or(0, |entries| {
        entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with("blksched-")).count()
    });
    assert_eq!(left, 0, "no instance is left behind");
}

#[test]
#[ignore = "root: a loop device and tracefs"]
fn advice_is_from_a_recording_that_is_kept_and_a_script_leaves_the_same_kind_of_file() {
    let (disk, out) = (Loop::new(), out_file("advise"));
    let name = disk.device.strip_prefix("/dev/").unwrap().to_owned();
    let loaded = |work: &(dyn Fn() + Sync)| {
        let filename = format!("--filename={}", disk.device);
        let reader = ["fio", "--name=reader", "--rw=randread", "--bs=4k", "--direct=1", "--runtime=4", "--time_based"];
        let rest = ["--rate_iops=300", "--thread", "--output=/dev/null", &filename];
        std::thread::scope(|scope| {
            let fio = scope.spawn(|| {
                blksched_testkit::output(Command::new(reader[0]).args(&reader[1..]).args(rest)).expect("fio")
            });
            std::thread::sleep(std::time::Duration::from_millis(500));
            work();
            assert!(fio.join().expect("fio").status.success());
        });
    };
    let advise = |what: &str| {
        let words = ["advise", what, "--time", "2s", "--out", &out, "--seeds", "1", "--effort", "0.1", "--json"];
        let output = blksched(&words);
        let value = serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("JSON");
        (value, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    loaded(&|| {
        let (value, said) = advise(&disk.device);
        assert!(said.contains("recording ") && said.contains("no event was lost"), "{said}");
        assert_eq!(value["disk"]["name"].as_str(), Some(&*name));
        assert!(value["processes"].as_array().unwrap().iter().any(|one| one["process"] == "fio"), "{value:#}");
    });
    let (_, said) = advise(&name);
    assert!(said.contains("is there already") && !said.contains("no event was lost"), "{said}");
    let script = out_file("advise-script");
    let text = done(&["advise", &name, "--time", "2s", "--out", &script, "--print"]);
    let file = std::env::temp_dir().join(format!("blksched-advise-{}.sh", std::process::id()));
    fs::write(&file, text).unwrap();
    loaded(&|| {
        let ran = blksched_testkit::output(Command::new("sh").arg(&file)).expect("a shell");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    });
    let output = blksched(&["advise", &script, "--seeds", "1", "--effort", "0.1", "--json"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let (ours, theirs) = (blksched(&["advise", &out, "--seeds", "1", "--effort", "0.1", "--json"]), &value["disk"]);
    let ours: serde_json::Value = serde_json::from_slice(&ours.stdout).expect("JSON");
    assert_eq!(&ours["disk"], theirs, "both describe the disk in the same words");
    assert_eq!(ours["knobs"], value["knobs"]);
    [&out, &script].into_iter().for_each(|file| fs::remove_file(file).unwrap());
    fs::remove_file(file).unwrap();
}
