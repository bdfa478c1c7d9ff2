//! Every value of a comparison, one by one: the rows of CSV and Parquet.

use std::sync::Arc;

use blksched_measure::{Quantity, Sample, Work};

use crate::runs::measured::{JobMeasure, Measured};
use crate::verdict::figure::FigureKind;

/// The columns of a row.
pub const COLUMNS: [&str; 12] = [
    "workload",
    "disk",
    "scheduler",
    "settings",
    "seed",
    "job",
    "processes",
    "role",
    "what",
    "figure",
    "unit",
    "value",
];

const FIGURES: [FigureKind; 7] = [
    FigureKind::Bandwidth,
    FigureKind::Iops,
    FigureKind::Mean,
    FigureKind::P50,
    FigureKind::P99,
    FigureKind::P999,
    FigureKind::Max,
];

/// One figure of one job under one scheduler with one seed.
pub struct Value<'a> {
    /// Under which scheduler.
    pub scheduler: &'a Measured,
    /// With which seed.
    pub seed: u64,
    /// Of which job.
    pub job: &'a JobMeasure,
    /// The direction; empty for the whole job or run.
    pub what: &'static str,
    /// The figure's key.
    pub figure: &'static str,
    /// Its unit.
    pub unit: Quantity,
    /// In its base unit.
    pub value: f64,
}

/// Every measured value, scheduler by scheduler; `first` is the first seed.
pub fn each(measured: &[Arc<Measured>], first: u64, put: &mut dyn FnMut(&Value<'_>)) {
    for scheduler in measured {
        for (row, job) in scheduler.jobs.iter().enumerate() {
            of_job(scheduler, (row, job), &mut |what, figure, unit, sample| {
                for (nth, &value) in sample.values().iter().enumerate().filter(|(_, value)| value.is_finite()) {
                    let seed = first.wrapping_add(nth as u64);
                    put(&Value { scheduler, seed, job, what, figure, unit, value });
                }
            });
        }
    }
}

fn of_job(
    measured: &Measured,
    (row, job): (usize, &JobMeasure),
    put: &mut dyn FnMut(&'static str, &'static str, Quantity, &Sample),
) {
    for (work, measure) in &job.work {
        put(work.name(), "ios", Quantity::Count, &measure.ios);
        for what in FIGURES.into_iter().filter(|what| *work != Work::Sync || *what != FigureKind::Bandwidth) {
            put(work.name(), what.key(), what.unit(), measure.get(what).expect("it is one of a direction's"));
        }
    }
    put("", "stall", Quantity::Time, &job.stall);
    put("", "demand", Quantity::Fraction, &job.asked);
    put("", "service_time_share", Quantity::Fraction, &job.given);
    if let Some(finish) = &job.finish {
        put("", "finish", Quantity::Time, finish);
    }
    if row == 0 {
        put("", "utilisation", Quantity::Fraction, &measured.busy);
        put("", "fairness", Quantity::Ratio, &measured.jain);
    }
}
