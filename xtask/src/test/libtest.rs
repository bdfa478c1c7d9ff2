//! Tests by cargo: reading what `cargo test -- --show-output` prints: how many tests ran, which were skipped and why,
//! and the relevant output of a failing run.
//!
//! A test that cannot run here prints a line `skipped: <reason>` and returns; the reason names the Debian packages that
//! it needs.

use std::time::Duration;

use anyhow::Result;

use super::packages::{self, PACKAGES, Package};
use crate::shell;

/// The time limit of a run.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// The results of a run of tests.
#[derive(Debug, Default, PartialEq)]
pub struct Run {
    /// Tests that passed (including skipped ones, which passed for libtest).
    pub passed: usize,
    /// Tests that failed.
    pub failed: usize,
    /// Tests that did not run.
    pub skipped: Vec<Skip>,
    /// Tests that ran for over a minute and were never reported as ended: they hang, or were killed.
    pub unfinished: Vec<String>,
    /// What each test took; empty if the runner does not tell.
    pub times: Vec<TestTime>,
    /// The output without what passing tests printed.
    pub digest: String,
}

/// What a test took.
#[derive(Clone, Debug, PartialEq)]
pub struct TestTime {
    /// Its program and name.
    pub test: String,
    /// \[s\]
    pub seconds: f64,
}

impl Run {
    /// What a person needs to know about a failed run.
    pub fn failure(&self) -> String {
        let hung: String = self.unfinished.iter().map(|test| format!("did not end: {test}\n")).collect();
        format!("{}{hung}{} tests passed, {} failed", self.digest, self.passed, self.failed)
    }
}

/// A step or a test that did not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// Its name.
    pub what: String,
    /// The reason.
    pub reason: String,
    /// The Debian packages that it needs.
    pub packages: Vec<&'static Package>,
}

/// The part of the output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Listing,
    PassedOutput,
    FailedOutput,
}

/// Runs the tests of cargo's `selection`, one program after the other; whether all passed.
///
/// # Errors
/// If cargo cannot be started.
pub fn run(selection: &[&str]) -> Result<(bool, Run)> {
    captured(&[&["test", "--no-fail-fast"], selection, &["--", "--show-output"]].concat(), LONGEST)
}

/// Runs the examples of the documentation.
///
/// # Errors
/// As [`run`].
pub fn documented() -> Result<(bool, Run)> {
    captured(&["test", "--no-fail-fast", "--workspace", "--doc"], LONGEST)
}

/// Runs ignored tests with these names.
///
/// # Errors
/// As [`run`].
pub fn run_ignored(names: &[&str], limit: Duration) -> Result<(bool, Run)> {
    let words = ["test", "--workspace", "--no-fail-fast", "--", "--show-output", "--ignored"];
    captured(&[&words[..], names].concat(), limit)
}

fn captured(words: &[&str], limit: Duration) -> Result<(bool, Run)> {
    let mut cargo = shell::cargo(words);
    cargo.envs(packages::required().into_iter().map(|variable| (variable, "1")));
    let finished = shell::capture_within(cargo, limit)?;
    Ok((finished.good, read(&finished.output)))
}

/// Parses a whole run.
fn read(output: &str) -> Run {
    let mut run = Run::default();
    let (mut part, mut suite, mut test) = (Part::Listing, "", "");
    for line in output.lines() {
        let words = line.trim_start();
        if words.starts_with("Running ") || words.starts_with("Doc-tests ") {
            (part, suite) = (Part::Listing, suite_of(words));
        } else if line == "successes:" {
            part = Part::PassedOutput;
        } else if line == "failures:" {
            part = Part::FailedOutput;
        } else if let Some(counts) = line.strip_prefix("test result: ") {
            part = Part::Listing;
            run.passed += count(counts, "passed");
            run.failed += count(counts, "failed");
        } else if let Some(name) = heading(line) {
            test = name;
        } else if let (Part::Listing, Some(name)) = (part, long_running(line)) {
            run.unfinished.push(format!("{suite} {name}"));
        } else if let (Part::PassedOutput, Some(reason)) = (part, line.strip_prefix("skipped: ")) {
            run.skipped.push(skip(suite, test, reason));
        } else if let (Part::Listing, Some((name, reason))) = (part, ignored(line)) {
            run.skipped.push(skip(suite, name, reason));
        }
        if let (Part::Listing, Some(name)) = (part, ended(line)) {
            run.unfinished.retain(|long| long.strip_prefix(suite).is_none_or(|rest| rest.trim_start() != name));
        }
        if part != Part::PassedOutput && !(line.starts_with("test ") && line.ends_with(" ... ok")) {
            run.digest.push_str(line);
            run.digest.push('\n');
        }
    }
    run
}

/// A test that did not run, with the packages that its reason names.
pub fn skip(suite: &str, test: &str, reason: &str) -> Skip {
    Skip { what: format!("{suite} {test}"), reason: reason.to_owned(), packages: packages_in(reason) }
}

/// The packages that a reason names; `fio-examples` does not name `fio`.
pub fn packages_in(reason: &str) -> Vec<&'static Package> {
    let is_part = |c: char| c.is_alphanumeric() || c == '-';
    let words: Vec<_> = reason.split(|c| !is_part(c)).collect();
    PACKAGES.iter().filter(|package| words.contains(&package.name)).collect()
}

/// `Running unittests src/lib.rs (target/debug/deps/blksched-0123456789abcdef)`, `Doc-tests blksched`.
fn suite_of(line: &str) -> &str {
    let last = line.rsplit(['/', ' ']).next().unwrap_or(line).trim_end_matches(')');
    match last.rsplit_once('-') {
        Some((name, hash)) if hash.len() == 16 => name,
        _ => last,
    }
}

/// `---- module::test stdout ----`
fn heading(line: &str) -> Option<&str> {
    line.strip_prefix("---- ")?.strip_suffix(" stdout ----")
}

/// `test module::test ... ignored, because`
fn ignored(line: &str) -> Option<(&str, &str)> {
    let (name, reason) = line.strip_prefix("test ")?.split_once(" ... ignored")?;
    let reason = reason.trim_start_matches([',', ' ']);
    Some((name, if reason.is_empty() { "marked #[ignore] without a reason" } else { reason }))
}

/// `test module::test has been running for over 60 seconds`
fn long_running(line: &str) -> Option<&str> {
    Some(line.strip_prefix("test ")?.split_once(" has been running for over ")?.0)
}

/// `test module::test ... ok`
fn ended(line: &str) -> Option<&str> {
    Some(line.strip_prefix("test ")?.split_once(" ... ")?.0)
}

/// The number before `word` in `ok. 3 passed; 0 failed; …`.
fn count(counts: &str, word: &str) -> usize {
    let words: Vec<_> = counts.split([' ', ';']).filter(|part| !part.is_empty()).collect();
    words.windows(2).find(|pair| pair[1] == word).and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::packages::named;

    const OUTPUT: &str = "\
   Compiling blksched v0.1.0
     Running unittests src/lib.rs (target/debug/deps/blksched_workloads-0123456789abcdef)

running 4 tests
test a::plain ... ok
test a::skips ... ok
test a::later ... ignored, takes an hour
test a::breaks ... FAILED

successes:

---- a::skips stdout ----
skipped: no job files here (Debian package fio-examples)

---- a::plain stdout ----
chatter

successes:
    a::plain
    a::skips

failures:

---- a::breaks stdout ----
assertion failed

failures:
    a::breaks

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

   Doc-tests blksched

running 1 test
test src/a.rs - a (line 3) ... ok

test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
";

    #[test]
    fn tests_are_counted_over_all_suites() {
        let run = read(OUTPUT);
        assert_eq!((run.passed, run.failed), (14, 1));
    }

    #[test]
    fn skipped_and_ignored_tests_are_listed_with_reason_and_package() {
        let skipped = read(OUTPUT).skipped;
        let later = Skip {
            what: "blksched_workloads a::later".to_owned(),
            reason: "takes an hour".to_owned(),
            packages: vec![],
        };
        let skips = Skip {
            what: "blksched_workloads a::skips".to_owned(),
            reason: "no job files here (Debian package fio-examples)".to_owned(),
            packages: vec![named("fio-examples")],
        };
        assert_eq!(skipped, [later, skips]);
    }

    #[test]
    fn the_digest_keeps_failures_and_drops_what_passing_tests_said() {
        let digest = read(OUTPUT).digest;
        assert!(digest.contains("test a::breaks ... FAILED") && digest.contains("assertion failed"), "{digest}");
        assert!(!digest.contains("chatter") && !digest.contains("a::plain"), "{digest}");
    }

    #[test]
    fn a_test_that_never_ends_is_named() {
        let output = "     Running tests/it.rs (target/debug/deps/it-0123456789abcdef)\nrunning 3 tests\n\
            test a::slow has been running for over 60 seconds\ntest a::hangs has been running for over 60 seconds\n\
            test a::slow ... ok\n";
        assert_eq!(read(output).unfinished, ["it a::hangs"]);
    }

    #[test]
    fn a_failing_test_that_prints_the_word_is_not_skipped() {
        let output = "failures:\n---- a stdout ----\nskipped: no\ntest result: FAILED. 0 passed; 1 failed\n";
        assert_eq!(read(output).skipped, []);
    }
}
