//! `bless`: the current output becomes the expected one. A person must read the difference before it is committed.

use anyhow::Result;

use crate::shell;
use crate::{Verdict, workbench};

/// # Errors
/// If a test fails for another reason than a stale golden file.
pub fn run() -> Result<Verdict> {
    if workbench::run("docs", &[])? == Verdict::Bad {
        return Ok(Verdict::Bad);
    }
    let mut tests = shell::cargo(&["test", "--workspace", "--no-fail-fast"]);
    tests.env("BLESS", "1").env("INSTA_UPDATE", "always");
    shell::attached(tests)?;
    println!("what changed:");
    shell::attached(shell::command("git", &["status", "--short"]))?;
    Ok(Verdict::Good)
}
