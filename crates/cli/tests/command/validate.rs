//! `blksched validate`: what it refuses, what it leaves as it was, and that both halves are printed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use blksched_testkit::{Folder, Process, status};

const READS: &str = "[global]\ndirect=1\nbs=4k\nsize=4m\n[r]\nrw=randread\n";

fn command(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blksched"));
    command.arg("validate").args(arguments).env("XDG_STATE_HOME", &**folder).stdin(Stdio::null());
    command
}

fn run(folder: &Folder, arguments: &[&str]) -> Output {
    blksched_testkit::output(&mut command(folder, arguments)).expect("it runs")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_job_that_writes_and_a_path_that_is_none_are_refused() {
    let folder = Folder::new();
    let (reads, writes) =
        (folder.written("r.fio", READS), folder.written("w.fio", READS.replace("randread", "randrw")));
    let scratch = folder.written("scratch", vec![0; 8 << 20]);
    let on = |job: &Path, path: &str| run(&folder, &[text(job), "--on", path, "--disk", "fixed"]);
    let said = refused(&on(&writes, text(&scratch)));
    assert!(said.contains("w writes") && said.contains("--destroy"), "{said}");
    let missing = text(&scratch).to_owned() + "-not";
    let said = refused(&on(&writes, &missing));
    assert!(said.contains("no such disk, file or folder; --destroy makes a new file"), "{said}");
    assert!(refused(&on(&reads, "/no/such/folder/file")).contains("/no/such/folder/file"));
    assert!(refused(&on(&reads, "/dev/null")).contains("expected a file, a folder or a block device"));
    assert!(refused(&on(&reads, text(&folder.join("absent")))).contains("there is no such file"));
    let small = folder.written("small", [0; 4096]);
    let said = refused(&on(&reads, text(&small)));
    assert!(said.contains("it has 4096 bytes, and the job needs 4194304"), "{said}");
    let said = refused(&run(&folder, &[text(&reads), "--on", text(&scratch), "--disk", "hdd-72oo"]));
    assert!(said.contains("hdd-7200"), "{said}");
    assert_eq!(std::fs::read(&scratch).expect("it is there"), vec![0; 8 << 20]);
}

#[test]
fn a_disk_that_is_mounted_is_refused() {
    let mounts = std::fs::read_to_string("/proc/self/mounts").expect("mounts");
    let device = mounts.lines().filter_map(|line| line.split(' ').next()).find(|device| {
        use std::os::unix::fs::FileTypeExt;
        device.starts_with("/dev/") && std::fs::metadata(device).is_ok_and(|there| there.file_type().is_block_device())
    });
    let Some(device) = device else { return println!("skipped: no block device is mounted here") };
    let folder = Folder::new();
    let reads = folder.written("r.fio", READS);
    let said = refused(&run(&folder, &[text(&reads), "--on", device, "--disk", "fixed", "--destroy"]));
    assert!(said.contains("is mounted on"), "{said}");
}

pub(super) fn fio_is_here() -> bool {
    let here = status(Command::new("fio").arg("--version").stdout(Stdio::null())).is_ok_and(|s| s.success());
    if !here {
        let reason = "the Debian package fio is not installed";
        assert!(std::env::var_os("BLKSCHED_REQUIRE_FIO").is_none(), "{reason}");
        println!("skipped: {reason}");
    }
    here
}

/// A loop device over a file, removed at the end.
pub(super) struct Loop(pub(super) String);

impl Loop {
    pub(super) fn over(file: &Path) -> Loop {
        let made =
            blksched_testkit::output(Command::new("losetup").args(["--show", "--find", text(file)])).expect("losetup");
        assert!(made.status.success(), "{made:?}");
        Loop(String::from_utf8_lossy(&made.stdout).trim().to_owned())
    }

    pub(super) fn setting(&self, name: &str) -> PathBuf {
        PathBuf::from(self.0.replace("/dev/", "/sys/block/")).join("queue").join(name)
    }

    pub(super) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.setting(name)).expect("a setting")
    }

    fn schedulers(&self) -> Vec<String> {
        self.read("scheduler").split_whitespace().map(|word| word.trim_matches(['[', ']']).to_owned()).collect()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = status(Command::new("losetup").args(["--detach", &self.0]));
    }
}

#[test]
#[ignore = "root: it makes two loop devices and changes the scheduler of one"]
fn of_several_disks_one_changes_its_scheduler_and_all_are_predicted_together() {
    if !fio_is_here() {
        return;
    }
    let folder = Folder::new();
    let jobs = READS.replace("[r]", "[r]\nfilename=/dev/sda") + "[other]\nfilename=/dev/sdc1\nrw=randread\n";
    let jobs = folder.written("two.fio", jobs);
    // Files of one tmpfs or disk may be below both: the loop devices are disks of their own.
    let disks = ["one", "two"].map(|name| Loop::over(&folder.written(name, vec![0; 16 << 20])));
    disks.iter().for_each(|disk| std::fs::write(disk.setting("scheduler"), "mq-deadline").expect("mq-deadline"));
    let on = format!("sda={},sdc={}", disks[0].0, disks[1].0);
    let tail =
        ["--disk", "sda=fixed,sdc=fixed", "--vary", "sdc", "--elevators", "none,bfq", "--time", "300ms", "--json"];
    let output = run(&folder, &[&[text(&jobs), "--on", &on], &tail[..]].concat());
    assert!(output.status.success(), "{output:?}");
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let valid = crate::schemas::validated(std::slice::from_ref(&value));
    assert!(valid.is_none_or(|valid| valid.is_ok()), "{value}");
    let cells = value["cells"].as_array().expect("cells");
    let of = |cell: &serde_json::Value| format!("{} {}", cell["scheduler"], cell["job"]);
    let mut found: Vec<String> = cells.iter().map(of).collect();
    found.sort();
    assert_eq!(found, ["\"bfq\" \"other\"", "\"bfq\" \"r\"", "\"none\" \"other\"", "\"none\" \"r\""], "{value}");
    let positive = |cell: &serde_json::Value, half: &str| cell[half]["ios"].as_u64() > Some(10);
    assert!(cells.iter().all(|cell| positive(cell, "measured") && positive(cell, "predicted")), "{value}");
    assert!(
        value["notes"][0].as_str().is_some_and(|note| note.contains("sda (") && note.contains("keeps mq-deadline"))
    );
    assert!(disks.iter().all(|disk| disk.read("scheduler").contains("[mq-deadline]")));
}

#[test]
#[ignore = "root: it makes a loop device and changes its scheduler"]
fn every_scheduler_of_a_disk_is_measured_and_the_first_is_back_with_its_knobs() {
    if !fio_is_here() {
        return;
    }
    let folder = Folder::new();
    let (reads, disk) = (folder.written("r.fio", READS), Loop::over(&folder.written("disk", vec![0; 16 << 20])));
    std::fs::write(disk.setting("scheduler"), "mq-deadline").expect("mq-deadline");
    std::fs::write(disk.setting("iosched/fifo_batch"), "7").expect("a knob");
    std::fs::write(disk.setting("nr_requests"), "33").expect("a knob");
    let fast = "kind = \"fixed\"\ndescription = \"fast\"\ncapacity = \"1GiB\"\nmax_command = \"1MiB\"\ndepth = 32\n\
                channels = 1\nservice = \"50us\"\n";
    let model = folder.written("fast.toml", fast);
    let arguments = [text(&reads), "--on", &disk.0, "--disk", text(&model), "--time", "300ms", "--json"];
    let output = run(&folder, &arguments);
    assert!(output.status.success(), "{output:?}");
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let valid = crate::schemas::validated(std::slice::from_ref(&value));
    assert!(valid.is_none_or(|valid| valid.is_ok()), "{value}");
    let cells = value["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), disk.schedulers().len(), "{value}");
    let positive = |cell: &serde_json::Value, half: &str| cell[half]["ios"].as_u64() > Some(10);
    assert!(cells.iter().all(|cell| positive(cell, "measured") && positive(cell, "predicted")), "{value}");
    assert!(value["verdict"]["right"].is_boolean());
    let as_it_was = || {
        assert!(disk.read("scheduler").contains("[mq-deadline]"), "{}", disk.read("scheduler"));
        assert_eq!((disk.read("iosched/fifo_batch").trim(), disk.read("nr_requests").trim()), ("7", "33"));
    };
    as_it_was();
    // The next comparison on this disk reports what was remembered.
    let mut compare = Command::new(env!("CARGO_BIN_EXE_blksched"));
    compare.args(["compare", text(&reads), "--disk", text(&model), "--time", "20ms", "--seeds", "1"]);
    let said = blksched_testkit::output(compare.env("XDG_STATE_HOME", &*folder)).expect("it runs");
    let said = String::from_utf8_lossy(&said.stdout).replace('\n', " ").replace("  ", " ");
    // On a busy machine the model does not match the disk, which is reported.
    let remembered = ["have been within", "were off by more than half"];
    assert!(remembered.iter().any(|how| said.contains(&format!("Predictions on this disk {how}"))), "{said}");

    let arguments = [text(&reads), "--on", &disk.0, "--disk", text(&model), "--time", "15s", "--elevators", "bfq,none"];
    let mut child = Process::spawn(command(&folder, &arguments).stdout(Stdio::null()).stderr(Stdio::null()));
    for _ in 0..100 {
        if disk.read("scheduler").contains("[bfq]") {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    std::thread::sleep(Duration::from_millis(300));
    let killed = status(Command::new("kill").args(["-INT", &child.id().to_string()])).expect("kill");
    assert!(killed.success());
    assert_eq!(child.end().code(), Some(1));
    as_it_was();
}
