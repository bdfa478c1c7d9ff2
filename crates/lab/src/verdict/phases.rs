//! A verdict for each phase, where jobs come and go: "safe while the update does not run?"
//!
//! **Rule** The times at which the same jobs run side by side are a phase ([`CompanyMeasure`]). In each, schedulers are
//! compared as over the whole run, by the figures of the jobs that are there: rates as they are, of latencies the mean.
//! Holm's correction covers all phases and schedulers.

use std::sync::Arc;

use blksched_measure::{Paired, Sample, holm};

use crate::runs::measured::{CompanyMeasure, Measured};
use crate::verdict::clones::{families, label};
use crate::verdict::contrast::{ALPHA, times};
use crate::verdict::figure::{Figure, FigureKind};
use crate::verdict::goal::Goal;
use crate::verdict::score::{WORTH_IT, scores_by_seed};

/// More phases than these are counted.
const SAID: usize = 4;

/// What is better in a phase.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PhaseVerdict {
    /// The jobs that run.
    pub jobs: Vec<String>,
    /// The part of the run.
    pub part: f64,
    /// The scheduler that is spoken of, and how many times better it is; `None` if nothing differs beyond chance by
    /// what is worth a change.
    pub differs: Option<(String, f64)>,
    /// Whether all jobs run.
    pub is_all: bool,
}

/// The verdict for each phase: of the scheduler that is proposed, or else of the best; empty if nobody comes or goes.
pub fn phases(goal: &Goal, measured: &[Arc<Measured>], proposed: Option<&str>) -> Vec<PhaseVerdict> {
    let Some((base, others)) = measured.split_first() else { return Vec::new() };
    let objectives = goal.objectives(base);
    let concerned = |here: &&Arc<Measured>| here.is_present() && proposed.is_none_or(|name| here.label() == name);
    let others: Vec<&Arc<Measured>> = others.iter().filter(concerned).collect();
    let score = |company: &CompanyMeasure, here: &Measured| {
        let logs = scores_by_seed(&objectives, here, base, |figure, of| figure.in_company(of, &company.rows));
        Paired::of_logarithms(&logs.into_iter().filter(|log| log.is_finite()).collect::<Vec<_>>())
    };
    let all: Vec<Vec<Option<Paired>>> =
        base.companies.iter().map(|company| others.iter().map(|here| score(company, here)).collect()).collect();
    let known: Vec<f64> = all.iter().flatten().flatten().map(|paired| paired.p).collect();
    let mut corrected = holm(&known).into_iter();
    let everybody = families(&base.jobs).len();
    let phase = |(company, scores): (&CompanyMeasure, Vec<Option<Paired>>)| {
        let judged: Vec<(String, f64)> = others
            .iter()
            .zip(scores)
            .filter_map(|(here, paired)| Some((here.label(), paired?.ratio, corrected.next()?)))
            .filter(|(_, ratio, p)| *p <= ALPHA && ratio.max(1.0 / ratio) >= WORTH_IT)
            .map(|(name, ratio, _)| (name, ratio))
            .collect();
        let is_said = |(_, ratio): &(String, f64)| *ratio > 1.0 || proposed.is_some();
        let differs = judged.into_iter().filter(is_said).max_by(|a, b| a.1.total_cmp(&b.1));
        let there = families(&base.jobs).into_iter().filter(|rows| rows.iter().any(|row| company.rows.contains(row)));
        let jobs: Vec<String> = there.map(|rows| label(&base.jobs, &rows)).collect();
        PhaseVerdict { is_all: jobs.len() == everybody, jobs, part: company.part.mean(), differs }
    };
    base.companies.iter().zip(all).map(phase).collect()
}

/// All of them in a line; `None` if there is one phase at most.
pub fn line(phases: &[PhaseVerdict]) -> Option<String> {
    let said: Vec<String> = phases.iter().take(SAID).map(PhaseVerdict::text).collect();
    let more = phases.len().saturating_sub(SAID);
    let more = if more > 0 { format!("; {more} more phases: --json") } else { String::new() };
    (phases.len() > 1).then(|| format!("By phase: {}{more}.", said.join("; ")))
}

impl PhaseVerdict {
    /// "while only writer runs, nothing is better".
    pub fn text(&self) -> String {
        let who = match &self.jobs[..] {
            _ if self.is_all => "while all jobs run".to_owned(),
            [one] => format!("while only {one} runs"),
            [first @ .., last] => format!("while only {} and {last} run", first.join(", ")),
            [] => "while no job runs".to_owned(),
        };
        match &self.differs {
            Some((name, ratio)) if *ratio > 1.0 => format!("{who}, {name} is {} better", times(*ratio)),
            Some((name, ratio)) => format!("{who}, {name} is {} worse", times(1.0 / ratio)),
            None => format!("{who}, no proven difference"),
        }
    }
}

impl Figure {
    /// The same while these rows run, by its nearest relative that is known there: a rate, or a mean latency.
    fn in_company(&self, measured: &Measured, rows: &[usize]) -> Option<Sample> {
        let company = measured.companies.iter().find(|company| company.rows == rows)?;
        let nth = rows.iter().position(|row| Some(*row) == self.row)?;
        let done = &company.done[nth][self.work? as usize];
        match self.what {
            FigureKind::Bandwidth | FigureKind::Iops => Some(done.iops.clone()),
            FigureKind::Mean | FigureKind::P50 | FigureKind::P99 | FigureKind::P999 | FigureKind::Max => {
                Some(done.mean.clone())
            }
            _ => None,
        }
    }
}
