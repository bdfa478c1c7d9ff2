//! The pictures of the documentation, made by the commands beside them. That they are current is a test of the
//! command line's (`crates/cli/tests/it/pictures.rs`).

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};

use crate::shell;

const PAGES: [&str; 2] = ["docs/report.md", "README.md"];
/// The prompts before a command's words.
const PROMPTS: [&str; 2] = ["    blksched ", "    cargo run --release -- "];

/// The separator where a command continues on the next line.
const CONTINUED: &str = " \\\n        ";

/// Makes the pictures again.
///
/// # Errors
/// If a command fails.
pub fn write() -> Result<()> {
    let read = |page| std::fs::read_to_string(shell::root().join(page)).with_context(|| format!("reading {page}"));
    let read = |page| read(page).map(|text| text.replace(CONTINUED, " "));
    let pages = PAGES.into_iter().map(read).collect::<Result<Vec<_>>>()?;
    // A command on several pages is run once.
    let lines: BTreeSet<&str> = pages.iter().flat_map(|page| commands(page)).collect();
    for line in lines {
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
    let words = |line| PROMPTS.into_iter().find_map(|prompt| str::strip_prefix(line, prompt));
    page.lines().filter_map(words).filter(|line| line.contains("--out docs/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_that_write_a_document_are_run() {
        let page = "    blksched compare --plot lba --out docs/a.svg\n    blksched compare --plot lba --out lba.svg\n\
                    text\n    cargo run --release -- compare --plot blame --out docs/b.svg\n";
        let expected = ["compare --plot lba --out docs/a.svg", "compare --plot blame --out docs/b.svg"];
        assert_eq!(commands(page).collect::<Vec<_>>(), expected);
        let long = format!("    blksched compare{CONTINUED}--plot lba --out docs/a.svg\n").replace(CONTINUED, " ");
        assert_eq!(commands(&long).collect::<Vec<_>>(), expected[..1]);
    }
}
