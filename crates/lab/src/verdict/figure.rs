//! One figure by which schedulers are compared: its job, its direction, and its statistic.

use blksched::Dir;
use blksched_measure::{Quantity, Sample, Work};

use crate::runs::measured::{JobMeasure, Measured, WorkMeasure};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FigureKind {
    /// The mean completion latency.
    Mean,
    /// The latency that half of the I/Os do not exceed.
    P50,
    /// The latency that 99 % of the I/Os do not exceed.
    P99,
    /// The latency that 99.9 % of the I/Os do not exceed.
    P999,
    /// The longest latency.
    Max,
    /// Bytes per second.
    Bandwidth,
    /// I/Os per second.
    Iops,
    /// How long the whole job takes.
    Finish,
    /// The longest time in which nothing of it completed.
    Stall,
    /// Jain's index.
    Fairness,
    /// The part of the disk's time that went where the priorities ask.
    Kept,
}

/// Which figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The report row that it belongs to; `None` for all together.
    pub row: Option<usize>,
    /// The kind of work; `None` for the whole job or run.
    pub work: Option<Work>,
    /// What is measured of it.
    pub what: FigureKind,
}

impl Figure {
    /// Whether this says how the job and the work of the other figure fare, as the mean of all reads does of a job's.
    pub fn is_about(&self, other: &Figure) -> bool {
        (self.row.is_none() || self.row == other.row) && (self.work.is_none() || self.work == other.work)
    }
}

impl FigureKind {
    /// Its base unit: ns, bytes per second, 1/s, or a plain ratio.
    pub fn unit(self) -> Quantity {
        match self {
            FigureKind::Bandwidth => Quantity::Bandwidth,
            FigureKind::Iops => Quantity::Iops,
            FigureKind::Fairness => Quantity::Ratio,
            FigureKind::Kept => Quantity::Fraction,
            _ => Quantity::Time,
        }
    }

    /// Whether a greater value is better.
    pub fn higher_is_better(self) -> bool {
        matches!(self, FigureKind::Bandwidth | FigureKind::Iops | FigureKind::Fairness | FigureKind::Kept)
    }

    /// The key in JSON, CSV and goals.
    pub fn key(self) -> &'static str {
        match self {
            FigureKind::Mean => "mean",
            FigureKind::P50 => "p50",
            FigureKind::P99 => "p99",
            FigureKind::P999 => "p99.9",
            FigureKind::Max => "max",
            FigureKind::Bandwidth => "bw",
            FigureKind::Iops => "iops",
            FigureKind::Finish => "finish",
            FigureKind::Stall => "stall",
            FigureKind::Fairness => "fairness",
            FigureKind::Kept => "priorities",
        }
    }
}

impl Figure {
    /// Its value per seed; `None` if it was not measured.
    pub fn sample(&self, measured: &Measured) -> Option<Sample> {
        let Some(row) = self.row else { return self.of_all(measured) };
        let job = measured.jobs.get(row)?;
        match self.what {
            FigureKind::Stall => Some(job.stall.clone()),
            FigureKind::Finish => job.finish.clone(),
            what => match job.work(self.work?) {
                Some(work) => Some(work.get(what)?.clone()),
                // A job that did nothing has a rate of 0.
                None => matches!(what, FigureKind::Bandwidth | FigureKind::Iops)
                    .then(|| Sample::of(vec![0.0; job.stall.values().len()])),
            },
        }
    }

    fn of_all(&self, measured: &Measured) -> Option<Sample> {
        let dir = |work| if work == Work::Read { Dir::Read } else { Dir::Write };
        let total = |work| measured.total(dir(work));
        match (self.what, self.work) {
            (FigureKind::Fairness, _) => Some(measured.jain.clone()),
            (FigureKind::Kept, _) => measured.kept.clone(),
            (FigureKind::Bandwidth, Some(work)) => Some(total(work).bandwidth.clone()),
            (FigureKind::Mean, Some(work)) => Some(total(work).mean.clone()),
            (FigureKind::P99, Some(work)) => Some(total(work).p99.clone()),
            _ => None,
        }
    }

    /// "mean read latency".
    pub fn subject(&self) -> String {
        let dir = self.work.map_or("", word);
        match self.what {
            FigureKind::Mean if self.work == Some(Work::Sync) => "mean sync".to_owned(),
            FigureKind::Mean => format!("mean {dir} latency"),
            FigureKind::P50 | FigureKind::P99 | FigureKind::P999 if self.work == Some(Work::Sync) => {
                format!("{} sync", self.what.key())
            }
            FigureKind::P50 | FigureKind::P99 | FigureKind::P999 => format!("{} {dir} latency", self.what.key()),
            FigureKind::Max => format!("longest {dir}"),
            FigureKind::Bandwidth => format!("{dir} bandwidth"),
            FigureKind::Iops if self.work == Some(Work::Sync) => "syncs a second".to_owned(),
            FigureKind::Iops => format!("{dir}s a second"),
            FigureKind::Finish => "time to finish".to_owned(),
            FigureKind::Stall => "longest stall".to_owned(),
            FigureKind::Fairness => "Jain's index".to_owned(),
            FigureKind::Kept => "disk time given as the priorities ask".to_owned(),
        }
    }
}

/// A direction in words.
pub fn word(work: Work) -> &'static str {
    work.name()
}

impl JobMeasure {
    /// The job's work of this kind; `None` if it did none.
    pub fn work(&self, work: Work) -> Option<&WorkMeasure> {
        self.work.iter().find(|(of, _)| *of == work).map(|(_, measure)| measure)
    }
}

impl WorkMeasure {
    /// The figure's samples; `None` if it is none of a kind of work.
    pub fn get(&self, what: FigureKind) -> Option<&Sample> {
        let [mean, p50, p99, p999, max] = &self.clat;
        Some(match what {
            FigureKind::Mean => mean,
            FigureKind::P50 => p50,
            FigureKind::P99 => p99,
            FigureKind::P999 => p999,
            FigureKind::Max => max,
            FigureKind::Bandwidth => &self.bandwidth,
            FigureKind::Iops => &self.iops,
            _ => return None,
        })
    }
}
