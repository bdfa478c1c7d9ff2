//! `matrix`: renews docs/matrix.md and docs/matrix.csv from the program as it is, in one go and in some minutes.

use std::fs::{self, File};

use anyhow::{Context, Result};

use crate::Verdict;
use crate::shell;

const PAGE: &str = "docs/matrix.md";
const CSV: &str = "docs/matrix.csv";

/// # Errors
/// If the program does not build or run, or a file cannot be written.
pub fn run() -> Result<Verdict> {
    // Whatever goes wrong, the existing pages stay as they are.
    let [page, csv] = [PAGE, CSV].map(|file| shell::root().join(format!("{file}.new")));
    let csv_name = csv.to_string_lossy().into_owned();
    let mut command =
        shell::cargo(&["run", "--release", "--quiet", "-p", "blksched-cli", "--", "matrix", "--csv", &csv_name]);
    command.stdout(File::create(&page).with_context(|| format!("writing {}", page.display()))?);
    let done = shell::attached(command);
    for (new, file) in [(page, PAGE), (csv, CSV)] {
        match &done {
            Ok(()) => fs::rename(&new, shell::root().join(file)).with_context(|| format!("writing {file}"))?,
            Err(_) => drop(fs::remove_file(&new)),
        }
    }
    done?;
    println!("{PAGE} and {CSV} written");
    Ok(Verdict::Good)
}
