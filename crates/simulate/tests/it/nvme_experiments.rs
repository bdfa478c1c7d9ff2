//! The two experiments about published tables of fast drives (`testdata/nvme/tables`): a few of their cheaper runs
//! here, all of them in the slow tier. A row is marked as claimed if it came out inside its bound when the whole was
//! run; what that printed is beside them.

use std::path::PathBuf;

use blksched::Catalogue;
use blksched_simulate::experiment::{Experiment, RunOutcome};

fn file(name: &str) -> String {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/nvme/tables"));
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn parse(name: &str, text: &str) -> Experiment {
    let read = |beside: &str| -> Result<String, String> { Ok(file(beside)) };
    Experiment::parse(name, &format!("{name}.toml"), text, &Catalogue::builtin(), &read).unwrap()
}

/// Only these of its runs, with their rows; and no reasons, which speak of others.
fn only(name: &str, runs: &[&str]) -> Experiment {
    let text = file(&format!("{name}.toml"));
    let names_one = |line: &str, key: &str| runs.iter().any(|run| line.contains(&format!("{key} = \"{run}\"")));
    let is_wanted = |part: &&str| match part.lines().next() {
        Some("[[run]]") => names_one(part, "name"),
        Some("[[why]]") => false,
        _ => true,
    };
    let is_row = |line: &&str| !line.starts_with("  { ") || names_one(line, "run");
    let parts = text.split("\n\n").filter(is_wanted);
    let parts: Vec<String> = parts.map(|part| part.lines().filter(is_row).collect::<Vec<_>>().join("\n")).collect();
    parse(name, &parts.join("\n\n"))
}

/// Every row is inside its bound if it is claimed, and otherwise not; so many rows.
fn as_marked(experiment: &Experiment) -> usize {
    let simulate = |(run, seed): (usize, u64)| experiment.runs[run].simulate(seed).unwrap();
    let outcomes: Vec<RunOutcome> = experiment.simulations(1).into_iter().map(simulate).collect();
    let answer = experiment.answer(&outcomes);
    let rows = answer.rows().filter(|row| row.inside.is_some());
    rows.inspect(|row| assert_eq!(row.inside, Some(row.claimed), "{}: {}, {:?}", row.label, row.ours, row.mail)).count()
}

#[test]
fn settings_of_io_cost_give_a_reader_beside_eight_what_was_marked() {
    let runs = ["min 10, model 0.5, rlat 25, weight 1", "min 10, model 0.125, rlat 25, weight 10"];
    assert_eq!(as_marked(&only("isol-iocost", &runs)), 2 * runs.len());
}

#[test]
fn kybers_targets_give_a_reader_beside_a_writer_what_was_marked() {
    let runs = ["both deep: 0, 10ms", "both deep: 1s, 0", "one deep: 0, 0", "one deep: 50us, 10ms"];
    assert_eq!(as_marked(&only("kyber-targets", &runs)), 3 * runs.len());
}

#[test]
#[ignore = "slow: minutes of simulated I/O on fast drives"]
fn every_row_of_both_tables_is_as_marked() {
    let rows = ["isol-iocost", "kyber-targets"].map(|name| as_marked(&parse(name, &file(&format!("{name}.toml")))));
    assert_eq!(rows, [2 * 27, 3 * 31]);
}
