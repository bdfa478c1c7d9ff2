//! The report of a run of steps: a line per step as it ends, with its seconds and processor time; failures in full; at
//! the end the slowest tests, steps over their budgets, what was skipped, and the counts.

use std::fmt::Write as _;
use std::fs;
use std::io::{IsTerminal, Write as _, stdout};
use std::time::Instant;

use crate::shell;

use super::budget;
use super::libtest::{Run, Skip, TestTime};

/// How many lines of a failing step's output are shown; the rest is in its log.
const SHOWN_LINES: usize = 300;
/// How many of the slowest tests are named.
const SLOWEST: usize = 20;

/// How a step ended.
#[derive(Debug)]
pub enum Outcome {
    /// It passed; with a message, often empty.
    Passed(String),
    /// It failed; with everything that it printed.
    Failed(String),
    /// It could not run here.
    Skipped(Skip),
}

/// The report of a run.
#[derive(Default)]
pub struct Report {
    passed: usize,
    failed: Vec<&'static str>,
    skipped_steps: Vec<Skip>,
    took: Vec<(&'static str, f64)>,
    processor: f64,
    tests: Run,
}

impl Report {
    /// Runs a step and prints the result.
    pub fn step(&mut self, name: &'static str, run: impl FnOnce() -> Outcome) {
        if stdout().is_terminal() {
            print!("{name:<22} …");
            let _ = stdout().flush();
        }
        let (begun, processor) = (Instant::now(), shell::processor_seconds());
        let outcome = run();
        let (seconds, processor) = (begun.elapsed().as_secs_f64(), shell::processor_seconds() - processor);
        println!("{}{}", if stdout().is_terminal() { "\r" } else { "" }, line(name, &outcome, seconds, processor));
        self.processor += processor;
        self.took.push((name, seconds));
        match outcome {
            Outcome::Passed(_) => {
                self.passed += 1;
                budget::keep(name, seconds);
            }
            Outcome::Failed(output) => {
                println!("{}", excerpt(name, &output));
                self.failed.push(name);
            }
            Outcome::Skipped(skip) => self.skipped_steps.push(skip),
        }
    }

    /// The tests that ran within steps.
    pub fn tests(&mut self, ran: Run) {
        self.tests = ran;
    }

    /// Whether nothing failed.
    pub fn is_good(&self) -> bool {
        self.failed.is_empty()
    }

    /// What took long, was skipped or failed; the count of steps alone on the last line.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        text += &slowest(&self.tests.times);
        // Without budgets nothing is over one; that the file can be read is a test.
        for line in budget::over(&self.took, &budget::read().unwrap_or_default()) {
            let _ = writeln!(text, "{line}");
        }
        for skip in &self.skipped_steps {
            let _ = writeln!(text, "skipped step: {}", told(skip));
        }
        for skip in &self.tests.skipped {
            let _ = writeln!(text, "skipped test: {}", told(skip));
        }
        for name in &self.failed {
            let _ = writeln!(text, "failed step: {name}");
        }
        let seconds: f64 = self.took.iter().map(|(_, seconds)| seconds).sum();
        let _ = writeln!(text, "in all: {seconds:.0} s, {:.0} s of processor time", self.processor);
        let Run { passed, failed, skipped, .. } = &self.tests;
        if passed + failed > 0 {
            let _ = writeln!(text, "tests: {passed} passed, {failed} failed, {} skipped", skipped.len());
        }
        let (passed, failed, skipped) = (self.passed, self.failed.len(), self.skipped_steps.len());
        let _ = write!(text, "{passed} passed, {failed} failed, {skipped} skipped");
        text
    }
}

/// The slowest tests, a line each; empty if there are no times.
fn slowest(times: &[TestTime]) -> String {
    let mut times: Vec<_> = times.iter().collect();
    times.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let line = |time: &&TestTime| format!("{:>8.1} s  {}\n", time.seconds, time.test);
    let lines: String = times.iter().take(SLOWEST).map(line).collect();
    if lines.is_empty() { lines } else { format!("the slowest tests:\n{lines}") }
}

fn line(name: &str, outcome: &Outcome, seconds: f64, processor: f64) -> String {
    let (word, note) = match outcome {
        Outcome::Passed(note) => ("passed", note.as_str()),
        Outcome::Failed(_) => ("FAILED", ""),
        Outcome::Skipped(skip) => ("skipped", skip.reason.as_str()),
    };
    format!("{name:<22} {word:<8} {seconds:>6.1} s  {processor:>6.1} s CPU  {note}").trim_end().to_owned()
}

fn told(skip: &Skip) -> String {
    let names: Vec<_> = skip.packages.iter().map(|package| package.name).collect();
    let packages = match names.as_slice() {
        [] => String::new(),
        [name] => format!("; needs the Debian package {name} (`cargo xtask test --install` installs it)"),
        names => {
            format!("; needs the Debian packages {} (`cargo xtask test --install` installs them)", names.join(", "))
        }
    };
    format!("{}: {}{packages}", skip.what, skip.reason)
}

/// The end of a failing step's output, indented; if it is longer, all of it goes to a file.
fn excerpt(name: &str, output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    let from = lines.len().saturating_sub(SHOWN_LINES);
    let mut text = String::new();
    if from > 0 {
        let folder = shell::target().join("xtask");
        let file = folder.join(format!("{}.log", name.replace(' ', "-")));
        let kept = fs::create_dir_all(&folder).and_then(|()| fs::write(&file, output));
        let place = kept.map_or_else(|error| format!("lost: {error}"), |()| format!("in {}", file.display()));
        let _ = writeln!(text, "    | {from} earlier lines are {place}");
    }
    for line in &lines[from..] {
        let _ = writeln!(text, "    | {line}");
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::packages::named;

    fn skip(what: &str, packages: &[&str]) -> Skip {
        Skip {
            what: what.to_owned(),
            reason: "not here".to_owned(),
            packages: packages.iter().map(|name| named(name)).collect(),
        }
    }

    #[test]
    fn the_last_line_is_the_count_of_steps_alone() {
        let mut report = Report { passed: 1, failed: vec!["two"], processor: 7.4, ..Report::default() };
        report.skipped_steps.push(skip("three", &["fio"]));
        report.took.push(("one", 4.6));
        let time = |test: &str, seconds| TestTime { test: test.to_owned(), seconds };
        let skipped = vec![skip("a::b", &["fio", "fio-examples"]), skip("a::c", &[])];
        let times = vec![time("a::d", 0.25), time("a::e", 62.0)];
        report.tests(Run { passed: 2, failed: 1, skipped, times, ..Run::default() });
        assert!(!report.is_good());
        let expected = "\
the slowest tests:
    62.0 s  a::e
     0.2 s  a::d
skipped step: three: not here; needs the Debian package fio (`cargo xtask test --install` installs it)
skipped test: a::b: not here; needs the Debian packages fio, fio-examples (`cargo xtask test --install` installs them)
skipped test: a::c: not here
failed step: two
in all: 5 s, 7 s of processor time
tests: 2 passed, 1 failed, 2 skipped
1 passed, 1 failed, 1 skipped";
        assert_eq!(report.summary(), expected);
    }

    #[test]
    fn the_twenty_slowest_tests_are_named() {
        let times: Vec<_> =
            (0..30).map(|n| TestTime { test: format!("t{n}"), seconds: f64::from((n * 7) % 30) }).collect();
        let slowest = slowest(&times);
        assert_eq!(slowest.lines().count(), 1 + SLOWEST);
        assert!(slowest.lines().nth(1).unwrap().ends_with("29.0 s  t17"), "{slowest}");
    }

    #[test]
    fn a_step_is_one_line_with_its_time() {
        let line = line("clippy", &Outcome::Passed("no warnings".to_owned()), 1.25, 2.0);
        assert_eq!(line, "clippy                 passed      1.2 s     2.0 s CPU  no warnings");
    }

    #[test]
    fn a_long_output_is_cut_at_its_beginning() {
        let output: String = (0..SHOWN_LINES + 5).map(|n| format!("line {n}\n")).collect();
        let excerpt = excerpt("long step", &output);
        assert!(excerpt.starts_with("    | 5 earlier lines are in "), "{excerpt}");
        assert!(excerpt.ends_with("| line 304") && !excerpt.contains("line 4\n"), "{excerpt}");
    }
}
