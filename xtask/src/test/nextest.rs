//! Tests by cargo-nextest: each is a process of its own, and those of different programs run side by side
//! (`.config/nextest.toml`). Its report in JUnit's format has each test's time and what it printed.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};

use super::libtest::{Run, TestTime, skip};
use super::{ignored, packages};
use crate::shell;

/// The version that is installed; the compiler of `rust-toolchain.toml` builds it.
const VERSION: &str = "0.9.151";
/// The time limit of a run, and of the installation.
const LONGEST: Duration = Duration::from_secs(40 * 60);

/// Whether it is installed.
pub fn is_here() -> bool {
    packages::has_component("nextest")
}

/// Installs it if it is not here; without it cargo runs the same tests. Returns what was done.
pub fn install() -> String {
    if is_here() {
        return "cargo-nextest is here".to_owned();
    }
    let words = ["install", "--quiet", "--locked", "cargo-nextest", "--version", VERSION];
    match shell::capture_within(shell::cargo(&words), LONGEST) {
        Ok(finished) if finished.good => format!("installed cargo-nextest {VERSION}"),
        Ok(finished) => {
            let last = finished.output.lines().rev().find(|line| line.contains("error")).unwrap_or("no reason given");
            format!("not cargo-nextest: {last}")
        }
        Err(error) => format!("not cargo-nextest: {error:#}"),
    }
}

/// Runs the tests of cargo's `selection`, and lists those that are ignored; whether all passed.
///
/// # Errors
/// If nextest cannot be started, or leaves no report.
pub fn run(selection: &[&str]) -> Result<(bool, Run)> {
    let (good, mut run) = report_of(selection, LONGEST)?;
    run.skipped.extend(ignored::all()?);
    Ok((good, run))
}

/// Runs ignored tests: functions with these names, of any package.
///
/// # Errors
/// As [`run`].
pub fn run_ignored(names: &[&str], limit: Duration) -> Result<(bool, Run)> {
    let pattern = format!("test(/^(.*::)?({})$/)", names.join("|"));
    report_of(&["--workspace", "--run-ignored", "only", "--filterset", &pattern], limit)
}

fn report_of(words: &[&str], limit: Duration) -> Result<(bool, Run)> {
    // An earlier run's report must not be taken for this one's.
    let file = shell::target().join("nextest/default/junit.xml");
    let _ = fs::remove_file(&file);
    let quiet = ["nextest", "run", "--cargo-quiet", "--no-fail-fast", "--color", "never", "--status-level", "fail"];
    let mut cargo =
        shell::cargo(&[&quiet[..], &["--final-status-level", "fail", "--show-progress", "none"], words].concat());
    cargo.envs(packages::required().into_iter().map(|variable| (variable, "1")));
    let finished = shell::capture_within(cargo, limit)?;
    let report =
        fs::read_to_string(&file).with_context(|| format!("{}\nreading {}", finished.output, file.display()))?;
    let run = read(&report).with_context(|| format!("reading {}", file.display()))?;
    Ok((finished.good, Run { digest: finished.output, ..run }))
}

/// Reads nextest's report.
fn read(report: &str) -> Result<Run> {
    let mut run = Run::default();
    let mut reader = Reader::from_str(report);
    let (mut suite, mut test, mut seconds) = (String::new(), String::new(), 0.0);
    let (mut failed, mut printed, mut is_printed, mut is_whole) = (false, String::new(), false, false);
    let named = |element: &BytesStart<'_>, name: &str| -> Result<String> {
        let attribute = element.try_get_attribute(name)?.with_context(|| format!("an element without {name}"))?;
        Ok(unescape(std::str::from_utf8(&attribute.value)?)?.into_owned())
    };
    loop {
        match reader.read_event()? {
            Event::Eof if is_whole => return Ok(run),
            Event::Eof => bail!("it has no end"),
            Event::End(element) if element.name().as_ref() == b"testsuites" => is_whole = true,
            Event::Start(element) | Event::Empty(element) if element.name().as_ref() == b"testsuite" => {
                suite = named(&element, "name")?;
            }
            Event::Start(element) if element.name().as_ref() == b"testcase" => {
                (test, failed, printed) = (named(&element, "name")?, false, String::new());
                seconds = named(&element, "time")?.parse()?;
            }
            // One without any output.
            Event::Empty(element) if element.name().as_ref() == b"testcase" => {
                run.ended(&suite, &named(&element, "name")?, named(&element, "time")?.parse()?, false, "");
            }
            Event::Start(element) | Event::Empty(element)
                if matches!(element.name().as_ref(), b"failure" | b"error") =>
            {
                failed = true;
            }
            Event::Start(element) if element.name().as_ref() == b"system-out" => is_printed = true,
            Event::End(element) if element.name().as_ref() == b"system-out" => is_printed = false,
            Event::Text(text) if is_printed => printed += &text.decode()?,
            Event::CData(text) if is_printed => printed += &text.decode()?,
            Event::GeneralRef(reference) if is_printed => {
                let name = format!("&{};", reference.decode()?);
                printed += &unescape(&name)?;
            }
            Event::End(element) if element.name().as_ref() == b"testcase" => {
                run.ended(&suite, &test, seconds, failed, &printed);
            }
            _ => {}
        }
    }
}

impl Run {
    fn ended(&mut self, suite: &str, test: &str, seconds: f64, failed: bool, printed: &str) {
        self.times.push(TestTime { test: format!("{suite} {test}"), seconds });
        if failed {
            self.failed += 1;
            return;
        }
        self.passed += 1;
        let reasons = printed.lines().filter_map(|line| line.strip_prefix("skipped: "));
        self.skipped.extend(reasons.map(|reason| skip(suite, test, reason)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="4" failures="1" errors="0" uuid="x" timestamp="t" time="3.5">
    <testsuite name="blksched-cli::it" tests="3" disabled="0" errors="0" failures="1">
        <testcase name="a::plain" classname="blksched-cli::it" timestamp="t" time="0.250"/>
        <testcase name="a::skips" classname="blksched-cli::it" timestamp="t" time="1.500">
            <system-out>
running 1 test
skipped: no job files &lt;here&gt; (Debian package fio-examples)
test a::skips ... ok
</system-out>
            <system-err></system-err>
        </testcase>
        <testcase name="a::breaks" classname="blksched-cli::it" timestamp="t" time="0.5">
            <failure message="thread panicked" type="test failure">why</failure>
            <system-out>skipped: no</system-out>
        </testcase>
    </testsuite>
    <testsuite name="xtask::bin/xtask" tests="1" disabled="0" errors="0" failures="0">
        <testcase name="b" classname="xtask::bin/xtask" timestamp="t" time="0.1">
            <system-out>chatter</system-out>
        </testcase>
    </testsuite>
</testsuites>
"#;

    #[test]
    fn tests_are_counted_and_timed() {
        let run = read(REPORT).unwrap();
        assert_eq!((run.passed, run.failed, run.times.len()), (3, 1, 4));
        let slowest = TestTime { test: "blksched-cli::it a::skips".to_owned(), seconds: 1.5 };
        assert_eq!(run.times[1], slowest);
        assert_eq!(run.times[3].test, "xtask::bin/xtask b");
    }

    #[test]
    fn a_skipped_test_is_known_by_what_it_prints_and_a_failed_one_is_not_skipped() {
        let skipped = read(REPORT).unwrap().skipped;
        assert_eq!(skipped.len(), 1);
        assert_eq!(skipped[0].reason, "no job files <here> (Debian package fio-examples)");
        assert_eq!(skipped[0].packages, [packages::named("fio-examples")]);
    }

    #[test]
    fn a_report_that_was_cut_is_an_error() {
        assert!(read(&REPORT[..REPORT.len() / 2]).is_err());
    }
}
