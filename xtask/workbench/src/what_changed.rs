//! `what-changed`: what an upgrade from one long-term kernel to the next does to a load, by simulation, and the rule
//! that does it: docs/what-changed.csv has the figures, docs/what-changed.md is made from them.
//!
//! A difference counts if five seeds show it beyond chance (Holm over the figures of its comparison) and five others
//! show it again; the figures are those of the others. Its rule is found by switching each mechanism that differs alone
//! ([`rules`]).

pub mod page;
mod rules;
pub(crate) mod runs;
mod steps;
mod table;

use std::fs;

use anyhow::{Context, Result, bail};

use crate::Verdict;
use crate::shell;
use runs::Lane;
use table::{Row, Table};

const CSV: &str = "docs/what-changed.csv";
const PAGE: &str = "docs/what-changed.md";

/// The schedulers that several of these kernels have.
const SCHEDULERS: [&str; 3] = ["mq-deadline", "kyber", "bfq"];
/// Kernels with long-term support, and the newest that was recorded.
const KERNELS: [&str; 8] = ["4.19", "5.10", "5.15", "6.1", "6.6", "6.12", "6.18", "7.3"];
/// Built-in workloads without control groups: recordings of groups begin with 6.1.
const LOADS: [&str; 6] = ["beside-a-backup", "scrub", "priorities", "pg-oltp", "interleaved", "mixed-nvme"];
/// Spinning, flash with one queue, flash with many.
const DISKS: [&str; 3] = ["hdd-7200", "sata-ssd", "nvme-ssd"];

/// Renews the figures of these schedulers, or of all, and the page.
///
/// # Errors
/// If a scheduler is unknown, a run stands still, or a file cannot be read or written.
pub fn run(schedulers: &[String]) -> Result<Verdict> {
    if let Some(unknown) = schedulers.iter().find(|name| !SCHEDULERS.contains(&name.as_str())) {
        bail!("{unknown}: expected one of {}", SCHEDULERS.join(", "));
    }
    let is_asked = |scheduler: &str| schedulers.is_empty() || schedulers.iter().any(|name| name == scheduler);
    let old = if shell::root().join(CSV).is_file() { Table::read(&csv()?)? } else { Table::default() };
    let mut rows: Vec<Row> = Vec::new();
    for scheduler in SCHEDULERS {
        if !is_asked(scheduler) {
            rows.extend(old.rows.iter().filter(|row| row.scheduler == scheduler).cloned());
            continue;
        }
        for load in LOADS {
            for disk in DISKS {
                eprintln!("{scheduler}, {load} on {disk}");
                rows.extend(Lane::load(scheduler, load, disk)?.rows()?);
            }
        }
    }
    let table = Table { rows };
    for (file, text) in [(CSV, table.text()), (PAGE, page::of(&table))] {
        fs::write(shell::root().join(file), text).with_context(|| format!("writing {file}"))?;
        println!("{file} written");
    }
    Ok(Verdict::Good)
}

/// Measures two cells anew, drawn by the figures themselves: one with a difference and one without. Their rules are not
/// sought again.
///
/// # Errors
/// As [`run`].
pub fn check() -> Result<Verdict> {
    let table = Table::read(&csv()?)?;
    let mut good = true;
    for row in table.drawn() {
        let row = row.without_rules();
        let now = Lane::load(&row.scheduler, &row.load, &row.disk)?.row(&row.from, &row.to)?;
        let (is_same, holds) = (now == row, row.still_holds(&now));
        let word = match (is_same, holds) {
            (true, _) => "as written",
            (false, true) => "figures moved, the page still holds; `cargo xtask what-changed` renews it",
            (false, false) => "no longer true; `cargo xtask what-changed` renews the page",
        };
        println!("{}: {word}\n  written: {}\n  now:     {}", row.name(), row.text(), now.text());
        good &= holds;
    }
    Ok(Verdict::when(good))
}

fn csv() -> Result<String> {
    fs::read_to_string(shell::root().join(CSV)).with_context(|| format!("reading {CSV}"))
}

/// The page that the figures make, for `docs --check`.
///
/// # Errors
/// If the figures cannot be read.
pub fn document() -> Result<(String, String)> {
    Ok((PAGE.to_owned(), page::of(&Table::read(&csv()?)?)))
}
