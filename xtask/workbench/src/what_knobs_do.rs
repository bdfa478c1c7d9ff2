//! `what-knobs-do`: what each knob does, by simulation: crates/lab/src/effects/effects.csv has the figures, from
//! which docs/what-knobs-do.md and its pictures are made.
//!
//! Every value worth trying of every knob is run on some loads on some disks ([`probes`]), with the same seeds as the
//! default. Where a run is the same to the last command under all values, the knob has no effect; its words say why.

mod page;
mod picture;
mod probes;
mod runs;

use std::fs;

use anyhow::{Context, Result, anyhow, bail};
use blksched_lab::effects::{KnobRow, KnobTable};

use crate::Verdict;
use crate::shell;
use probes::{SUBJECTS, Subject};

const CSV: &str = "crates/lab/src/effects/effects.csv";
const PAGE: &str = "docs/what-knobs-do.md";

/// Renews the figures of these schedulers, or of all, the page and its pictures.
///
/// # Errors
/// If a scheduler is unknown, a run stands still, or a file cannot be read or written.
pub fn run(schedulers: &[String]) -> Result<Verdict> {
    let known = || SUBJECTS.iter().map(|subject| subject.name);
    if let Some(unknown) = schedulers.iter().find(|name| !known().any(|known| known == *name)) {
        bail!("{unknown}: expected one of {}", known().collect::<Vec<_>>().join(", "));
    }
    let is_asked = |subject: &Subject| schedulers.is_empty() || schedulers.iter().any(|name| name == subject.name);
    let old = read()?;
    let mut table = KnobTable::default();
    for subject in SUBJECTS {
        match is_asked(subject) {
            true => table.rows.extend(runs::rows(subject)?),
            false => table.rows.extend(old.rows.iter().filter(|row| row.scheduler == subject.name).cloned()),
        }
    }
    fs::write(shell::root().join(CSV), table.text()).with_context(|| format!("writing {CSV}"))?;
    println!("{CSV} written; `cargo xtask docs` makes {PAGE} and the pictures of it");
    Ok(Verdict::Good)
}

/// Measures two knobs anew, drawn by the figures themselves.
///
/// # Errors
/// As [`run`].
pub fn check() -> Result<Verdict> {
    let table = read()?;
    let mut good = true;
    for drawn in table.drawn() {
        let now = runs::anew(&drawn)?;
        let is_same = now == drawn;
        println!("{} {}: {}", drawn[0].scheduler, drawn[0].knob, if is_same { "as written" } else { "figures moved" });
        if !is_same {
            let text = |rows: &[KnobRow]| KnobTable { rows: rows.to_vec() }.text();
            println!("  written:\n{}  now:\n{}", text(&drawn), text(&now));
        }
        good &= is_same;
    }
    Ok(Verdict::when(good))
}

/// The file as it is, which is newer than what this program was built with.
fn read() -> Result<KnobTable> {
    let text = fs::read_to_string(shell::root().join(CSV)).with_context(|| format!("reading {CSV}"))?;
    KnobTable::read(&text).map_err(|error| anyhow!("{CSV}: {error}"))
}

/// The page that the figures make, and its pictures, for `docs --check`.
///
/// # Errors
/// If the figures cannot be read, or a picture cannot be drawn.
pub fn documents() -> Result<Vec<(String, String)>> {
    let table = read()?;
    let mut all = vec![(PAGE.to_owned(), page::of(&table))];
    all.extend(table.shown().iter().map(picture::of).collect::<Result<Vec<_>>>()?);
    Ok(all)
}
