//! An experiment: what is run, what is measured, what somebody published, and what is claimed.

use super::expression::Expression;
use super::scene::Scene;

/// An experiment, read and checked.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its folder's name.
    pub name: String,
    /// What it is about.
    pub title: String,
    /// Who published the numbers, when, where.
    pub source: String,
    /// How many seeds it is run with.
    pub seeds: u32,
    /// The first of them.
    pub first_seed: u64,
    /// Values chosen because they fit.
    pub fits: Vec<Fit>,
    /// What is run.
    pub runs: Vec<Run>,
    /// What is printed.
    pub tables: Vec<TableSpec>,
    /// What is printed as the source printed it: lines kept, numbers of the first seed.
    pub shows: Vec<Sentence>,
    /// And the reasons below it.
    pub whys: Vec<Sentence>,
}

/// A value that was chosen, or changed, after a result had been seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// What was fitted, by its address.
    pub what: String,
    /// To what.
    pub value: String,
    /// Within which limits, and what other values do.
    pub why: String,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Run {
    /// What rows call it.
    pub name: String,
    /// What it is made of.
    pub scene: Scene,
    /// It ends when all of these processes (by their numbers) have exited; never before its time if there are none.
    pub until: Vec<usize>,
    /// The names of its processes.
    pub processes: Vec<String>,
}

/// A table.
#[derive(Clone, Debug)]
pub struct TableSpec {
    /// Its heading.
    pub title: String,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// One published number, and how ours is computed.
#[derive(Clone, Debug)]
pub struct Row {
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
    pub parts: Vec<Part>,
}

/// A piece of a sentence.
#[derive(Clone, Debug)]
pub enum Part {
    /// Words.
    Words(String),
    /// A number, with so many decimal places; three digits if nothing is said.
    Number(Expression, Option<usize>),
}
