//! The steps of `test`, in order: one table, from which the run, `--only` and `--list` are made.

use super::libtest::{self, Run, Skip};
use super::packages::{self, Installed, PACKAGES};
use super::report::Outcome;
use super::{Machine, command, commands, component, formatted, ignored, nextest, outside, publish, safely, tidied};
use crate::{gate, python, shell};

/// The fuzz targets: a package outside the workspace.
const FUZZ: &str = "fuzz/Cargo.toml";

/// A step.
pub struct Step {
    /// Its name, in reports, budgets and `--only`.
    pub name: &'static str,
    /// What it checks.
    pub about: &'static str,
    /// Whether it is part of this run.
    pub when: fn(&Scope) -> bool,
    /// Runs it.
    pub run: fn(&mut Scope) -> Outcome,
}

/// What the steps of a run share.
pub struct Scope {
    /// What may be done to the machine.
    pub machine: Machine,
    /// Whether what is slow is asked for.
    pub slow: bool,
    /// The tests so far.
    pub ran: Run,
}

/// All of them.
pub const STEPS: &[Step] = &[
    Step { name: "install", about: "Debian's packages, rustup's components, cargo-nextest", when: may, run: install },
    Step { name: "tools of PyPI", about: "what Python's tests need", when: may, run: |_| python::tools() },
    Step { name: "format", about: "rustfmt", when: always, run: |_| formatted() },
    Step { name: "tidy", about: "the style rules that matter", when: always, run: |_| tidied() },
    Step { name: "clippy", about: "lints of everything in the workspace", when: always, run: |_| clippy() },
    Step { name: "build", about: "everything that tests run, once", when: always, run: |_| build() },
    Step { name: "tests", about: "all tests but those of slower tiers", when: always, run: all_tests },
    Step { name: "doctests", about: "the examples of the documentation", when: always, run: |_| doctests() },
    Step { name: "outside programs", about: "that no test missed a program", when: always, run: outside_programs },
    Step { name: "python", about: "Python's package and its tests", when: always, run: python_package },
    Step { name: "documentation", about: "rustdoc: its links and lints", when: always, run: documentation },
    Step { name: "instructions", about: "counts of the gate's cases", when: always, run: instructions },
    Step { name: "packages", about: "what would go to crates.io", when: always, run: crates },
    Step { name: "fuzz targets", about: "that they compile", when: has_fuzz, run: |_| fuzz_targets() },
    Step { name: "features", about: "each crate with its features off", when: slow, run: |_| features() },
    Step { name: "release", about: "the release program", when: slow, run: |_| release() },
];

fn always(_: &Scope) -> bool {
    true
}

fn may(scope: &Scope) -> bool {
    scope.machine == Machine::Install
}

fn slow(scope: &Scope) -> bool {
    scope.slow
}

fn has_fuzz(_: &Scope) -> bool {
    shell::root().join(FUZZ).is_file()
}

fn install(_: &mut Scope) -> Outcome {
    let nextest = nextest::install();
    match packages::install() {
        Ok(Installed::All(note)) => Outcome::Passed(format!("{note}; {nextest}")),
        Ok(Installed::NotHere(reason)) => {
            Outcome::Skipped(Skip { what: "install".to_owned(), reason, packages: vec![] })
        }
        Err(error) => Outcome::Failed(format!("{error:#}")),
    }
}

fn clippy() -> Outcome {
    let words = ["clippy", "--quiet", "--keep-going", "--workspace", "--all-targets", "--", "--deny", "warnings"];
    component("clippy", "clippy", &words)
}

/// In one profile and with one set of features: tests and their programs, and what Python loads. (Libraries alone would
/// be built without the features that tests ask for, and so would others' crates once more.)
fn build() -> Outcome {
    command(shell::cargo(&python::BUILD))
}

fn all_tests(scope: &mut Scope) -> Outcome {
    super::tests(&["--workspace"], &mut scope.ran)
}

fn doctests() -> Outcome {
    match libtest::documented() {
        Ok((true, ran)) => Outcome::Passed(format!("{} examples", ran.passed)),
        Ok((false, ran)) => Outcome::Failed(ran.failure()),
        Err(error) => Outcome::Failed(format!("{error:#}")),
    }
}

/// Of every package that ordinary tests need.
fn outside_programs(scope: &mut Scope) -> Outcome {
    let mut used = Vec::new();
    let sources: Vec<String> = match ignored::sources() {
        Ok(sources) => sources.into_iter().map(|(_, text)| text).collect(),
        Err(error) => return Outcome::Failed(format!("{error:#}")),
    };
    for (package, variable) in PACKAGES.iter().filter_map(|package| Some((package, package.variable?))) {
        let asked = sources.iter().any(|text| text.contains(variable) || text.contains(packages::REQUIRE_ALL));
        match outside(package, asked, &scope.ran) {
            Outcome::Passed(_) => used.push(package.name),
            Outcome::Skipped(skip) => scope.ran.skipped.push(skip),
            failed @ Outcome::Failed(_) => return failed,
        }
    }
    Outcome::Passed(used.join(", "))
}

fn python_package(scope: &mut Scope) -> Outcome {
    let suite = if scope.slow { python::Suite::Slow } else { python::Suite::Usual };
    python::step(scope.machine == Machine::Install, suite)
}

fn documentation(_: &mut Scope) -> Outcome {
    let mut cargo = shell::cargo(&["doc", "--quiet", "--keep-going", "--workspace", "--no-deps"]);
    cargo.env("RUSTDOCFLAGS", "--deny warnings");
    command(cargo)
}

/// The cost of one of each, compared with the accepted counts: independent of what else the machine does.
fn instructions(scope: &mut Scope) -> Outcome {
    if !gate::is_possible() {
        let (what, reason) = ("instructions".to_owned(), gate::WITHOUT.to_owned());
        return Outcome::Skipped(Skip { what, reason, packages: vec![packages::named("valgrind")] });
    }
    match gate::measure(if scope.slow { gate::Cases::All } else { gate::Cases::Chosen }) {
        Ok(gate) if gate.verdict() == crate::Verdict::Good => Outcome::Passed(gate.in_short()),
        Ok(gate) => Outcome::Failed(gate.to_string()),
        Err(error) => Outcome::Failed(format!("{error:#}")),
    }
}

fn crates(scope: &mut Scope) -> Outcome {
    safely(if scope.slow { publish::built } else { publish::listed })
}

/// Checked, not run; with the workspace's target directory, so that shared dependencies are compiled once. Nothing is
/// linked, so libFuzzer itself is not built: the variable says that there is one.
fn fuzz_targets() -> Outcome {
    let mut cargo = shell::cargo(&["check", "--quiet", "--manifest-path", FUZZ]);
    cargo.env("CARGO_TARGET_DIR", shell::target()).env("CUSTOM_LIBFUZZER_PATH", "/none/libFuzzer.a");
    command(cargo)
}

/// What an embedder, a small program and Python's wheel are built of.
fn features() -> Outcome {
    let check = |words: &[&str]| shell::cargo(&[&["check", "--quiet"], words].concat());
    commands([
        check(&["--package", "blksched", "--no-default-features", "--lib"]),
        check(&["--package", "blksched-cli", "--no-default-features"]),
        check(&["--package", "blksched-python"]),
    ])
}

fn release() -> Outcome {
    command(shell::cargo(&["build", "--quiet", "--release", "--package", "blksched-cli", "--bin", "blksched"]))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::test::Tier;

    #[test]
    fn every_step_has_a_name_of_its_own_and_a_budget() {
        let names: BTreeSet<&str> =
            STEPS.iter().map(|step| step.name).chain([Tier::Slow.step(), Tier::Root.step()]).collect();
        assert_eq!(names.len(), STEPS.len() + 2);
        let budgets = crate::test::budget::read().unwrap();
        assert_eq!(budgets.keys().map(String::as_str).collect::<BTreeSet<_>>(), names);
    }
}
