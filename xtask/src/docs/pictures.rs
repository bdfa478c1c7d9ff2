//! The pictures of the documentation, made by the commands beside them. That they are current is a test of the
//! command line's (`crates/cli/tests/pictures.rs`).

use anyhow::{Context, Result, bail};

use crate::shell;

const PAGE: &str = "docs/report.md";

/// Makes them anew.
///
/// # Errors
/// If a command fails.
pub fn write() -> Result<()> {
    let page = std::fs::read_to_string(shell::root().join(PAGE)).with_context(|| format!("reading {PAGE}"))?;
    for line in commands(&page) {
        let words: Vec<&str> = line.split(' ').collect();
        let mut cargo = shell::cargo(&["run", "--quiet", "--package", "blksched-cli", "--"]);
        cargo.args(&words).current_dir(shell::root());
        let finished = shell::capture(cargo)?;
        if !finished.good {
            bail!("{line}: {}", finished.output);
        }
        println!("{} made", words.last().copied().unwrap_or_default());
    }
    Ok(())
}

/// Commands that write below `docs/`.
fn commands(page: &str) -> impl Iterator<Item = &str> {
    page.lines().filter_map(|line| line.strip_prefix("    blksched ")).filter(|line| line.contains("--out docs/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_that_write_a_document_are_run() {
        let page =
            "    blksched compare --plot lba --out docs/a.svg\n    blksched compare --plot lba --out lba.svg\ntext\n";
        assert_eq!(commands(page).collect::<Vec<_>>(), ["compare --plot lba --out docs/a.svg"]);
    }
}
