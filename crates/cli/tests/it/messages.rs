//! What the command says to wrong and odd input: every verb, through the binary.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use blksched_testkit::Process;

fn blksched(arguments: &[&str]) -> Output {
    crate::printed::printed(arguments, 120)
}

/// Runs it, expects this exit code, and returns its error message.
fn complains(code: i32, arguments: &[&str]) -> String {
    let output = blksched(arguments);
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    said
}

/// Expects wrong input to be refused with each of these words, and nothing to be done.
fn refused(arguments: &[&str], words: &[&str]) {
    let output = blksched(arguments);
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments:?}: {said}");
    assert!(said.starts_with("error: "), "{arguments:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{arguments:?}: {word}: {said}");
    }
}

/// A directory of this test's own.
fn folder(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("messages-{test}"));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn file(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path.to_str().expect("UTF-8").to_owned()
}

#[test]
fn bytes_that_are_no_text_are_named_with_their_place() {
    let folder = folder("no-text");
    let job = file(&folder, "bytes.fio", b"[a]\nrw=read\nsize=\xc3\x28\n");
    for verb in ["compare", "simulate", "experiment"] {
        refused(&[verb, &job], &["bytes.fio:3:6: the byte 0xc3 is not UTF-8"]);
    }
    refused(&["compare", "--disk", &job], &["bytes.fio:3:6: the byte 0xc3 is not UTF-8"]);
    refused(&["list", &job], &["bytes.fio:3:6: the byte 0xc3 is not UTF-8"]);
    let outer = file(&folder, "outer.fio", b"[a]\ninclude bytes.fio\n");
    refused(&["simulate", &outer], &["bytes.fio` cannot be included", "outer.fio:2:9", "3:6: the byte 0xc3"]);
    let experiment = file(&folder, "mine.toml", b"title = \"a\"\n[[workload]]\njob = \"bytes.fio\"\n");
    refused(&["experiment", &experiment], &["mine.toml:3:7", "bytes.fio", "3:6: the byte 0xc3"]);
}

#[test]
fn standard_input_is_read_once_and_its_bytes_are_named_too() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_blksched"));
    let mut child = Process::spawn(child.args(["simulate", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped()));
    child.stdin.take().unwrap().write_all(b"[a]\n\xff").unwrap();
    let said = String::from_utf8(child.output().stderr).unwrap();
    assert!(said.contains("error: standard input:2:1: the byte 0xff"), "{said}");
    refused(&["simulate", "-", "-"], &["`-` is given twice"]);
}

#[test]
fn every_complaint_says_first_that_it_is_one_and_once() {
    let folder = folder("prefix");
    let here = folder.to_str().unwrap();
    // A file whose name contains the word.
    let error = file(&folder, "error.fio", b"\xff");
    let broken = file(&folder, "broken.fio", b"[a]\nrw=raed\n");
    for arguments in [&["compare", here][..], &["compare", "--disk", here], &["simulate", &error], &["list", here]] {
        refused(arguments, &[]);
    }
    for arguments in [&["simulate", &broken][..], &["simulate", &error]] {
        assert_eq!(complains(2, arguments).matches("error: ").count(), 1, "{arguments:?}");
    }
}

#[test]
fn the_option_that_was_used_is_the_one_that_is_named() {
    refused(
        &["simulate", "--elevator", "bfq@9.1"],
        &["--elevator bfq@9.1:5: unknown kernel version for bfq `9.1`", "did you mean `7.3`?"],
    );
    refused(&["compare", "--elevators", "none,BFQ"], &["--elevators BFQ:1:", "did you mean `bfq`?"]);
    refused(&["list", "bfq@9"], &["bfq@9:5: unknown kernel version for bfq `9`"]);
    // A kernel that was not examined is not guessed.
    refused(&["list", "bfq@6.3"], &["bfq@6.3:5: unknown kernel version for bfq `6.3`"]);
    refused(&["list", "cfq@4.20+groups"], &["cfq@4.20+groups:9: `+groups`"]);
}

#[test]
fn a_release_without_a_preset_says_as_what_it_decides() {
    let says = "mq-deadline@6.6 decides as mq-deadline@6.12+at_head=class+tags=per_word (6.6.87 replays";
    for arguments in [
        &["compare", "--time=1s", "--seeds=1", "--elevators=none,mq-deadline@6.6"][..],
        &["compare", "--time=1s", "--seeds=1", "--json", "--elevators=none,mq-deadline@6.6"],
        &["simulate", "--time=1s", "--elevator=mq-deadline@6.6"],
        &["list", "mq-deadline@6.6"],
    ] {
        let text = String::from_utf8(blksched(arguments).stdout).unwrap();
        assert!(text.contains(says), "{arguments:?}: {text}");
    }
}

#[test]
fn what_is_said_twice_is_refused_and_what_is_said_of_one_goes_before_what_is_said_of_all() {
    let twice = ["--set", "bfq.slice_idle=0", "--set", "bfq.slice_idle=8"];
    refused(
        &[&["compare", "--elevators", "bfq"], &twice[..]].concat(),
        &["--set bfq.slice_idle=0 already sets the same knob"],
    );
    let both = ["--set", "deadline@4.20.fifo_batch=1", "--set", "deadline.fifo_batch=3"];
    let output = blksched(
        &[&["compare", "--seeds=1", "--time=1s", "--elevators", "deadline@2.6.33,deadline@4.20"], &both[..]].concat(),
    );
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("deadline@2.6.33 fifo_batch=3") && text.contains("deadline@4.20 fifo_batch=1"), "{text}");
    refused(&["simulate", "--set", "bfq.slice_idle=1ms"], &["(being run: mq-deadline)"]);
}

#[test]
fn a_programs_parameters_are_kept_or_refused() {
    refused(&["compare", "dd:size=1g,size=2g"], &["`size=2g` says `size` again"]);
    for threads in ["0", "1000000"] {
        let said = format!("tiobench:threads={threads}");
        refused(
            &["compare", &said],
            &[&format!("tiobench: `{threads}` is out of range for `threads`: expected 1 to 10000")],
        );
    }
    for (said, why) in [
        ("dd:bio=8m", "dd: `8192KiB` is out of range for `bio`: expected 4KiB to 4096KiB"),
        ("dd:run=1k", "dd: `1KiB` is out of range for `run`"),
        ("dd-reader:ahead=1k", "`ahead`: expected 4KiB to 32768KiB"),
        ("dd-reader:first=1m,ahead=64k", "`first`: expected 4KiB to 64KiB"),
        ("dump:chunk=0", "`0KiB` is out of range for `chunk`"),
        ("cat:files=0", "`0` is out of range for `files`"),
        ("cat:inodes=0", "`0` is out of range for `inodes`"),
        ("cat:smallest=0", "`smallest` is larger than `largest`, or nothing"),
        ("nfsd:rsize=4m", "`rsize`: expected 512B to 1024KiB"),
        ("nfsd:window=0", "`window`: expected 1 to 65536"),
        ("nfsd:cpus=0", "`cpus`: expected 1 to 1024"),
        ("reader-with-writeback:depth=0", "`0` is out of range for `depth`"),
    ] {
        refused(&["compare", said], &[why]);
    }
}

#[test]
fn no_time_is_no_run_and_a_negative_number_is_a_wrong_value() {
    for time in ["0s", "0.0ms"] {
        refused(&["compare", "--time", time], &["--time", "more than 0s"]);
    }
    refused(&["simulate", "--time", "-5s"], &["invalid value '-5s' for '--time"]);
    refused(&["compare", "--seed", "-1"], &["invalid value '-1' for '--seed"]);
}

#[test]
fn fios_options_are_refused_where_no_jobs_run() {
    refused(&["experiment", "--rw=read"], &["unexpected argument '--rw'"]);
    refused(&["list", "--size=1m"], &["unexpected argument '--size'"]);
    // Where jobs run, a value may stand behind a blank.
    refused(&["simulate", "--name=a", "--rw", "raed"], &["`raed`", "did you mean `read`?", "command line:2:4"]);
}

#[test]
fn a_built_in_workload_may_stand_beside_others() {
    let output = blksched(&["simulate", "random-readers", "mixed", "--time=1s", "--disk=ide-2002"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.starts_with("random-readers mixed under "), "{text}");
}

#[test]
fn a_file_is_a_file_whatever_its_name() {
    let folder = folder("names");
    file(&folder, "disk", b"kind = \"nul\"\n");
    let command = |arguments: &[&str]| {
        let output =
            blksched_testkit::output(Command::new(env!("CARGO_BIN_EXE_blksched")).args(arguments).current_dir(&folder));
        String::from_utf8(output.unwrap().stderr).unwrap()
    };
    for arguments in [&["compare", "--disk", "disk"][..], &["list", "disk"]] {
        let said = command(arguments);
        assert!(said.starts_with("error: disk:1:8: `nul` is not a kind of disk"), "{said}");
    }
}

#[test]
fn what_was_measured_is_told_even_if_its_logs_cannot_be_written() {
    let logs = folder("logs").join("nowhere/x");
    let write = format!("--write_bw_log={}", logs.display());
    let job = ["--name=a", "--rw=read", "--direct=1", "--size=64k", &write];
    let output = blksched(&[&["simulate"], &job[..]].concat());
    let (text, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("what the jobs saw"), "{text}");
    assert!(said.starts_with("error: ") && said.contains("nowhere/x_bw.1.log"), "{said}");
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    for arguments in [&["list"][..], &["completions", "bash"], &["list", "fio", "--json"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_blksched"));
        let mut child = Process::spawn(child.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()));
        drop(child.stdout.take());
        let output = child.output();
        assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}: {output:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_our_output_is_named() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut list = Command::new(env!("CARGO_BIN_EXE_blksched"));
    let output = Process::spawn(list.arg("list").stdout(full).stderr(Stdio::piped())).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.starts_with("error: standard output: "), "{said}");
}

#[test]
fn one_kernel_of_an_elevator_is_listed_alone() {
    let text = String::from_utf8(blksched(&["list", "deadline@2.5.38"]).stdout).unwrap();
    assert!(text.contains("deadline@2.5.38") && !text.contains("deadline@4.20"), "{text}");
    assert!(text.contains("seek_cost") && !text.contains(" write_expire "), "{text}");
}

#[test]
fn a_job_that_gives_up_is_told_by_compare_too() {
    let job = ["--name=a", "--rw=randread", "--direct=1", "--size=1m", "--max_latency=1us"];
    let output = blksched(&[&["compare", "--elevators=none,bfq", "--seeds=2"], &job[..]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    for name in ["none", "bfq"] {
        let note = format!("note: {name}: job a (process 0) gave up: an I/O took longer than max_latency");
        assert_eq!(text.matches(&note).count(), 1, "{note}: {text}");
    }
    let output = blksched(&[&["compare", "--elevators=none", "--seeds=2", "--json"], &job[..]].concat());
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(value["notes"].to_string().contains("gave up"), "{value}");
}

#[test]
fn a_file_without_end_is_refused_not_read() {
    for arguments in [&["simulate", "/dev/zero"][..], &["experiment", "/dev/zero"], &["list", "/dev/zero"]] {
        if Path::new("/dev/zero").exists() {
            refused(arguments, &["/dev/zero: longer than 16 MiB"]);
        }
    }
}

#[cfg(all(feature = "serve", target_os = "linux"))]
#[test]
fn serve_ctl_and_load_complain_alike() {
    let folder = folder("serve");
    let image = file(&folder, "a.img", &[0; 1 << 16]);
    let missing = folder.join("missing");
    let missing = missing.to_str().unwrap();
    let export = format!("a={image}");
    let serve = |more: &[&str], words: &[&str]| {
        refused(&[&["serve", "--export", &export, "--run", "true"], more].concat(), words);
    };
    serve(&["--export", &format!("b={missing}")], &["export b: ", "missing"]);
    serve(&["--export", &format!("b={image},wieght=2")], &["--export b=", "did you mean `weight`?"]);
    serve(&["--export", &format!("b={image},weight=2,weight=3")], &["--export b=", "given before"]);
    serve(&["--memory", "x"], &["--memory x: expected a size from 40M on"]);
    serve(&["--elevator", "bfqq"], &["--elevator bfqq:1:", "did you mean `bfq`?"]);
    serve(&["--tcp", "localhost:1"], &["as in 127.0.0.1:10809"]);
    serve(&["--size=5"], &["unexpected argument '--size'"]);
    refused(&["load", "--peers", missing], &["--peers ", "missing"]);
    refused(&["load", "--peers", &image, "--elevator", "bfqq"], &["--elevator bfqq:1:"]);
    refused(&["load", "nbd://localhost:1/x", "--time", "0s"], &["more than 0s"]);
    assert!(complains(1, &["ctl", missing, "list"]).starts_with("error: "));
    assert!(complains(1, &["load", &format!("nbd+unix:///x?socket={missing}")]).starts_with("error: "));
    let list = format!("'{}' ctl $control list frob", env!("CARGO_BIN_EXE_blksched"));
    // The program that it runs writes into this process's own output.
    let mut command = Command::new(env!("CARGO_BIN_EXE_blksched"));
    let output = blksched_testkit::output(command.args(["serve", "--export", &export, "--run", &list]))
        .expect("the binary runs");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.starts_with("error: no name begins with `frob`"), "{said}");
    assert_eq!(blksched(&["serve", "--export", &export, "--run", "kill -9 $$"]).status.code(), Some(128 + 9));
}

#[test]
fn a_file_system_is_one_that_is_modelled_and_that_no_job_contradicts() {
    refused(&["simulate", "--fs", "zfs"], &["--fs", "not modelled: ext4, xfs, ext3, ext2 and none are"]);
    refused(&["simulate", "--fs", "ext4:fast_commit"], &["`fast_commit` of ext4 is not modelled"]);
    let misspelt = ["unknown option `comit` of ext4: expected data, commit", "did you mean `commit`?"];
    refused(&["compare", "--fs", "ext4:comit=9"], &misspelt);
    refused(&["simulate", "--fs", "exft"], &["unknown file system `exft`", "did you mean `ext4`?"]);
    let folder = folder("file-systems");
    let said = file(&folder, "said.fio", b"[a]\n; blksched: fs=xfs\nsize=1m\n");
    refused(&["simulate", &said, "--fs", "ext4"], &["--fs ext4: the job file says fs=xfs"]);
    let raw = file(&folder, "raw.fio", b"[a]\nfilename=/dev/sda\nsize=1m\n");
    let line = "filename=/dev/sda";
    refused(&["compare", &raw, "--fs", "ext4"], &["--fs ext4: every job uses a raw device", line, "outside /dev"]);
    let words = [
        ("fs=extt4", "expected ext4, xfs, ext3, ext2 or none"),
        ("fs=zfs", "expected another one (this file system is"),
    ];
    for (nth, (said, expected)) in words.into_iter().enumerate() {
        let jobs = format!("[a]\n; blksched: {said}\nsize=1m\n");
        let jobs = file(&folder, &format!("word-{nth}.fio"), jobs.as_bytes());
        refused(&["simulate", &jobs], &[expected]);
    }
    // What the command line says wrongly is shown there, and not at the job.
    let log = file(&folder, "log.fio", b"[a]\nrw=write\nsize=1m\n");
    let there = ["--fs ext4:journal_dev=sdq: the log of ext4:journal_dev=sdq is to be on sdq", "; expected "];
    refused(&["simulate", &log, "--fs", "ext4:journal_dev=sdq"], &there);
    let contradicts = file(&folder, "both.fio", b"[a]\nfilename=/dev/sda\n; blksched: fs=xfs\nsize=1m\n");
    refused(&["simulate", &contradicts], &["both.fio:3", "job `a` uses a raw device, and says fs=xfs"]);
}

#[test]
fn an_fsync_on_a_file_system_costs_the_journals_trips_and_the_output_says_so() {
    let folder = folder("fsync-costs");
    let job = file(&folder, "log.fio", b"[log]\nrw=write\nbs=4k\nsize=64k\nfsync=1\nfallocate=none\n");
    // 10 ms per request: one trip without a file system, two on xfs, three on ext4.
    let disk = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/reality/6.18-files/fixed10.toml");
    let (bare, together) = (("ext4:no_journal", 2.0), ("ext4:data=writeback,journal_async_commit", 2.0));
    for (fs, trips) in [("none", 1.0), ("xfs", 2.0), ("ext4", 3.0), bare, together] {
        let words = ["simulate", &job, "--fs", fs, "--disk", disk, "--elevator", "mq-deadline"];
        let words = [&words[..], &["--starts", "as-said", "--output-format", "json"]].concat();
        let output = blksched(&words);
        let (said, noted) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(0), "{noted}");
        let value: serde_json::Value = serde_json::from_str(&said).expect("JSON");
        let ms = value["jobs"][0]["sync"]["lat_ns"]["mean"].as_f64().expect("a mean fsync") / 1e6;
        assert!((10.0 * trips..10.0 * trips + 1.5).contains(&ms), "{fs}: {ms} ms");
    }
}

/// A trace names the kernel on which `blksched record` made it: the schedulers are that kernel's, unless others are
/// named.
#[test]
fn a_recorded_trace_is_compared_under_the_schedulers_of_its_kernel() {
    let recorded = |kernel: &str| {
        let mut text = format!("# blksched record 1\n# kernel {kernel}\n# priorities not recorded\n");
        text += "# device 8,0 name=sda scheduler=bfq rotational=1\n";
        for n in 0..40 {
            let (begins, sector) = (f64::from(n) / 50.0, n * 100_000);
            let bytes = "4096 () ";
            for (event, after, bytes) in [("insert", 0.0, bytes), ("issue", 1e-5, bytes), ("complete", 9e-3, "() ")] {
                let time = begins + after;
                text += &format!(" a-7 [000] ..... {time:.6}: block_rq_{event}: 8,0 R {bytes}{sector} + 8 [a]\n");
            }
        }
        file(&folder(&format!("recorded-{kernel}")), "a.trace", text.as_bytes())
    };
    let said = |arguments: &[&str]| {
        let output = blksched(arguments);
        let said = [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat();
        assert!(output.status.success(), "{arguments:?}: {said}");
        said
    };
    let old = recorded("5.15.0-89-generic");
    let compared = said(&["compare", &old, "--disk", "hdd-7200", "--seeds", "2", "--details"]);
    for name in ["bfq@5.15", "mq-deadline@5.15", "kyber@5.15"] {
        assert!(compared.contains(name), "{name}: {compared}");
    }
    let named = said(&["compare", &old, "--disk", "hdd-7200", "--seeds", "2", "--elevators", "bfq,none"]);
    assert!(!named.contains("bfq@"), "{named}");
    let simulated = said(&["simulate", &recorded("5.14.0-427.el9.x86_64"), "--disk", "hdd-7200"]);
    assert!(simulated.contains("bfq@5.15"), "the nearest that is known: {simulated}");
}
