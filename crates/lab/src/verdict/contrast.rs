//! Every comparison of a table: each scheduler with the first, job by job, and which of them are significant.

use std::sync::Arc;

use blksched_measure::{Paired, Quantity, Work, holm};

use crate::runs::measured::{JobEnd, Measured};
use crate::verdict::figure::{Figure, FigureKind, word};

/// Differences with a smaller p-value are significant.
pub const ALPHA: f64 = 0.05;
/// A smaller ratio may be real but is not worth mentioning.
const WORTH_A_WORD: f64 = 1.01;
/// Beyond this, two figures say more than their ratio.
const FARTHEST: f64 = 1e3;

/// One figure under one scheduler compared with the same figure under the first.
#[derive(Clone, Debug)]
pub struct Contrast {
    /// Which figure.
    pub figure: Figure,
    /// The job's name as printed.
    pub job: String,
    /// Means over the seeds.
    pub here: f64,
    /// The mean under the first scheduler.
    pub base: f64,
    /// The ratio of the two, seed by seed.
    pub paired: Paired,
    /// Its p-value after Holm's correction over the whole table.
    pub p: f64,
}

/// The contrasts of every scheduler after the first; Holm's correction covers all of them, and this many looks.
pub fn contrasts(measured: &[Arc<Measured>], looks: u32) -> Vec<Vec<Contrast>> {
    let Some((base, others)) = measured.split_first() else { return Vec::new() };
    let mut all: Vec<Vec<Contrast>> = others.iter().map(|here| of(here, base)).collect();
    let corrected = holm(&all.iter().flatten().map(|contrast| contrast.paired.p).collect::<Vec<_>>());
    all.iter_mut().flatten().zip(corrected).for_each(|(contrast, p)| contrast.p = (p * f64::from(looks)).min(1.0));
    all
}

fn of(here: &Measured, base: &Measured) -> Vec<Contrast> {
    figures(base).into_iter().filter_map(|figure| Contrast::of(figure, here, base)).collect()
}

/// The figures of a table: for each job its latencies and bandwidth, for its syncs their latency, and how long the job
/// took, if it ended.
fn figures(base: &Measured) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (row, job) in base.jobs.iter().enumerate() {
        if job.ran.is_some() && job.end == JobEnd::Done {
            figures.push(Figure { row: Some(row), work: None, what: FigureKind::Finish });
        }
        for &(work, _) in &job.work {
            // The rate of a job that asks for a fixed amount per second says nothing about the scheduler.
            let rate = (work != Work::Sync).then_some(FigureKind::Bandwidth);
            let whats = [FigureKind::Mean, FigureKind::P99].into_iter().chain(rate);
            figures.extend(whats.map(|what| Figure { row: Some(row), work: Some(work), what }));
        }
    }
    figures
}

impl Contrast {
    /// One figure compared; `None` if it was not measured, or its latency lacks sleep for request slots.
    pub fn of(figure: Figure, here: &Measured, base: &Measured) -> Option<Contrast> {
        let sleeps = |m: &Measured| m.jobs.get(figure.row?)?.work(figure.work?).map(|work| work.sleeps);
        if figure.what.unit() == Quantity::Time && (sleeps(here) == Some(true) || sleeps(base) == Some(true)) {
            return None;
        }
        let (h, b) = (figure.sample(here)?, figure.sample(base)?);
        let paired = h.against(&b)?;
        let job = figure.row.map_or_else(String::new, |row| base.jobs[row].label());
        Some(Contrast { figure, job, here: h.mean(), base: b.mean(), paired, p: paired.p })
    }

    /// Whether it differs beyond chance by an amount worth mentioning.
    pub fn differs(&self) -> bool {
        self.p <= ALPHA && self.times() >= WORTH_A_WORD
    }

    /// The greater value divided by the lesser.
    pub fn times(&self) -> f64 {
        self.paired.ratio.max(1.0 / self.paired.ratio)
    }

    /// The same of the two means that are shown beside it; the interval is of the ratios seed by seed, whose mean may
    /// be another where runs differ much.
    pub fn shown_times(&self) -> f64 {
        let ratio = self.here / self.base;
        if self.paired.ratio > 1.0 { ratio } else { 1.0 / ratio }
    }

    /// How many times better it is here; below 1, worse.
    pub fn times_better(&self) -> f64 {
        if self.figure.what.higher_is_better() { self.paired.ratio } else { 1.0 / self.paired.ratio }
    }

    /// "mean read latency is 1.40 times longer (57.0ms, not 40.7ms; 1.31 to 1.49)".
    pub fn sentence(&self) -> String {
        let (subject, unit) = (self.figure.subject(), self.figure.what.unit());
        let up = self.paired.ratio > 1.0;
        let direction = direction(unit == Quantity::Time, up);
        let (here, base) = (unit.show(self.here), unit.show(self.base));
        let (mut low, mut high) = (self.paired.low, self.paired.high);
        if !up {
            (low, high) = (1.0 / high, 1.0 / low);
        }
        let shown = self.shown_times();
        if !shown.is_finite() || !(1.0..=FARTHEST).contains(&shown) {
            return format!("{subject} is {here}, not {base}");
        }
        let is_of_these = self.paired.count > 1 && (low..=high).contains(&shown);
        let interval = if is_of_these { format!("; {}", between(low, high)) } else { String::new() };
        format!("{subject} is {} {direction} ({here}, not {base}{interval})", times(shown))
    }

    /// What to write behind `--goal` so that it is this figure that counts: `reader: mean read`.
    pub fn as_goal(&self, job: &str) -> String {
        let dir = self.figure.work.map(|work| format!(" {}", word(work))).unwrap_or_default();
        format!("{job}: {}{dir}", self.figure.what.key())
    }
}

/// The word for the direction in which a figure has moved.
pub fn direction(is_time: bool, up: bool) -> &'static str {
    match (is_time, up) {
        (true, true) => "longer",
        (true, false) => "shorter",
        (false, true) => "higher",
        (false, false) => "lower",
    }
}

/// "1.40 times", or in percent where that reads better.
pub fn times(ratio: f64) -> String {
    match ratio {
        r if r < 1.1 => format!("{:.1} %", (r - 1.0) * 100.0),
        r if r < 10.0 => format!("{r:.2} times"),
        r => format!("{r:.0} times"),
    }
}

/// The interval of a ratio.
pub fn between(low: f64, high: f64) -> String {
    let show = |ratio: f64| match ratio {
        r if r < 10.0 => format!("{r:.2}"),
        r if r < 1e4 => format!("{r:.0}"),
        _ => "any".to_owned(),
    };
    format!("{} to {}", show(low), show(high))
}

#[cfg(test)]
mod tests {
    use blksched_measure::Sample;

    use super::*;

    fn contrast(here: &[f64], base: &[f64]) -> Contrast {
        let (here, base) = (Sample::of(here.to_vec()), Sample::of(base.to_vec()));
        let paired = here.against(&base).expect("they are as long");
        let figure = Figure { row: Some(0), work: Some(Work::Read), what: FigureKind::Bandwidth };
        Contrast { figure, job: "scrub".to_owned(), here: here.mean(), base: base.mean(), paired, p: paired.p }
    }

    #[test]
    fn a_ratio_and_the_figures_beside_it_are_of_the_same_mean() {
        // In two of three runs it stands still, nearly: the mean of the ratios is far from the ratio of the means.
        let (few, base) = ([1e3, 1e3, 40e6], [500e6, 501e6, 499e6]);
        let said = contrast(&few, &base).sentence();
        assert!(said.starts_with("read bandwidth is 37 times lower (12.7MiB/s, not 477MiB/s"), "{said}");
        let said = contrast(&[1e3, 1e3, 2e3], &base).sentence();
        assert_eq!(said, "read bandwidth is 1333B/s, not 477MiB/s", "so far apart, no ratio says more");
        let said = contrast(&[250e6, 251e6, 249e6], &base).sentence();
        assert!(said.starts_with("read bandwidth is 2.00 times lower (238MiB/s, not 477MiB/s; 1.9"), "{said}");
    }
}
