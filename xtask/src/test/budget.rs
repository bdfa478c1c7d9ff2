//! How long each step may take, and took last.
//!
//! `xtask/budgets.toml` holds the budgets \[s\]: on two cores with nothing else running, from an empty target folder. A
//! step that takes more than [`OVER`] times as long is named at the end of a run. It does not fail: no check depends on
//! how fast a machine is.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::shell;

const BUDGETS: &str = "xtask/budgets.toml";
/// What a step may take of its budget before it is named.
pub const OVER: f64 = 1.5;

/// The budgets, by step \[s\].
///
/// # Errors
/// If the file cannot be read.
pub fn read() -> Result<BTreeMap<String, f64>> {
    let text = fs::read_to_string(shell::root().join(BUDGETS)).with_context(|| format!("reading {BUDGETS}"))?;
    parse(&text).with_context(|| format!("reading {BUDGETS}"))
}

fn parse(text: &str) -> Result<BTreeMap<String, f64>> {
    let table: toml::Table = text.parse()?;
    let number = |(name, value): (String, toml::Value)| {
        let seconds = value.as_integer().with_context(|| format!("{name}: expected whole seconds, found {value:?}"))?;
        Ok((name, seconds as f64))
    };
    table.into_iter().map(number).collect()
}

/// What steps took when they last ran here \[s\]; empty if none has.
pub fn last() -> BTreeMap<String, f64> {
    let lines = fs::read_to_string(kept()).unwrap_or_default();
    lines
        .lines()
        .filter_map(|line| line.split_once('\t')?.1.parse().ok().zip(line.split('\t').next()))
        .map(named)
        .collect()
}

fn named((seconds, name): (f64, &str)) -> (String, f64) {
    (name.to_owned(), seconds)
}

/// Remembers what a step took.
pub fn keep(step: &str, seconds: f64) {
    let mut all = last();
    all.insert(step.to_owned(), seconds);
    let lines: String = all.iter().map(|(name, seconds)| format!("{name}\t{seconds:.1}\n")).collect();
    // Only for people: without it `--list` tells less.
    let _ = kept().parent().map(fs::create_dir_all);
    let _ = fs::write(kept(), lines);
}

fn kept() -> PathBuf {
    shell::target().join("xtask/seconds.tsv")
}

/// The steps that took too long, a line each.
pub fn over(took: &[(&str, f64)], budgets: &BTreeMap<String, f64>) -> Vec<String> {
    let line = |&(step, seconds): &(&str, f64)| {
        let budget = budgets.get(step).filter(|budget| seconds > OVER * **budget)?;
        Some(format!("over its budget: {step}: {seconds:.0} s of {budget:.0} s"))
    };
    took.iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_named_above_one_and_a_half_times_its_budget() {
        let budgets = parse("clippy = 100\n\"all tests\" = 10\n").unwrap();
        let took = [("clippy", 149.9), ("all tests", 15.0), ("another", 1e9)];
        assert_eq!(over(&took, &budgets), Vec::<String>::new());
        assert_eq!(over(&[("clippy", 150.1)], &budgets), ["over its budget: clippy: 150 s of 100 s"]);
    }

    #[test]
    fn a_budget_that_is_no_number_is_named() {
        let error = format!("{:#}", parse("clippy = \"soon\"\n").unwrap_err());
        assert_eq!(error, "clippy: expected whole seconds, found String(\"soon\")");
    }
}
