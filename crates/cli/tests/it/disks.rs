//! Several disks, and stacked ones, in what the command line prints.

use blksched_testkit::Folder;
use serde_json::Value;

const JOBS: &str = "[global]\ndirect=1\nbs=4k\ntime_based\nruntime=60\n[reader]\nfilename=/dev/sda\nrw=randread\n\
                    [copy]\nfilename=/dev/sdb\nrw=write\nbs=1m\n";

fn printed(words: &str, jobs: &str) -> (bool, String, String) {
    let folder = Folder::new();
    let path = folder.text("jobs.fio");
    std::fs::write(&path, jobs).expect("a folder of our own");
    let words: Vec<String> = words.split(' ').map(|word| word.replace("JOBS", &path)).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = crate::printed::printed(&words, 120);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("we print text");
    (output.status.success(), text(output.stdout), text(output.stderr))
}

fn ok(words: &str, jobs: &str) -> String {
    let (success, out, err) = printed(words, jobs);
    assert!(success, "{words}: {err}");
    out
}

/// The rows of all tables that have these cells one after the other, wherever.
fn has_row(text: &str, cells: &[&str]) -> bool {
    text.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.windows(cells.len()).any(|window| window == cells)
    })
}

const TWO: &str = "--disk sda=ide-2002,sdb=ide-2002 --time 1";

#[test]
fn tables_have_a_column_for_the_disk_and_a_row_for_each() {
    let text = ok(&format!("compare JOBS {TWO} --seeds 1 --elevators none,deadline --wide"), JOBS);
    assert!(has_row(&text, &["reader", "sda"]) && has_row(&text, &["copy", "sdb"]), "{text}");
    assert!(text.lines().any(|line| line.trim_start().starts_with("sdb ")), "a row for the other disk: {text}");
    let text = ok(&format!("simulate JOBS {TWO} --elevator sda=none,sdb=deadline"), JOBS);
    assert!(has_row(&text, &["reader", "sda"]) && has_row(&text, &["copy", "sdb"]), "{text}");
    let is_other = |line: &str| line.trim_start().starts_with("sdb ") && line.contains("deadline");
    assert!(text.lines().any(is_other), "{text}");
}

#[test]
fn json_says_which_disk_each_figure_is_of() {
    let words = format!("compare JOBS {TWO} --seeds 1 --elevators sda=none,deadline,sdb=none --json");
    let value: Value = serde_json::from_str(&ok(&words, JOBS)).expect("JSON");
    assert_eq!((&value["varied_disk"], &value["other_disks"][0]["name"]), (&"sda".into(), &"sdb".into()));
    assert_eq!(value["other_disks"][0]["scheduler"], "none");
    let jobs = &value["schedulers"][0]["jobs"];
    assert_eq!((&jobs[0]["disk"], &jobs[1]["disk"]), (&"sda".into(), &"sdb".into()));
    assert_eq!(value["schedulers"][1]["other_disks"][0]["name"], "sdb");
    assert!(value["schedulers"][1]["other_disks"][0]["utilisation"]["mean"].as_f64() > Some(0.5), "{value}");
}

#[test]
fn a_stacked_device_has_a_row_for_each_member_and_json_says_that_they_are_alike() {
    let jobs = JOBS.replace("/dev/sda", "/dev/md0").replace("/dev/sdb", "/dev/md0");
    let words = "compare JOBS --disk md-raid0:2xide-2002 --time 1 --seeds 1 --elevators none,deadline";
    let text = ok(&format!("{words} --wide"), &jobs);
    let rows = |name: &str| text.lines().filter(|line| line.contains(name)).count();
    assert!(rows("md-raid0[0]") >= 2 && rows("md-raid0[1]") >= 2, "{text}");
    assert!(text.contains("on md-raid0:2xide-2002") && text.contains("no scheduler above"), "{text}");
    let value: Value = serde_json::from_str(&ok(&format!("{words} --json"), &jobs)).expect("JSON");
    assert_eq!(
        (&value["varied_disk"], &value["other_disks"][0]["scheduler"]),
        (&"md-raid0[0]".into(), &"as varied_disk".into())
    );
    let simulated = ok("simulate JOBS --disk md-raid1:2xide-2002 --time 1 --elevator none", &jobs);
    assert!(simulated.contains("the same"), "{simulated}");
}

#[test]
fn stories_are_told_of_encrypted_disks() {
    let jobs = JOBS.replace("/dev/sda", "/dev/dm-0").replace("/dev/sdb", "/dev/dm-0");
    let text = ok("explain JOBS --disk crypt:ide-2002,encrypt=1,decrypt=1 --time 2 --elevator none", &jobs);
    assert!(text.contains("with the stacked device"), "{text}");
    let blame = ok("explain JOBS --disk crypt:ide-2002 --time 2 --elevator none --blame", &jobs);
    assert!(blame.contains("reader"), "{blame}");
}

#[test]
fn what_is_about_one_disk_is_refused_for_stacked_devices() {
    let jobs = JOBS.replace("/dev/sda", "/dev/md0").replace("/dev/sdb", "/dev/md0");
    let (success, _, error) = printed("compare JOBS --disk crypt:ide-2002 --time 1 --why none,deadline", &jobs);
    assert!(
        !success && error.contains("--why is about one disk, and this run has a stacked device: crypt:"),
        "{error}"
    );
    let (success, _, error) = printed("disk show crypt:ide-2002", "");
    assert!(!success, "{error}");
}
