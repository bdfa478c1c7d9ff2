//! An experiment: what is run, what is measured, what was published, and what is claimed.

use std::collections::BTreeSet;

use super::expression::{Expression, fits};
use super::scene::Scene;

/// An experiment, read and checked.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its folder's name.
    pub name: String,
    /// What it is about.
    pub title: String,
    /// By whom the numbers were published, when, where.
    pub source: String,
    /// How many seeds it is run with.
    pub seeds: u32,
    /// The first of them.
    pub first_seed: u64,
    /// What the machine is called that it shares with others.
    pub machine: Option<String>,
    /// How often a second the machine's timer interrupts.
    pub timer: u32,
    /// Values chosen because they fit.
    pub fits: Vec<FittedSetting>,
    /// Values that the source says.
    pub given: Vec<FittedSetting>,
    /// Values that no source says, chosen before a result had been seen or without regard to it.
    pub assumed: Vec<FittedSetting>,
    /// What is run.
    pub runs: Vec<ExperimentRun>,
    /// What is printed.
    pub tables: Vec<TableSpec>,
    /// What is printed as the source printed it: lines kept, numbers of the first seed.
    pub shows: Vec<Sentence>,
    /// And the reasons below it.
    pub whys: Vec<Sentence>,
}

/// A value that differs from its default, and why it is this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FittedSetting {
    /// Whose value, by its address.
    pub what: String,
    /// The value.
    pub value: String,
    /// Who says so; or within which limits it was chosen, and what other values do.
    pub why: String,
}

impl Experiment {
    /// Settings of runs that a row reads, a row that is claimed or has a published value beside it, of which nothing
    /// is said: neither fitted, nor given by the source, nor assumed. Schedulers, their knobs, times, and what a run's
    /// name says are what is tried; everything else must be owned up to.
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

/// One run.
#[derive(Clone, Debug)]
pub struct ExperimentRun {
    /// What rows call it.
    pub name: String,
    /// What it is made of.
    pub scene: Scene,
    /// It ends when all of these processes (by their numbers) have exited; never before its time if there are none.
    pub until: Vec<usize>,
    /// The names of its processes.
    pub processes: Vec<String>,
    /// Everything that was set for it: address and value.
    pub settings: Vec<(String, String)>,
    /// Which of these addresses need no reason here: its name says them, because it is one of a sweep, or the machine
    /// has it.
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
    /// What it is, also outside of its table.
    pub label: String,
    /// The run that is meant where the expression names none.
    pub run: String,
    /// Our value, per seed.
    pub expression: Expression,
    /// The unit of all its numbers.
    pub unit: String,
    /// The published value.
    pub mail: Option<f64>,
    /// Ours must not be less,
    pub low: Option<f64>,
    /// nor more.
    pub high: Option<f64>,
    /// The published value must lie between our least and our greatest.
    pub covers_mail: bool,
    /// Every single seed must lie within the bounds, not only their statistic.
    pub each_seed: bool,
    /// Is it an error if it is outside?
    pub claimed: bool,
    /// What is made of the seeds' values.
    pub statistic: Statistic,
    /// Its published number is another row's as well, or made of others', and counts there.
    pub again: bool,
    /// It is the largest of many, which no two runs have alike.
    pub largest: bool,
}

/// What is made of the seeds' values.
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

    /// As a file says it.
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
    /// The run that is meant where an expression names none.
    pub run: String,
    /// Piece by piece.
    pub parts: Vec<SentencePart>,
}

/// A piece of a sentence.
#[derive(Clone, Debug)]
pub enum SentencePart {
    /// Words.
    Words(String),
    /// A number, with this many decimal places; three digits if nothing is said.
    Number(Expression, Option<usize>),
}
