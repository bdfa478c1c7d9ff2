//! An experiment: what is run, what is measured, what was published, and what is claimed.

use std::collections::BTreeSet;

use blksched_disks::preset_of;

use super::expression::{Expression, fits};
use super::scene::Scene;

/// An experiment, read and checked.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its directory's name.
    pub name: String,
    /// Its subject.
    pub title: String,
    /// Who published the numbers, when and where.
    pub source: String,
    /// The number of seeds.
    pub seeds: u32,
    /// The first seed.
    pub first_seed: u64,
    /// The name of a machine that it shares with other experiments.
    pub machine: Option<String>,
    /// The rate of the machine's timer interrupts [1/s].
    pub timer: u32,
    /// Values chosen because they fit.
    pub fits: Vec<FittedSetting>,
    /// Values given by the source.
    pub given: Vec<FittedSetting>,
    /// Values that no source gives, chosen before a result had been seen or regardless of it.
    pub assumed: Vec<FittedSetting>,
    /// The runs.
    pub runs: Vec<ExperimentRun>,
    /// The tables.
    pub tables: Vec<TableSpec>,
    /// Output in the source's own layout: line breaks are kept, and numbers are the first seed's.
    pub shows: Vec<Sentence>,
    /// The reasons below it.
    pub whys: Vec<Sentence>,
}

/// A value that differs from its default, and the reason for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FittedSetting {
    /// The setting's address.
    pub what: String,
    /// The value.
    pub value: String,
    /// Its source; or the limits within which it was chosen, and the effect of other values.
    pub why: String,
}

impl Experiment {
    /// Settings of runs that no list declares: neither fitted, nor given by the source, nor assumed. Only runs that
    /// matter are checked: those of a row that is claimed or has a published value. Schedulers, their knobs, times, and
    /// what a run's name says are the subject of the experiment; everything else must be declared.
    pub fn undeclared(&self) -> BTreeSet<String> {
        let rows = self.tables.iter().flat_map(|table| &table.rows).filter(|row| row.claimed || row.mail.is_some());
        let patterns: Vec<&str> = rows.flat_map(|row| row.expression.runs().into_iter().chain([&*row.run])).collect();
        let said = |address: &str| {
            let all = self.fits.iter().chain(&self.given).chain(&self.assumed);
            all.into_iter().any(|reason| fits(&reason.what, address))
        };
        let is_tried = |address: &str| {
            let (head, tail) = address.split_once('.').unwrap_or((address, ""));
            matches!(head, "elevator" | "time" | "knob") || tail == "start"
        };
        let read = self.runs.iter().filter(|run| patterns.iter().any(|pattern| fits(pattern, &run.name)));
        let settings = read.flat_map(|run| run.settings.iter().filter(|(address, _)| !run.explained.contains(address)));
        let open = settings.filter(|(address, _)| !is_tried(address) && !said(address));
        open.map(|(address, _)| address.clone()).collect()
    }
}

impl Experiment {
    /// The presets that its disks, or the members of its arrays, are or are derived from.
    pub fn presets(&self) -> BTreeSet<&'static str> {
        let settings = self.runs.iter().flat_map(|run| &run.settings);
        settings.filter(|(address, _)| address == "disk.preset").filter_map(|(_, value)| preset_of(value)).collect()
    }
}

/// One run.
#[derive(Clone, Debug)]
pub struct ExperimentRun {
    /// Its name in rows.
    pub name: String,
    /// Its scene.
    pub scene: Scene,
    /// It ends when all of these processes (by number) have exited; if there are none, at its time limit.
    pub until: Vec<usize>,
    /// The names of its processes.
    pub processes: Vec<String>,
    /// All its settings: address and value.
    pub settings: Vec<(String, String)>,
    /// The addresses that need no reason here: they are in the run's name, because they are swept, or the machine has
    /// them.
    pub explained: Vec<String>,
}

/// A table.
#[derive(Clone, Debug)]
pub struct TableSpec {
    /// Its heading.
    pub title: String,
    /// Its rows.
    pub rows: Vec<PublishedRow>,
}

/// One published number, and how ours is computed.
#[derive(Clone, Debug)]
pub struct PublishedRow {
    /// Its label, which must be clear outside of its table too.
    pub label: String,
    /// The run to use where the expression names none.
    pub run: String,
    /// Our value, per seed.
    pub expression: Expression,
    /// The unit of all its numbers.
    pub unit: String,
    /// The published value.
    pub mail: Option<f64>,
    /// The lower bound of ours.
    pub low: Option<f64>,
    /// The upper bound of ours.
    pub high: Option<f64>,
    /// Whether the published value must lie between our least and our greatest.
    pub covers_mail: bool,
    /// Whether every single seed must lie within the bounds, not only their statistic.
    pub each_seed: bool,
    /// Whether it is an error to be outside.
    pub claimed: bool,
    /// How the seeds' values are combined.
    pub statistic: Statistic,
    /// Whether its published number also appears in another row, or is computed from others, and counts there.
    pub again: bool,
    /// Whether it is one of several draws of one setting, which another row has as a whole.
    pub draw: bool,
    /// Whether it is the largest of many values, which differs from run to run.
    pub largest: bool,
}

/// How the seeds' values are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// Their mean.
    Mean,
    /// Their median.
    Median,
    /// The least.
    Min,
    /// The greatest.
    Max,
}

impl Statistic {
    /// All of them.
    pub const ALL: [Statistic; 4] = [Statistic::Mean, Statistic::Median, Statistic::Min, Statistic::Max];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Statistic::Mean => "mean",
            Statistic::Median => "median",
            Statistic::Min => "min",
            Statistic::Max => "max",
        }
    }

    pub(super) fn of(self, values: &[f64]) -> f64 {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match (self, sorted.as_slice()) {
            (_, []) => f64::NAN,
            _ if sorted.iter().any(|value| value.is_nan()) => f64::NAN,
            (Statistic::Mean, all) => all.iter().sum::<f64>() / all.len() as f64,
            (Statistic::Min, all) => all[0],
            (Statistic::Max, all) => all[all.len() - 1],
            (Statistic::Median, all) if all.len() % 2 == 1 => all[middle],
            (Statistic::Median, all) => (all[middle - 1] + all[middle]) / 2.0,
        }
    }
}

/// A sentence with computed numbers in it.
#[derive(Clone, Debug)]
pub struct Sentence {
    /// The run to use where an expression names none.
    pub run: String,
    /// Its parts.
    pub parts: Vec<SentencePart>,
}

/// A part of a sentence.
#[derive(Clone, Debug)]
pub enum SentencePart {
    /// Words.
    Words(String),
    /// A number with this many decimal places, or with three significant digits by default.
    Number(Expression, Option<usize>),
}
