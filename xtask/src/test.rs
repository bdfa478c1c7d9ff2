//! `test`: all checks, in order. A failing step does not stop the next; a step that cannot run here is skipped by name,
//! with the missing Debian package. Without `--install` nothing is changed outside the target folder. Tests that take
//! long or need root belong to a [`Tier`] and run only on request; what would be compiled again, with other features,
//! in another profile or from packaged files, is checked as cheaply as it can be, and wholly with [`Tier::Slow`].

mod budget;
mod ignored;
pub mod libtest;
mod nextest;
pub mod packages;
mod publish;
pub mod quick;
pub mod report;
mod steps;
mod tier;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

use anyhow::{Result, bail};

use crate::{Verdict, shell, workbench};
use libtest::{Run, Skip};
use packages::Package;
use report::{Outcome, Report};
use steps::{STEPS, Scope};
pub use tier::Tier;

/// What may be done to the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// Nothing outside the target folder.
    LeaveAlone,
    /// Install what is missing.
    Install,
}

/// Everything, and the tests of these tiers; or only the steps with these names.
///
/// # Errors
/// If cargo does not know the workspace, or no step has such a name; anything else that goes wrong is a failing step.
pub fn run(machine: Machine, tiers: &[Tier], only: &[String]) -> Result<Verdict> {
    std::env::set_current_dir(shell::root())?;
    if let Some(unknown) = only.iter().find(|&name| STEPS.iter().all(|step| step.name != name)) {
        let names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        bail!("there is no step `{unknown}`: expected one of {}", names.join(", "));
    }
    let asked = |name: &str| only.is_empty() || only.iter().any(|one| one == name);
    let mut scope = Scope { machine, slow: tiers.contains(&Tier::Slow), ran: Run::default() };
    let mut report = Report::default();
    for step in STEPS.iter().filter(|step| asked(step.name)) {
        if (step.when)(&scope) {
            report.step(step.name, || (step.run)(&mut scope));
        }
    }
    for tier in tiers.iter().filter(|tier| asked(tier.step())) {
        report.step(tier.step(), || tier.run(&mut scope.ran));
    }
    Ok(finish(report, scope.ran))
}

/// The end of a run: what was slow, what was skipped, and the counts.
fn finish(mut report: Report, ran: Run) -> Verdict {
    report.tests(ran);
    println!("\n{}", report.summary());
    Verdict::when(report.is_good())
}

/// Prints the steps: what each checks, how long it may take, and took last.
///
/// # Errors
/// If the budgets cannot be read.
pub fn list() -> Result<Verdict> {
    let (budgets, last) = (budget::read()?, budget::last());
    println!("{:<22} {:>8} {:>8}  checks", "step", "budget s", "last s");
    let tiers = [Tier::Slow, Tier::Root].map(|tier| (tier.step(), tier.about()));
    for (name, about) in STEPS.iter().map(|step| (step.name, step.about)).chain(tiers) {
        let seconds = |of: Option<&f64>| of.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.0}"));
        println!("{name:<22} {:>8} {:>8}  {about}", seconds(budgets.get(name)), seconds(last.get(name)));
    }
    Ok(Verdict::Good)
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

/// All of these, until one fails.
fn commands(all: impl IntoIterator<Item = Command>) -> Outcome {
    let failed = all.into_iter().map(command).find(|outcome| matches!(outcome, Outcome::Failed(_)));
    failed.unwrap_or_else(|| Outcome::Passed(String::new()))
}

/// A step within this process: an error or a panic there fails the step, not the run.
fn safely(step: fn() -> Result<Outcome>) -> Outcome {
    match catch_unwind(AssertUnwindSafe(step)) {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => Outcome::Failed(format!("{error:#}")),
        Err(_) => Outcome::Failed("panicked; the message stands above".to_owned()),
    }
}

fn tidied() -> Outcome {
    match workbench::tidied() {
        Ok(finished) if finished.good => Outcome::Passed(finished.output.trim().replace('\n', "; ")),
        Ok(finished) => Outcome::Failed(finished.output),
        Err(error) => Outcome::Failed(format!("{error:#}")),
    }
}

fn formatted() -> Outcome {
    component("rustfmt", "fmt", &["fmt", "--all", "--check", "--", "--color", "never"])
}

/// Builds the tests of cargo's `selection`.
fn built(selection: &[&str]) -> Outcome {
    command(shell::cargo(&[&["test", "--quiet", "--no-run"], selection].concat()))
}

/// The tests of cargo's `selection`, with the installed outside programs: by nextest, which runs programs side by side,
/// or else by cargo.
fn tests(selection: &[&str], ran: &mut Run) -> Outcome {
    // Built first, so that the time limit of the run is the tests' own.
    if let failed @ Outcome::Failed(_) = built(selection) {
        return failed;
    }
    let finished = if nextest::is_here() { nextest::run(selection) } else { libtest::run(selection) };
    let (good, run) = match finished {
        Ok(finished) => finished,
        Err(error) => return Outcome::Failed(format!("{error:#}")),
    };
    *ran = run;
    match (good, ran.passed) {
        (true, 0) => Outcome::Failed(format!("no test ran\n{}", ran.digest)),
        (true, passed) => {
            let how =
                if ran.times.is_empty() { ", one program after the other: there is no cargo-nextest" } else { "" };
            Outcome::Passed(format!("{passed} tests, {} skipped{how}", ran.skipped.len()))
        }
        (false, _) => Outcome::Failed(ran.failure()),
    }
}

/// Tests with an outside program are ordinary tests and have already run. This checks whether they could, and whether
/// there are any.
fn outside(package: &'static Package, asked: bool, ran: &Run) -> Outcome {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(passed: usize, without: Option<&'static Package>) -> Run {
        let skip = |package| Skip { what: "a::b".to_owned(), reason: "not here".to_owned(), packages: vec![package] };
        Run { passed, skipped: without.map(skip).into_iter().collect(), ..Run::default() }
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
        assert!(matches!(safely(|| bail!("broken")), Outcome::Failed(why) if why == "broken"));
        assert!(matches!(safely(|| panic!("on purpose")), Outcome::Failed(_)));
    }

    #[test]
    fn a_step_that_does_not_exist_is_named_with_those_that_do() {
        let error = run(Machine::LeaveAlone, &[], &["clipy".to_owned()]).unwrap_err().to_string();
        assert!(error.starts_with("there is no step `clipy`: expected one of ") && error.contains("clippy"), "{error}");
    }
}
