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

#[test]
fn several_experiments_end_with_one_table_and_a_single_one_does_not() {
    let path = file("closing", &MINE.replace("HIGH", "2.0"));
    let both = output_of(&["experiment", &path, &path, "--seeds", "1"]);
    let head = both.find("beyond null").and_then(|at| both[..at].rfind('\n')).expect("a closing table");
    let closing = &both[head..];
    for word in ["experiment", "numbers", "beyond null", "claims", "misses", "seconds", " all ", "docs/mails.md"] {
        assert!(closing.contains(word), "{word}: {closing}");
    }
    let line = closing.lines().find(|line| line.starts_with(" all ")).expect("the sum");
    let words: Vec<&str> = line.split_whitespace().collect();
    // Two numbers, two claims; nobody knows what a file of one's own has beyond its nulls.
    assert_eq!((words[1], words[3], words[4], words[5]), ("2", "-", "2", "0"), "{line}");
    assert!(!output_of(&["experiment", &path, "--seeds", "1"]).contains("beyond null"));
}

#[test]
fn beside_its_nulls_an_experiment_says_what_each_number_proves_and_csv_has_every_model() {
    // Each run of cat is as published; nothing sets a knob, so the null is another scheduler.
    let path = file("null", &MINE.replace("HIGH", "2.0").replace("mail = 0.5", "mail = 0.35"));
    let text = output_of(&["experiment", &path, "--null", "--seeds", "1"]);
    assert!(text.contains("what its published numbers prove") && text.contains("noop"), "{text}");
    assert!(!text.contains("knobs at their defaults"), "{text}");
    assert!(text.contains("Holds under its null as well, so it is no claim: cat"), "{text}");
    let csv = output_of(&["experiment", &path, "--null", "--csv", "--seeds", "1"]);
    let models: Vec<&str> = csv.lines().skip(1).map(|line| line.split(',').nth(3).expect("a model")).collect();
    assert_eq!(models[0], "ours");
    assert!(models.len() > 3 && models.iter().any(|model| model.starts_with("cfq@")), "{csv}");
    // The row that is neither claimed nor published is not judged.
    assert!(!csv.contains(",again,"), "{csv}");
}

fn output_of(arguments: &[&str]) -> String {
    let output = blksched(arguments);
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).expect("text")
}
