//! The report of a run of steps: a line per step as it ends, failures in full, skipped steps, and the count.

use std::fmt::Write as _;
use std::fs;
use std::io::{IsTerminal, Write as _, stdout};
use std::time::{Duration, Instant};

use crate::shell;

use super::libtest::Skip;

/// How many lines of a failing step's output are shown; the rest is in its log.
const SHOWN_LINES: usize = 300;

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
    skipped_tests: Vec<Skip>,
}

impl Report {
    /// Runs a step and prints the result.
    pub fn step(&mut self, name: &'static str, run: impl FnOnce() -> Outcome) {
        if stdout().is_terminal() {
            print!("{name:<22} …");
            let _ = stdout().flush();
        }
        let begun = Instant::now();
        let outcome = run();
        let line = line(name, &outcome, begun.elapsed());
        println!("{}{line}", if stdout().is_terminal() { "\r" } else { "" });
        match outcome {
            Outcome::Passed(_) => self.passed += 1,
            Outcome::Failed(output) => {
                println!("{}", excerpt(name, &output));
                self.failed.push(name);
            }
            Outcome::Skipped(skip) => self.skipped_steps.push(skip),
        }
    }

    /// Tests within a step that did not run.
    pub fn skipped_tests(&mut self, tests: Vec<Skip>) {
        self.skipped_tests.extend(tests);
    }

    /// Whether nothing failed.
    pub fn is_good(&self) -> bool {
        self.failed.is_empty()
    }

    /// What was skipped and what failed; the count of steps alone on the last line.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        for skip in &self.skipped_steps {
            let _ = writeln!(text, "skipped step: {}", told(skip));
        }
        for skip in &self.skipped_tests {
            let _ = writeln!(text, "skipped test: {}", told(skip));
        }
        for name in &self.failed {
            let _ = writeln!(text, "failed step: {name}");
        }
        let (passed, failed, skipped) = (self.passed, self.failed.len(), self.skipped_steps.len());
        let _ = write!(text, "{passed} passed, {failed} failed, {skipped} skipped");
        text
    }
}

fn line(name: &str, outcome: &Outcome, took: Duration) -> String {
    let (word, note) = match outcome {
        Outcome::Passed(note) => ("passed", note.as_str()),
        Outcome::Failed(_) => ("FAILED", ""),
        Outcome::Skipped(skip) => ("skipped", skip.reason.as_str()),
    };
    format!("{name:<22} {word:<8} {:>6.1} s  {note}", took.as_secs_f64()).trim_end().to_owned()
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
        let mut report = Report::default();
        report.step("one", || Outcome::Passed(String::new()));
        report.step("two", || Outcome::Failed("why".to_owned()));
        report.step("three", || Outcome::Skipped(skip("three", &["fio"])));
        report.skipped_tests(vec![skip("a::b", &["fio", "fio-examples"]), skip("a::c", &[])]);
        assert!(!report.is_good());
        let expected = "\
skipped step: three: not here; needs the Debian package fio (`cargo xtask test --install` installs it)
skipped test: a::b: not here; needs the Debian packages fio, fio-examples (`cargo xtask test --install` installs them)
skipped test: a::c: not here
failed step: two
1 passed, 1 failed, 1 skipped";
        assert_eq!(report.summary(), expected);
    }

    #[test]
    fn a_step_is_one_line_with_its_time() {
        let line = line("clippy", &Outcome::Passed("no warnings".to_owned()), Duration::from_millis(1_250));
        assert_eq!(line, "clippy                 passed      1.2 s  no warnings");
    }

    #[test]
    fn a_long_output_is_cut_at_its_beginning() {
        let output: String = (0..SHOWN_LINES + 5).map(|n| format!("line {n}\n")).collect();
        let excerpt = excerpt("long step", &output);
        assert!(excerpt.starts_with("    | 5 earlier lines are in "), "{excerpt}");
        assert!(excerpt.ends_with("| line 304") && !excerpt.contains("line 4\n"), "{excerpt}");
    }
}
