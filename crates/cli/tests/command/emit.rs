//! What `compare --emit` writes, on a real disk: it takes hold, and the undo restores what was really there.

use std::process::Command;

use blksched_testkit::{Folder, status};

use super::validate::Loop;

/// A change of scheduler and of knobs of each kind, so that there is something to restore.
const CHANGE: [&str; 12] = [
    "compare",
    "desktop-start",
    "--disk",
    "hdd-7200",
    "--goal",
    "application: finish",
    "--elevators",
    "mq-deadline,bfq:slice_idle=2:nr_requests=128:read_ahead_kb=512",
    "--seeds",
    "3",
    "--emit",
    "sysfs",
];

#[test]
#[ignore = "root: it makes a loop device and changes its scheduler"]
fn a_real_disk_has_back_what_was_there_after_the_undo() {
    let folder = Folder::new();
    let disk = Loop::over(&folder.written("disk", vec![0; 16 << 20]));
    let was =
        [("scheduler", "mq-deadline"), ("iosched/fifo_batch", "7"), ("nr_requests", "33"), ("read_ahead_kb", "64")];
    for (file, value) in was {
        std::fs::write(disk.setting(file), value).expect(file);
    }
    let script = String::from_utf8(super::blksched(&CHANGE).stdout).expect("UTF-8");
    let name = disk.0.trim_start_matches("/dev/");
    let run = |how: &str| status(Command::new("sh").args(["-c", &script, "sh", name, how])).expect("a shell").success();
    let all = || ["scheduler", "nr_requests", "read_ahead_kb"].map(|file| disk.read(file));
    let before = all();
    assert!(run("apply"), "{script}");
    assert!(all()[0].contains("[bfq]") && all()[1..] == ["128\n", "512\n"], "{:?}", all());
    assert_eq!(disk.read("iosched/slice_idle"), "2\n");
    assert!(!run("apply"), "what was there would be forgotten");
    assert!(run("undo"));
    assert_eq!((all(), disk.read("iosched/fifo_batch").as_str()), (before, "7\n"));
    assert!(!run("undo"), "there is nothing to undo");
}
