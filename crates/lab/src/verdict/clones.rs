//! Clones of a job that report separately (`numjobs` without `group_reporting`): common results are reported once.
//!
//! **Rule** Rows of one name and one role are clones. A difference in the same direction for several of them is one
//! sentence, with the range of their values and the number of clones to which it applies. In a verdict they count as
//! one job.

use blksched_measure::Quantity;

use crate::runs::measured::JobMeasure;
use crate::verdict::contrast::{Contrast, between, direction, times};
use crate::verdict::figure::FigureKind;

/// A rate below this part of what it was is hardly one.
const STOPS: f64 = 0.1;

/// The rows of each job, in the table's order; most jobs have one row.
pub fn families(jobs: &[JobMeasure]) -> Vec<Vec<usize>> {
    let mut families: Vec<Vec<usize>> = Vec::new();
    for (row, job) in jobs.iter().enumerate() {
        let own = |rows: &&mut Vec<usize>| {
            let first = &jobs[rows[0]];
            first.name == job.name && first.role == job.role
        };
        match families.iter_mut().find(own) {
            Some(rows) => rows.push(row),
            None => families.push(vec![row]),
        }
    }
    families
}

/// The job's name, and its number of processes.
pub fn label(jobs: &[JobMeasure], rows: &[usize]) -> String {
    match rows.iter().map(|&row| jobs[row].processes).sum::<usize>() {
        1 => jobs[rows[0]].name.clone(),
        n => format!("{} ×{n}", jobs[rows[0]].name),
    }
}

/// One figure of a job that differs.
pub struct JobDifference<'a> {
    /// The job's name, and its number of processes.
    pub job: String,
    /// The clones concerned, the first of which has the greatest difference if they were sorted so.
    pub of: Vec<&'a Contrast>,
    /// How many clones there are.
    clones: usize,
}

/// Merges the same figure of clones that moved in the same direction into one, in the order of their first.
pub fn by_job<'a>(contrasts: impl Iterator<Item = &'a Contrast>, jobs: &[JobMeasure]) -> Vec<JobDifference<'a>> {
    let families = families(jobs);
    let family =
        |contrast: &Contrast| families.iter().position(|rows| rows.iter().any(|r| Some(*r) == contrast.figure.row));
    let mut all: Vec<JobDifference<'a>> = Vec::new();
    for contrast in contrasts {
        let is_same = |one: &&mut JobDifference<'a>| {
            let first = one.of[0];
            let (a, b) = (&first.figure, &contrast.figure);
            let way = (first.paired.ratio > 1.0) == (contrast.paired.ratio > 1.0);
            a.what == b.what && a.work == b.work && way && family(first) == family(contrast)
        };
        match all.iter_mut().find(is_same) {
            Some(one) => one.of.push(contrast),
            None => {
                let rows = family(contrast).map_or(&[][..], |nth| &families[nth]);
                let job = if rows.len() > 1 { label(jobs, rows) } else { contrast.job.clone() };
                all.push(JobDifference { job, of: vec![contrast], clones: rows.len() });
            }
        }
    }
    all
}

impl JobDifference<'_> {
    /// The sentence; for several clones "mean sync is 1.20 to 1.45 times longer (30.0ms to 42.0ms, not 25.0ms) for 5 of
    /// them".
    pub fn sentence(&self) -> String {
        let [first, _, ..] = &self.of[..] else {
            let some = if self.clones > 1 { " for one of them" } else { "" };
            return self.of[0].sentence() + some;
        };
        let unit = first.figure.what.unit();
        let range = |pick: fn(&Contrast) -> f64| {
            let values = self.of.iter().map(|contrast| pick(contrast));
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
        };
        let ends = |(low, high): (f64, f64)| {
            let (low, high) = (unit.show(low), unit.show(high));
            if low == high { low } else { format!("{low} to {high}") }
        };
        let (least, most) = range(Contrast::shown_times);
        let by = match (times(least), times(most)) {
            (least, most) if least == most => least,
            _ if least >= 1.1 => format!("{} times", between(least, most)),
            (least, most) => format!("{least} to {most}"),
        };
        let word = direction(unit == Quantity::Time, first.paired.ratio > 1.0);
        let some = if self.of.len() < self.clones { format!(" for {} of them", self.of.len()) } else { String::new() };
        let (here, base) = (ends(range(|c| c.here)), ends(range(|c| c.base)));
        format!("{} is {by} {word} ({here}, not {base}){some}", first.figure.subject())
    }

    /// "log: mean sync 24.1ms instead of 57.0ms", of several clones the mean; "scrub nearly stops: 1400KiB/s instead of
    /// 496MiB/s".
    pub fn plain(&self) -> String {
        let (figure, job) = (&self.of[0].figure, &self.job);
        let mean = |pick: fn(&Contrast) -> f64| self.of.iter().map(|one| pick(one)).sum::<f64>() / self.of.len() as f64;
        let (here, base) = (mean(|one| one.here), mean(|one| one.base));
        let unit = figure.what.unit();
        let (shown_here, shown_base) = (unit.show(here), unit.show(base));
        if figure.what == FigureKind::Bandwidth && here < base * STOPS {
            return format!("{job} nearly stops: {shown_here} instead of {shown_base}");
        }
        format!("{job}: {} {shown_here} instead of {shown_base}", figure.subject())
    }

    /// The sentence, after the job's name.
    pub fn with_job(&self) -> String {
        format!("{}: {}", self.job, self.sentence())
    }
}
