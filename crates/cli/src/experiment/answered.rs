//! An experiment that was run, as its renderings take it.

use std::time::Duration;

#[cfg(feature = "pictures")]
use blksched_report::{Against, Published, PublishedRow};
#[cfg(feature = "pictures")]
use blksched_simulate::experiment::RowAnswer;
use blksched_simulate::experiment::{Experiment, ExperimentAnswer, RunOutcome};

/// An experiment that was run.
pub(super) struct Answered {
    pub(super) experiment: Experiment,
    pub(super) seeds: u32,
    pub(super) outcomes: Vec<RunOutcome>,
    pub(super) answer: ExperimentAnswer,
    /// How long that took.
    pub(super) took: Duration,
}

impl Answered {
    pub(super) fn broken(&self) -> Vec<String> {
        self.answer.broken().map(|row| format!("{}: {}", self.experiment.name, row.label)).collect()
    }

    /// The experiment's part of a report.
    #[cfg(feature = "pictures")]
    pub(super) fn published(&self) -> Published {
        let number = |value: f64| value.is_finite().then_some(value);
        let row = |table: &str, row: &RowAnswer| PublishedRow {
            label: if table.is_empty() { row.label.clone() } else { format!("{table}: {}", row.label) },
            unit: row.unit.clone(),
            published: row.mail,
            ours: number(row.ours),
            spread: number(row.ours_min).zip(number(row.ours_max)),
            bound: row.low.zip(row.high),
            inside: row.inside,
            claimed: row.claimed,
        };
        let tables = self.answer.tables.iter();
        Published {
            against: Against::Published,
            name: self.experiment.name.clone(),
            source: self.experiment.source.clone(),
            rows: tables.flat_map(|table| table.rows.iter().map(|one| row(&table.title, one))).collect(),
            why: self.answer.why.clone(),
        }
    }
}
