//! Colours, names of files that are no text, and knobs of what stands around a scheduler.

use super::*;

#[test]
fn colours_come_when_they_are_asked_for_and_never_into_a_pipe() {
    let words = [&["compare"], &SHORT[..], &["--seeds", "1", "--elevators", "none,mq-deadline"]].concat();
    let with = |color: &[&str]| stdout(&started(&[&words[..], color].concat()));
    let (plain, coloured) = (with(&[]), with(&["--color", "always"]));
    assert!(!plain.contains('\x1b') && with(&["--color", "never"]) == plain, "{plain}");
    assert!(coloured.contains("\x1b[1mKeep none: one run proves nothing"), "{coloured}");
    assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain);
    let said = started(&["--color", "always", "compare", "no-such-job"]).stderr;
    let said = String::from_utf8(said).expect("UTF-8");
    assert!(said.starts_with("\x1b[1;31merror:\x1b[0m `no-such-job`"), "{said}");
    assert!(refused(&["compare", "no-such-job"]).starts_with("error: `no-such-job`"));
}

#[test]
fn a_write_that_memory_takes_does_not_make_figures_hang_on_the_processors() {
    let text = compare(&["beside-a-backup", "--seeds", "1", "--elevators", "none,mq-deadline"]);
    assert!(text.contains("write") && !text.contains("figures depend on the processor cost"), "{text}");
}

#[cfg(unix)]
#[test]
fn names_of_files_need_not_be_texts() {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStrExt;
    let folder = std::env::temp_dir().join(format!("blksched-names-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let named = |bytes: &[u8]| folder.join(OsStr::from_bytes(bytes)).into_os_string();
    let run = |words: &[OsString]| {
        blksched_testkit::output(Command::new(env!("CARGO_BIN_EXE_blksched")).args(words).env("COLUMNS", "1000"))
            .expect("it runs")
    };
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    let (job, disk, trace) = (named(b"caf\xe9.fio"), named(b"d\xff.toml"), named(b"t\xe9.csv"));
    std::fs::write(&job, "[a]\nrw=randread\nsize=1m\ndirect=1\n").expect("a file");
    std::fs::write(&disk, include_str!("../../../disks/presets/fixed.toml")).expect("a file");
    let output = run(&[words(&["compare", "--seeds", "1", "--disk"]), vec![disk, job.clone()]].concat());
    let text = stdout(&output);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("caf\u{fffd}.fio on "), "{text}");
    let output = run(&[words(&["simulate", "--json"]), vec![job]].concat());
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(json["workload"].as_str().is_some_and(|name| name.ends_with("caf\u{fffd}.fio")), "{json}");
    std::fs::write(&trace, "nothing known\n").expect("a file");
    for arguments in [words(&["compare"]), words(&["trace", "info"]), words(&["compare", "--disk"])] {
        let output = run(&[arguments, vec![trace.clone()]].concat());
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        assert!(output.status.code() == Some(2) && said.contains("t\u{fffd}.csv"), "{said}");
    }
    let output = run(&[words(&["experiment"]), vec![named(b"no\xe9.toml")]].concat());
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(said.contains("no\u{fffd}.toml: No such file"), "{said}");
    std::fs::remove_dir_all(folder).expect("it was ours");
}

#[test]
fn writeback_throttling_is_a_knob_where_there_is_any() {
    let text = compare(&["--seeds", "1", "--elevators", "none:wbt_lat_usec=0/75000,bfq:wbt_lat_usec=75000"]);
    for label in [" none wbt_lat_usec=0 ", " none wbt_lat_usec=75000 ", " bfq wbt_lat_usec=75000 "] {
        assert!(text.contains(label), "{label}: {text}");
    }
    for (elevators, expected) in [
        ("none:wbt_lat_usec=-1", "expected a number from 0 to"),
        ("none:wbt_lat_use=0", "did you mean `wbt_lat_usec`?"),
        ("deadline@4.20:wbt_lat_usec=0", "with the schedulers of blk-mq only"),
    ] {
        let said = refused(&["compare", "--elevators", elevators]);
        assert!(said.contains(expected), "{elevators}: {said}");
    }
    let text = compare(&["--seeds", "1", "--elevators", "none,deadline@4.20", "--wbt-lat-usec", "0"]);
    assert!(text.contains("note: --wbt-lat-usec changes nothing for deadline@4.20: "), "{text}");
}
