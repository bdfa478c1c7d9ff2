//! `blksched experiment` with an experiment of one's own, through the binary.

use std::process::Output;

const MINE: &str = r#"
title = "a cat beside a dd"
source = "me"
seeds = 2
until = "cat"
elevator = "deadline@2.5.38"
disk.preset = "ide-2002"
[[workload]]
program = "dd"
[[workload]]
program = "cat"
start = "1s"
files = 3
[[run]]
name = "default"
[[table]]
title = "cat"
value = "finish(cat)"
unit = "s"
rows = [{ label = "cat", run = "default", mail = 0.5, low = 0.1, high = HIGH }, { label = "again", run = "default" }]
[[why]]
run = "default"
say = "{ios(cat):.0} reads"
"#;

/// A file of its own per test.
fn file(test: &str, text: &str) -> String {
    let path = std::env::temp_dir().join(format!("blksched-experiment-{}-{test}.toml", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn blksched(arguments: &[&str]) -> Output {
    crate::printed::printed(arguments, 120)
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_claim_that_holds_is_inside_and_one_that_does_not_ends_with_an_error() {
    let good = blksched(&["experiment", &file("good", &MINE.replace("HIGH", "2.0"))]);
    let (text, _) = texts(&good);
    assert!(good.status.success() && text.contains("inside") && text.contains("1 of 2 rows claimed"), "{text}");
    let bad = blksched(&["experiment", &file("bad", &MINE.replace("HIGH", "0.1001"))]);
    let (text, complaint) = texts(&bad);
    assert_eq!(bad.status.code(), Some(1));
    assert!(text.contains("OUTSIDE") && complaint.contains("outside the claimed bounds"), "{text}{complaint}");
}

#[test]
fn json_has_the_keys_that_are_documented_in_their_order() {
    let path = file("json", &MINE.replace("HIGH", "2.0"));
    let (text, _) = texts(&blksched(&["experiment", &path, "--json", "--seeds", "1"]));
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["rows"][0]["claimed"], true);
    assert_eq!(
        (&value["rows"][1]["inside"], &value["rows"][1]["low"]),
        (&serde_json::Value::Null, &serde_json::Value::Null)
    );
    let keys = ["experiment", "source", "rows", "label", "unit", "mail", "ours", "ours_min", "ours_max", "low", "high"];
    let keys = keys.iter().chain(&["inside", "claimed", "why"]);
    let places: Vec<usize> = keys.map(|key| text.find(&format!("\"{key}\":")).expect(key)).collect();
    assert!(places.is_sorted(), "{text}");
    let (both, _) = texts(&blksched(&["experiment", &path, &path, "--json", "--seeds", "1"]));
    assert_eq!(serde_json::from_str::<serde_json::Value>(&both).unwrap().as_array().map(Vec::len), Some(2));
}

#[test]
fn vmstat_shows_a_line_per_second_under_vmstats_head() {
    let path = file("vmstat", &MINE.replace("HIGH", "2.0"));
    let (text, _) = texts(&blksched(&["experiment", &path, "--vmstat", "--seeds", "1"]));
    let head = text.lines().position(|line| line.ends_with("bi    bo   in    cs  us  sy  id")).expect("a head");
    let first: Vec<&str> = text.lines().nth(head + 1).unwrap().split_whitespace().collect();
    assert_eq!((first.len(), first[9]), (16, "0"), "{text}");
    assert!(first[10].parse::<u32>().unwrap() > 10_000, "{text}");
}

#[test]
fn what_is_no_experiment_is_refused_with_the_nearest() {
    for (name, words) in [("horor", "`horror`"), ("no/such.toml", "no/such.toml")] {
        let output = blksched(&["experiment", name]);
        assert_eq!(output.status.code(), Some(2));
        let (_, complaint) = texts(&output);
        assert!(complaint.contains(words), "{complaint}");
    }
    let path = file("typo", &MINE.replace("HIGH", "2.0").replace("finish(cat)", "finihs(cat)"));
    let (_, complaint) = texts(&blksched(&["experiment", &path]));
    assert!(complaint.contains(".toml:18:9: ") && complaint.ends_with("did you mean `finish`?\n"), "{complaint}");
}

#[test]
fn another_first_seed_gives_other_numbers_and_the_same_one_the_same() {
    let run = |seed: &str| output_of(&["experiment", "rbtree-scores", "--seeds", "1", "--seed", seed, "--csv"]);
    let (one, again, other) = (run("1"), run("1"), run("8"));
    assert_eq!(one, again);
    assert!(one != other && other.contains(",8,"), "{other}");
}

fn output_of(arguments: &[&str]) -> String {
    let output = blksched(arguments);
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).expect("text")
}
