//! `blksched trial`: what it refuses, and that a real disk has back what was there, however the trial ends.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use blksched_testkit::{Folder, Process, status};

use super::validate::{Loop, fio_is_here};

const WAS: [(&str, &str); 4] =
    [("scheduler", "mq-deadline"), ("iosched/fifo_batch", "7"), ("nr_requests", "33"), ("read_ahead_kb", "64")];

/// A loop device with settings of its own, so that there is something to give back.
fn disk(folder: &Folder) -> Loop {
    let disk = Loop::over(&folder.written("disk", vec![0; 64 << 20]));
    WAS.iter().for_each(|(file, value)| std::fs::write(disk.setting(file), value).expect(file));
    disk
}

fn is_as_it_was(disk: &Loop) -> bool {
    let reads = |file: &str| std::fs::read_to_string(disk.setting(file)).unwrap_or_default();
    reads("scheduler").contains("[mq-deadline]") && WAS[1..].iter().all(|(file, value)| reads(file).trim() == *value)
}

fn trial(folder: &Folder, disk: &Loop, arms: &str, times: [&str; 3]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blksched"));
    command.args(["trial", &disk.0, "--elevators", arms, "--yes", "--journal"]).arg(folder.join("journal"));
    command.args(["--every", times[0], "--settle", times[1], "--for", times[2]]);
    command.stdin(Stdio::null()).stderr(Stdio::null()).env("COLUMNS", "1000");
    command
}

/// Random reads by fio, until it is dropped.
fn load(disk: &Loop, time: u32) -> Process {
    let mut fio = Command::new("fio");
    fio.args(["--name=db", "--rw=randread", "--bs=4k", "--direct=1", "--ioengine=libaio", "--iodepth=8", "--readonly"]);
    // Its processes would outlive it: they are sessions of their own.
    fio.arg("--thread");
    fio.args(["--time_based", "--rate_iops=600", &format!("--runtime={time}"), &format!("--filename={}", disk.0)]);
    Process::spawn(fio.stdout(Stdio::null()).stderr(Stdio::null()))
}

#[test]
fn words_that_are_not_understood_are_named() {
    let disks = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let names: Vec<String> = disks.map(|disk| disk.file_name().to_string_lossy().into_owned()).collect();
    let Some(name) = names.iter().find(|name| name.starts_with("loop")) else { return println!("skipped: no disk") };
    let refused = |words: &[&str]| super::refused(&[&["trial"], words].concat());
    assert!(refused(&[]).contains("which disk?"));
    assert!(refused(&["no-such-disk", "--elevators", "none,bfq"]).contains("not a disk of this machine"));
    assert!(refused(&[name, "--elevators", "none,none:x"]).contains("expected KNOB=VALUE"));
    assert!(refused(&[name, "--elevators", "none"]).contains("two settings or more"));
    assert!(refused(&[name, "--elevators", "none,none", "--for", "2min"]).contains("expected --for 180"));
    assert!(refused(&[name, "--elevators", "none,nome"]).contains("has no scheduler `nome`"));
    assert!(refused(&[name, "--elevators", "none,none:nr_request=6"]).contains("did you mean `nr_requests`?"));
    let share = ["--share", "/no/such/folder/x.json"];
    assert!(refused(&[&[name, "--elevators", "none,none"][..], &share].concat()).contains("no folder /no/such"));
    let guard = super::blksched(&["trial", name, "--elevators", "none,none", "--abort-if", "p98 read > 1s for 1s"]);
    assert!(String::from_utf8_lossy(&guard.stderr).contains("`p98` was not understood"), "{guard:?}");
    let told = super::done(&["trial", name, "--elevators", "none,none", "--dry-run"]);
    assert!(told.contains("40 periods") && told.contains("Given back at the end") && told.contains("On it:"), "{told}");
}

#[test]
fn without_a_journal_there_is_nothing_to_give_back() {
    let folder = Folder::new();
    let said = super::done(&["trial", "--restore", "--journal", folder.to_str().expect("UTF-8")]);
    assert!(said.contains("no trial was cut off"), "{said}");
}

/// Where this test's trials keep their journal.
fn journal(folder: &Folder, disk: &Loop) -> PathBuf {
    folder.join("journal").join(format!("trial-{}", disk.0.replace("/dev/", "")))
}

/// The tracer's instance of this process.
fn instance(process: u32) -> PathBuf {
    Path::new("/sys/kernel/tracing/instances").join(format!("blksched-{process}"))
}

#[test]
#[ignore = "root: it makes a loop device and changes its scheduler"]
fn a_scheduler_against_itself_is_not_clear_and_everything_is_given_back() {
    if !fio_is_here() {
        return;
    }
    let folder = Folder::new();
    let disk = disk(&folder);
    let _load = load(&disk, 200);
    let same = trial(&folder, &disk, "mq-deadline,mq-deadline", ["3s", "1s", "60s"]);
    let several = "mq-deadline,bfq:slice_idle=0:read_ahead_kb=256,none:wbt_lat_usec=0,bfq:nr_requests=64";
    let several = trial(&folder, &disk, several, ["2s", "500ms", "24s"]);
    // A knob of mq-deadline's follows nr_requests on some kernels.
    let tags = trial(&folder, &disk, "mq-deadline,mq-deadline:nr_requests=64", ["2s", "500ms", "12s"]);
    for (mut command, blocks) in [(same, "10 pairs"), (several, "3 pairs"), (tags, "3 pairs")] {
        let output = blksched_testkit::output(&mut command).expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        println!("{said}");
        assert!(output.status.success() && is_as_it_was(&disk), "{output:?}");
        assert!(said.contains("p99 of all read") && said.contains(blocks), "{said}");
        assert!(said.contains("all periods were measured") && said.contains("All settings are as they were"), "{said}");
        assert!(!journal(&folder, &disk).exists());
    }
}

#[test]
#[ignore = "root: it makes a loop device and changes its scheduler"]
fn a_setting_that_does_not_take_ends_it_and_everything_is_given_back() {
    let folder = Folder::new();
    let disk = disk(&folder);
    // The kernel makes more of it; and a knob of which it cannot be known before that there is none.
    for (arm, word) in [("bfq:nr_requests=1", "nr_requests"), ("bfq:no_such=1", "no_such")] {
        let arms = format!("mq-deadline,{arm}");
        let output = blksched_testkit::output(&mut trial(&folder, &disk, &arms, ["2s", "500ms", "12s"]));
        let output = output.expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.code() == Some(1) && said.contains(word), "{output:?}");
        assert!(is_as_it_was(&disk) && !journal(&folder, &disk).exists());
    }
}

fn kill(signal: &str, child: &Process) {
    let killed = status(Command::new("kill").args([signal, &child.id().to_string()])).expect("kill");
    assert!(killed.success());
}

/// Whether it becomes so within half a minute.
fn is_soon(is_so: impl Fn() -> bool) -> bool {
    (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        is_so()
    })
}

#[test]
#[ignore = "root: it makes a loop device and changes its scheduler"]
fn killed_at_fifty_moments_everything_is_given_back() {
    let folder = Folder::new();
    let disk = disk(&folder);
    let journal = journal(&folder, &disk);
    for nth in 0..50u64 {
        let arms = "bfq:slice_idle=0:nr_requests=64,kyber:read_ahead_kb=512,none";
        let mut child = Process::spawn(trial(&folder, &disk, arms, ["400ms", "100ms", "60s"]).stdout(Stdio::null()));
        // Half of them surely in the midst of it, the others whenever it is.
        if nth % 2 == 0 {
            assert!(is_soon(|| !is_as_it_was(&disk)), "kill {nth}: it does not begin");
        }
        std::thread::sleep(Duration::from_millis(nth * 7919 % 1000));
        kill("-KILL", &child);
        child.end();
        let is_given_back = || is_as_it_was(&disk) && !journal.exists() && !instance(child.id()).exists();
        assert!(is_soon(is_given_back), "kill {nth}: {}", disk.read("scheduler"));
    }
    for signal in ["-INT", "-TERM", "-HUP"] {
        let mut command = trial(&folder, &disk, "bfq,none", ["2s", "500ms", "60s"]);
        let mut child = Process::spawn(command.stdout(Stdio::null()));
        assert!(is_soon(|| !is_as_it_was(&disk)), "{signal}: it does not begin");
        kill(signal, &child);
        assert_eq!(child.end().code(), Some(1));
        assert!(is_as_it_was(&disk) && !journal.exists() && !instance(child.id()).exists(), "{signal}");
    }
}
