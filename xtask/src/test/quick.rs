//! `test --quick`: a short check during work. Format, style, and the unit tests of the crates that the uncommitted
//! change touches, or the last commit if nothing is changed; of all crates if the workspace's own manifest is touched.

use std::collections::BTreeSet;

use anyhow::Result;

use super::libtest;
use super::report::{Outcome, Report};
use crate::{Verdict, shell};

/// The developers' programs; only the first has a library, too.
const PROGRAMS: [&str; 3] = ["xtask", "tidy", "workbench"];

/// The crates whose unit tests are run.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Crates {
    All,
    These(BTreeSet<String>),
}

/// Runs the steps, with a line each.
///
/// # Errors
/// If the repository's root is not there; anything else that goes wrong is a failing step.
pub fn run() -> Result<Verdict> {
    std::env::set_current_dir(shell::root())?;
    let mut report = Report::default();
    report.step("format", super::formatted);
    report.step("tidy", super::tidied);
    let crates = touched();
    let mut ran = libtest::Run::default();
    report.step("unit tests", || tests(&crates, &mut ran));
    Ok(super::finish(report, ran))
}

fn tests(crates: &Crates, ran: &mut libtest::Run) -> Outcome {
    if *crates == Crates::These(BTreeSet::new()) {
        return Outcome::Passed("no crate is touched, so none is tested".to_owned());
    }
    match (super::tests(&selection(crates), ran), crates) {
        (Outcome::Passed(note), Crates::These(names)) => {
            Outcome::Passed(format!("{note}; of {}", names.iter().cloned().collect::<Vec<_>>().join(", ")))
        }
        (outcome, _) => outcome,
    }
}

/// What git reports for the working tree, or for the last commit if nothing is changed; all crates if it reports
/// nothing.
fn touched() -> Crates {
    let ask = |arguments: &[&str]| shell::capture(shell::command("git", arguments)).ok().filter(|said| said.good);
    let changed = ask(&["diff", "--name-only", "HEAD"]);
    let added = ask(&["ls-files", "--others", "--exclude-standard"]);
    let Some((changed, added)) = changed.zip(added) else { return Crates::All };
    let uncommitted = changed.output + &added.output;
    if !uncommitted.trim().is_empty() {
        return of_paths(uncommitted.lines());
    }
    // The very first commit has no parent, and a shallow clone may not have it.
    ask(&["diff", "--name-only", "HEAD^", "HEAD"]).map_or(Crates::All, |last| of_paths(last.output.lines()))
}

/// The packages that these files belong to. Documents, experiments and recordings have no unit tests.
fn of_paths<'a>(paths: impl Iterator<Item = &'a str>) -> Crates {
    let mut names = BTreeSet::new();
    for path in paths {
        let mut parts = path.split('/');
        match (parts.next(), parts.next()) {
            (Some("crates"), Some("blksched")) => drop(names.insert("blksched".to_owned())),
            (Some("crates"), Some(folder)) => drop(names.insert(format!("blksched-{folder}"))),
            (Some("xtask"), Some(program @ ("tidy" | "workbench"))) => drop(names.insert(program.to_owned())),
            (Some("xtask"), _) => drop(names.insert("xtask".to_owned())),
            // The workspace's own, with which all crates are built.
            (Some("Cargo.toml" | "Cargo.lock"), None) => return Crates::All,
            _ => {}
        }
    }
    Crates::These(names)
}

/// In cargo's syntax. The developers' programs are tested, too.
fn selection(crates: &Crates) -> Vec<&str> {
    let Crates::These(names) = crates else { return vec!["--workspace", "--lib"] };
    let packages = names.iter().flat_map(|name| ["--package", name.as_str()]);
    let programs = names.iter().filter(|name| PROGRAMS.contains(&name.as_str()));
    let programs = programs.flat_map(|name| ["--bin", name.as_str()]);
    let libraries = names.iter().any(|name| !PROGRAMS[1..].contains(&name.as_str())).then_some("--lib");
    packages.chain(programs).chain(libraries).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(paths: &[&str]) -> String {
        selection(&of_paths(paths.iter().copied())).join(" ")
    }

    #[test]
    fn a_change_is_tested_where_it_is() {
        assert_eq!(said(&["crates/disks/src/lib.rs", "docs/disks.md"]), "--package blksched-disks --lib");
        let two = "--package blksched --package xtask --bin xtask --lib";
        assert_eq!(said(&["crates/blksched/src/time.rs", "xtask/src/main.rs"]), two);
        assert_eq!(said(&["xtask/src/main.rs"]), "--package xtask --bin xtask --lib");
        assert_eq!(said(&["xtask/workbench/src/main.rs"]), "--package workbench --bin workbench");
    }

    #[test]
    fn everything_is_tested_if_what_all_are_built_with_changes() {
        assert_eq!(said(&["crates/disks/src/lib.rs", "Cargo.lock"]), "--workspace --lib");
    }

    #[test]
    fn a_change_of_documents_alone_tests_no_crate() {
        let none = of_paths(["README.md", "docs/disks.md"].into_iter());
        let outcome = tests(&none, &mut libtest::Run::default());
        assert!(matches!(&outcome, Outcome::Passed(note) if note.contains("none is tested")));
    }
}
