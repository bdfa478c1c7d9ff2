//! Whether both halves of the runs say the same.
//!
//! **Rule** Every figure that counts of a job that ends only by time is taken from each half of every run, its warm-up
//! left out: rates as they are, of latencies the mean. If a figure differs between the halves by a tenth or more,
//! beyond chance over the seeds (Holm over all of them), the runs have not come to rest: something has still to begin
//! or to end, and longer runs may say something else.
//!
//! A scheduler is not judged if the change is worth it in one half and not in the other, beyond chance.

use std::sync::Arc;

use blksched_measure::{Paired, Work, holm};

use crate::runs::measured::{JobEnd, Measured};
use crate::verdict::contrast::{ALPHA, times};
use crate::verdict::figure::{Figure, FigureKind};
use crate::verdict::goal::Goal;
use crate::verdict::score::{WORTH_IT, scores_by_seed};

/// A smaller difference between the halves changes no advice.
const APART: f64 = 1.10;

/// A figure that counts, and differs between the halves of the runs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Unsteady {
    /// Under which scheduler.
    pub scheduler: String,
    /// Of which job.
    pub job: String,
    /// A rate, or a mean latency.
    pub figure: Figure,
    /// The value in the second half over that in the first.
    pub ratio: f64,
}

impl Unsteady {
    /// How many times it is greater in one half than in the other.
    fn apart(&self) -> f64 {
        self.ratio.max(1.0 / self.ratio)
    }

    /// "reader's mean read latency under bfq by 1.50 times".
    pub fn text(&self) -> String {
        let Unsteady { scheduler, job, figure, .. } = self;
        format!("{job}'s {} under {scheduler} by {}", figure.subject(), times(self.apart()))
    }
}

/// The figures that count and differ between the halves, the worst first.
pub fn unsteady(goal: &Goal, measured: &[Arc<Measured>]) -> Vec<Unsteady> {
    let Some(base) = measured.first() else { return Vec::new() };
    let figures = rates_and_means(goal, base);
    let present = measured.iter().filter(|one| one.is_present());
    let pairs = present.flat_map(|one| figures.iter().map(move |figure| (one, figure)));
    let (found, chances): (Vec<Unsteady>, Vec<f64>) = pairs
        .filter_map(|(one, figure)| {
            let [first, second] = [0, 1].map(|half| figure.half(one, half));
            let paired = Paired::of(second?.values(), first?.values())?;
            let job = one.jobs.get(figure.row?)?.label();
            Some((Unsteady { scheduler: one.label(), job, figure: *figure, ratio: paired.ratio }, paired.p))
        })
        .unzip();
    let is_one = |(found, p): &(Unsteady, f64)| *p <= ALPHA && found.apart() >= APART;
    let mut found: Vec<Unsteady> =
        found.into_iter().zip(holm(&chances)).filter(is_one).map(|(found, _)| found).collect();
    found.sort_by(|a, b| b.apart().total_cmp(&a.apart()));
    found
}

/// The figures of jobs that end only by time, each percentile by its mean.
fn rates_and_means(goal: &Goal, base: &Measured) -> Vec<Figure> {
    let mut figures: Vec<Figure> = Vec::new();
    let is_endless = |figure: &Figure| figure.row.is_some_and(|row| base.jobs[row].end == JobEnd::Time);
    for figure in goal.objectives(base).into_iter().flatten().filter(is_endless) {
        let what = match figure.what {
            FigureKind::Bandwidth | FigureKind::Iops => figure.what,
            FigureKind::Mean | FigureKind::P50 | FigureKind::P99 | FigureKind::P999 | FigureKind::Max => {
                FigureKind::Mean
            }
            _ => continue,
        };
        let figure = Figure { what, ..figure };
        if !figures.contains(&figure) {
            figures.push(figure);
        }
    }
    figures
}

/// How many times better a scheduler is in each half, where that decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sides {
    first: f64,
    second: f64,
}

impl Sides {
    /// Whether it is worth a change in the second half only.
    pub(super) fn is_late(self) -> bool {
        self.second >= WORTH_IT
    }

    /// Why the scheduler is not judged.
    pub(super) fn text(self) -> String {
        let Sides { first, second } = self;
        format!(
            "the runs are too short to judge it: {first:.2} times as good in their first half, {second:.2} times in \
             the second (--effort 10 makes them longer)"
        )
    }
}

/// `None` unless the halves disagree on whether the change is worth it, beyond chance.
pub(super) fn sides(goal: &Goal, here: &Measured, base: &Measured) -> Option<Sides> {
    let objectives = goal.objectives(base);
    let is_known = |figure: &&Figure| figure.row.is_some_and(|row| base.jobs[row].end == JobEnd::Time);
    if !objectives.iter().flatten().all(|figure| is_known(&figure)) {
        return None;
    }
    let in_half = |half: usize| scores_by_seed(&objectives, here, base, |figure, of| figure.half(of, half));
    let both: Vec<(f64, f64)> =
        in_half(0).into_iter().zip(in_half(1)).filter(|(a, b)| a.is_finite() && b.is_finite()).collect();
    let apart = Paired::of_logarithms(&both.iter().map(|(a, b)| b - a).collect::<Vec<_>>())?;
    let mean = |pick: fn(&(f64, f64)) -> f64| (both.iter().map(pick).sum::<f64>() / both.len() as f64).exp();
    let (first, second) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let is_apart = apart.p <= ALPHA && apart.ratio.max(1.0 / apart.ratio) >= APART;
    (is_apart && (first >= WORTH_IT) != (second >= WORTH_IT)).then_some(Sides { first, second })
}

impl Figure {
    /// The same in one half of the runs, by its nearest relative that is known there: a rate, or a mean latency.
    fn half(&self, measured: &Measured, half: usize) -> Option<blksched_measure::Sample> {
        let work: Work = self.work?;
        let done = &measured.jobs.get(self.row?)?.work(work)?.halves[half];
        match self.what {
            FigureKind::Bandwidth | FigureKind::Iops => Some(done.iops.clone()),
            FigureKind::Mean | FigureKind::P50 | FigureKind::P99 | FigureKind::P999 | FigureKind::Max => {
                Some(done.mean.clone())
            }
            _ => None,
        }
    }
}
