//! `audit`: licences and advisories of the dependencies, checked by cargo deny against `deny.toml`.

use anyhow::Result;

use crate::Verdict;
use crate::shell;

/// # Errors
/// If cargo deny finds something.
pub fn run() -> Result<Verdict> {
    if !shell::capture(shell::cargo(&["deny", "--version"])).is_ok_and(|deny| deny.good) {
        println!("cargo-deny is not installed; `cargo install --locked cargo-deny` gets it, then run this again");
        return Ok(Verdict::Bad);
    }
    shell::attached(shell::cargo(&["deny", "--all-features", "check"]))?;
    Ok(Verdict::Good)
}
