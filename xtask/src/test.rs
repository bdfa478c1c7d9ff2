//! `test`: all checks, in order. A failing step does not stop the next; a step that cannot run here is skipped by name,
//! with the missing Debian package. Without `--install` nothing is changed outside the target folder. Tests that take
//! long or need root belong to a [`Tier`] and run only on request.

pub mod libtest;
pub mod packages;
mod publish;
pub mod quick;
pub mod report;
mod tier;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::bench::gate;
use crate::{Verdict, docs, python, shell, tidy, transcripts};
use libtest::Skip;
use packages::{Installed, PACKAGES, Package};
use report::{Outcome, Report};
pub use tier::Tier;

/// The recorded decisions that the repository holds.
const TRANSCRIPTS: &str = "testdata/transcripts";
/// The fuzz targets: a package outside the workspace.
const FUZZ: &str = "fuzz/Cargo.toml";

/// What may be done to the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// Nothing outside the target folder.
    LeaveAlone,
    /// Install what is missing.
    Install,
}

/// Everything, and the tests of these tiers.
///
/// # Errors
/// If cargo does not know the workspace; anything else that goes wrong is a failing step.
pub fn run(machine: Machine, tiers: &[Tier]) -> Result<Verdict> {
    std::env::set_current_dir(shell::root())?;
    let mut report = Report::default();
    if machine == Machine::Install {
        report.step("install", install);
        report.step("tools of PyPI", python::tools);
    }
    report.step("format", formatted);
    let clippy = ["clippy", "--quiet", "--keep-going", "--workspace", "--all-targets", "--", "--deny", "warnings"];
    report.step("clippy", || component("clippy", "clippy", &clippy));
    report.step("tidy", || safely(tidied));
    report.step("generated documents", || safely(documents));
    let mut ran = libtest::Run::default();
    report.step("tests", || tests(&["--workspace"], &mut ran));
    for (package, variable) in PACKAGES.iter().filter_map(|package| Some((package, package.variable?))) {
        let asked = tidy::crates_mention(&[variable, packages::REQUIRE_ALL])?;
        report.step(package.name, || outside(package, asked, &ran));
    }
    for tier in tiers {
        report.step(tier.step(), || tier.run(&mut ran.skipped));
    }
    report.skipped_tests(ran.skipped);
    let suite = if tiers.contains(&Tier::Slow) { python::Suite::Slow } else { python::Suite::Usual };
    report.step("python", || python::step(machine == Machine::Install, suite));
    report.step("documentation", || command(documentation()));
    report.step("transcripts", || safely(replayed));
    let build = ["build", "--quiet", "--workspace", "--examples", "--benches"];
    report.step("examples and benches", || command(shell::cargo(&build)));
    let cases = if tiers.contains(&Tier::Slow) { gate::Cases::All } else { gate::Cases::Chosen };
    report.step("instructions", || counted(cases));
    report.step("packages", || safely(publish::packaged));
    if shell::root().join(FUZZ).is_file() {
        report.step("fuzz targets", || command(fuzz_targets()));
    }
    println!("\n{}", report.summary());
    Ok(Verdict::when(report.is_good()))
}

fn install() -> Outcome {
    match packages::install() {
        Ok(Installed::All(note)) => Outcome::Passed(note),
        Ok(Installed::NotHere(reason)) => {
            Outcome::Skipped(Skip { what: "install".to_owned(), reason, packages: vec![] })
        }
        Err(error) => Outcome::Failed(format!("{error:#}")),
    }
}

/// A cargo command from a component of the toolchain.
fn component(name: &str, subcommand: &str, arguments: &[&str]) -> Outcome {
    if packages::has_component(subcommand) {
        return command(shell::cargo(arguments));
    }
    let reason = format!("{name} is not installed (`rustup component add {name}`)");
    Outcome::Skipped(Skip { what: subcommand.to_owned(), reason, packages: vec![] })
}

fn command(command: Command) -> Outcome {
    match shell::capture(command) {
        Ok(finished) if finished.good => Outcome::Passed(String::new()),
        Ok(finished) => Outcome::Failed(finished.output),
        Err(error) => Outcome::Failed(format!("{error:#}")),
    }
}

/// A step within this process: an error or a panic there fails the step, not the run.
fn safely(step: fn() -> Result<Outcome>) -> Outcome {
    match catch_unwind(AssertUnwindSafe(step)) {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => Outcome::Failed(format!("{error:#}")),
        Err(_) => Outcome::Failed("panicked; the message stands above".to_owned()),
    }
}

fn tidied() -> Result<Outcome> {
    let tidy::Outcome { findings, figures } = tidy::check()?;
    if findings.is_empty() {
        return Ok(Outcome::Passed(figures.replace('\n', "; ")));
    }
    Ok(Outcome::Failed(findings.iter().map(|finding| format!("{finding}\n")).collect()))
}

fn documents() -> Result<Outcome> {
    Ok(match docs::stale()? {
        None => Outcome::Passed(String::new()),
        Some(why) => Outcome::Failed(why),
    })
}

fn formatted() -> Outcome {
    component("rustfmt", "fmt", &["fmt", "--all", "--check", "--", "--color", "never"])
}

/// The tests of cargo's `selection`, with the installed outside programs.
fn tests(selection: &[&str], ran: &mut libtest::Run) -> Outcome {
    // Built first, so that the time limit of the run is the tests' own.
    let build = [&["test", "--quiet", "--no-run"], selection].concat();
    if let failed @ Outcome::Failed(_) = command(shell::cargo(&build)) {
        return failed;
    }
    let arguments = [&["test", "--no-fail-fast"], selection, &["--", "--show-output"]].concat();
    let mut cargo = shell::cargo(&arguments);
    cargo.envs(packages::required().into_iter().map(|variable| (variable, "1")));
    let finished = match shell::capture(cargo) {
        Ok(finished) => finished,
        Err(error) => return Outcome::Failed(format!("{error:#}")),
    };
    *ran = libtest::read(&finished.output);
    match (finished.good, ran.passed) {
        (true, 0) => Outcome::Failed(format!("no test ran\n{}", ran.digest)),
        (true, passed) => Outcome::Passed(format!("{passed} tests, {} of them skipped", ran.skipped.len())),
        (false, _) => Outcome::Failed(ran.failure()),
    }
}

/// Tests with an outside program are ordinary tests and have already run. This checks whether they could, and whether
/// there are any.
fn outside(package: &'static Package, asked: bool, ran: &libtest::Run) -> Outcome {
    if !package.is_here() {
        let reason = format!("not installed; needed for {}", package.needed_for);
        return Outcome::Skipped(Skip { what: package.name.to_owned(), reason, packages: vec![package] });
    }
    if ran.passed == 0 {
        return Outcome::Failed("the tests did not run".to_owned());
    }
    if !asked {
        let variable = package.variable.unwrap_or(packages::REQUIRE_ALL);
        return Outcome::Failed(format!("no test looks at {variable}: those for {} could skip unseen", package.name));
    }
    let without_excuse = |skip: &&Skip| skip.packages.contains(&package) && skip.packages.iter().all(|p| p.is_here());
    let idle: Vec<_> = ran.skipped.iter().filter(without_excuse).collect();
    if idle.is_empty() {
        return Outcome::Passed("its tests are among those above".to_owned());
    }
    let lines =
        idle.iter().map(|skip| format!("{} was skipped though {} is here: {}\n", skip.what, package.name, skip.reason));
    Outcome::Failed(lines.collect())
}

fn documentation() -> Command {
    let mut cargo = shell::cargo(&["doc", "--quiet", "--keep-going", "--workspace", "--no-deps"]);
    cargo.env("RUSTDOCFLAGS", "--deny warnings");
    cargo
}

fn replayed() -> Result<Outcome> {
    let summary = transcripts::replay(&[Path::new(TRANSCRIPTS).to_path_buf()])?;
    Ok(match summary.verdict() {
        Verdict::Good => Outcome::Passed(summary.in_short()),
        Verdict::Bad => Outcome::Failed(summary.to_string()),
    })
}

/// The cost of one of each, compared with the accepted counts: independent of what else the machine does.
fn counted(cases: gate::Cases) -> Outcome {
    if !gate::is_possible() {
        let (what, reason) = ("instructions".to_owned(), gate::WITHOUT.to_owned());
        return Outcome::Skipped(Skip { what, reason, packages: vec![packages::named("valgrind")] });
    }
    match gate::measure(cases) {
        Ok(gate) if gate.verdict() == Verdict::Good => Outcome::Passed(gate.in_short()),
        Ok(gate) => Outcome::Failed(gate.to_string()),
        Err(error) => Outcome::Failed(format!("{error:#}")),
    }
}

/// Checked, not run; with the workspace's target directory, so that shared dependencies are compiled once.
fn fuzz_targets() -> Command {
    let mut cargo = shell::cargo(&["check", "--quiet", "--manifest-path", FUZZ]);
    cargo.env("CARGO_TARGET_DIR", shell::target());
    cargo
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(passed: usize, without: Option<&'static Package>) -> libtest::Run {
        let skip = |package| Skip { what: "a::b".to_owned(), reason: "not here".to_owned(), packages: vec![package] };
        libtest::Run { passed, skipped: without.map(skip).into_iter().collect(), ..libtest::Run::default() }
    }

    #[test]
    fn a_test_that_skips_though_its_program_is_here_fails_the_step() {
        let here: &'static Package = Box::leak(Box::new(Package {
            name: "dash",
            shows: packages::Shows::Program("sh"),
            needed_for: "this test",
            variable: Some("NONE"),
        }));
        assert!(matches!(outside(here, true, &ran(1, None)), Outcome::Passed(_)));
        assert!(matches!(outside(here, true, &ran(0, None)), Outcome::Failed(_)));
        assert!(matches!(outside(here, false, &ran(1, None)), Outcome::Failed(_)));
        let Outcome::Failed(why) = outside(here, true, &ran(1, Some(here))) else { panic!("not failed") };
        assert!(why.contains("a::b was skipped though dash is here"), "{why}");
    }

    #[test]
    fn a_missing_program_skips_its_step_and_names_the_package() {
        let missing: &'static Package = Box::leak(Box::new(Package {
            name: "none",
            shows: packages::Shows::Program("no-such-program"),
            needed_for: "this test",
            variable: Some("NONE"),
        }));
        let Outcome::Skipped(skip) = outside(missing, true, &ran(1, None)) else { panic!("not skipped") };
        assert_eq!(skip.packages, [missing]);
        assert_eq!(skip.reason, "not installed; needed for this test");
    }

    #[test]
    fn an_error_and_a_panic_fail_a_step_and_no_more() {
        assert!(matches!(safely(|| anyhow::bail!("broken")), Outcome::Failed(why) if why == "broken"));
        assert!(matches!(safely(|| panic!("on purpose")), Outcome::Failed(_)));
    }
}
