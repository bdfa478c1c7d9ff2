//! `interface [REV]`: changes of the library's promised interface since a commit, by cargo semver-checks.
//!
//! Promised is what the library shows without features. `elevator-author` shows more, which may change with any
//! release, so it is not compared.
//!
//! Nothing is released yet, so no step of `test` runs it: until 0.1.0 is on crates.io, a change of the interface is a
//! line of CHANGELOG.md and not an error. From the first tag on it compares with the last one, before that with
//! [`FIRST`].

use anyhow::{Context, Result};

use crate::Verdict;
use crate::shell;

/// The interface as it stood on 2026-11-29, before any release, without the 35 names that went behind `elevator-author`
/// on that day (policies' and tags' insides, values of groups' files, tables of releases).
const FIRST: &str = "d60e0f9a34920939b2a65545f5c63d9eb7e85020";

/// Compares the working tree with `revision`, or with the last release tag, or with [`FIRST`].
///
/// # Errors
/// If git or cargo cannot be started.
pub fn run(revision: Option<&str>) -> Result<Verdict> {
    if !shell::capture(shell::cargo(&["semver-checks", "--version"])).is_ok_and(|tool| tool.good) {
        println!(
            "skipped: cargo-semver-checks is not installed; `cargo install --locked cargo-semver-checks` gets it, \
             then run this again"
        );
        return Ok(Verdict::Good);
    }
    let baseline = match revision {
        Some(revision) => revision.to_owned(),
        None => last_release()?.unwrap_or_else(|| FIRST.to_owned()),
    };
    let mut check = shell::cargo(&["semver-checks", "--package", "blksched", "--only-explicit-features"]);
    // Nothing is published: both sides have one version, so every difference that a user could notice is to be told.
    check.args(["--release-type", "patch", "--baseline-rev", &baseline]);
    let status = check.status().context("starting cargo semver-checks")?;
    Ok(Verdict::when(status.success()))
}

/// The last release tag before this commit.
fn last_release() -> Result<Option<String>> {
    let said = shell::capture(shell::command("git", &["describe", "--tags", "--abbrev=0", "--match", "v*"]))?;
    Ok(said.good.then(|| said.output.trim().to_owned()))
}
