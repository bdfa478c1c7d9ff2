//! The other programs of the developers': `workbench` has the verbs that simulate or measure, and so is linked with the
//! library; `tidy` reads Rust. Each is built when it is called.

use std::ffi::OsString;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{Verdict, shell};

/// Builds this program. As part of the workspace: with the same features as in its tests, so that nothing is compiled
/// twice.
///
/// # Errors
/// If it does not build.
fn built(program: &str) -> Result<Command> {
    let status = shell::cargo(&["build", "--quiet", "--workspace", "--bin", program]).status();
    if !status.context("starting cargo")?.success() {
        bail!("building {program} failed");
    }
    let mut command = Command::new(shell::target().join("debug").join(program));
    // What cargo tells a program that it runs: where this workspace is.
    command.env("CARGO_MANIFEST_DIR", shell::root().join("xtask"));
    Ok(command)
}

/// Runs one of the verbs, with our terminal, where we are.
///
/// # Errors
/// If the program does not build or cannot be started.
pub fn run(verb: &str, words: &[OsString]) -> Result<Verdict> {
    let mut command = built("workbench")?;
    command.arg(verb).args(words);
    let status = command.status().with_context(|| format!("starting {}", shell::shown(&command)))?;
    Ok(Verdict::when(status.success()))
}

/// Checks the style rules.
///
/// # Errors
/// As [`run`].
pub fn tidy() -> Result<Verdict> {
    let status = built("tidy")?.status().context("starting tidy")?;
    Ok(Verdict::when(status.success()))
}

/// The same, for a caller who wants the output.
///
/// # Errors
/// As [`run`].
pub fn tidied() -> Result<shell::Finished> {
    shell::capture(built("tidy")?)
}
