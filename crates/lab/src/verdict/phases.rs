//! A verdict for each phase, where jobs come and go: "safe while the update does not run?"
//!
//! **Rule** The times at which the same jobs run side by side are a phase ([`CompanyMeasure`]). In each, schedulers are
//! compared as over the whole run, by the figures of the jobs that are there: rates as they are, of latencies the mean,
//! of the time to finish the rate. Holm's correction covers all phases and schedulers. A phase that is less than a
//! tenth of a run under one of the two says little and is left out.

use std::sync::Arc;

use blksched_measure::{Paired, Sample, Work, holm};

use crate::runs::measured::{CompanyMeasure, Measured};
use crate::verdict::action::Challenger;
use crate::verdict::clones::{families, label};
use crate::verdict::contrast::{ALPHA, times};
use crate::verdict::figure::{Figure, FigureKind};
use crate::verdict::goal::Goal;
use crate::verdict::score::{WORTH_IT, scores_by_seed};

/// The least part of a run, under each of those that are compared.
const LEAST: f64 = 0.1;
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
pub fn phases(goal: &Goal, measured: &[Arc<Measured>], proposed: Option<&Challenger>) -> Vec<PhaseVerdict> {
    let Some((base, others)) = measured.split_first() else { return Vec::new() };
    let objectives = goal.objectives(base);
    let concerned =
        |here: &&Arc<Measured>| here.is_present() && proposed.is_none_or(|one| Arc::ptr_eq(here, &one.scheduler));
    let others: Vec<&Arc<Measured>> = others.iter().filter(concerned).collect();
    let score = |company: &CompanyMeasure, here: &Measured| {
        let lasts = here.companies.iter().any(|other| other.rows == company.rows && other.part.mean() >= LEAST);
        let logs = scores_by_seed(&objectives, here, base, |figure, of| figure.in_company(of, &company.rows));
        if lasts && logs.iter().all(|log| log.is_finite()) { Paired::of_logarithms(&logs) } else { None }
    };
    let companies: Vec<&CompanyMeasure> = base.companies.iter().filter(|one| one.part.mean() >= LEAST).collect();
    let all: Vec<Vec<Option<Paired>>> =
        companies.iter().map(|company| others.iter().map(|here| score(company, here)).collect()).collect();
    eprintln!("DBG {:?}", companies.iter().zip(&all).map(|(c, a)| (c.rows.clone(), a.iter().map(|p| p.as_ref().map(|p| (p.ratio, p.p))).collect::<Vec<_>>())).collect::<Vec<_>>());
    let known: Vec<f64> = all.iter().flatten().flatten().map(|paired| paired.p).collect();
    let mut corrected = holm(&known).into_iter();
    let phase = |(company, scores): (&CompanyMeasure, Vec<Option<Paired>>)| {
        let is_known = scores.iter().any(Option::is_some);
        let judged: Vec<(String, f64)> = others
            .iter()
            .zip(scores)
            .filter_map(|(here, paired)| Some((here.label(), paired?.ratio, corrected.next()?)))
            .filter(|(_, ratio, p)| *p <= ALPHA && ratio.max(1.0 / ratio) >= WORTH_IT)
            .map(|(name, ratio, _)| (name, ratio))
            .collect();
        let is_said = |(_, ratio): &(String, f64)| *ratio > 1.0 || proposed.is_some();
        let differs = judged.into_iter().filter(is_said).max_by(|a, b| a.1.total_cmp(&b.1));
        let named = |rows: Vec<usize>| {
            let here = rows.iter().filter(|row| company.rows.contains(row)).count();
            let name = label(&base.jobs, &rows);
            match here {
                0 => None,
                all if all == rows.len() => Some(name),
                some => Some(format!("{some} of {name}")),
            }
        };
        let jobs: Vec<String> = families(&base.jobs).into_iter().filter_map(named).collect();
        let is_all = company.rows.len() == base.jobs.len();
        is_known.then(|| PhaseVerdict { is_all, jobs, part: company.part.mean(), differs })
    };
    let phases: Vec<PhaseVerdict> = companies.into_iter().zip(all).filter_map(phase).collect();
    if phases.len() > 1 { phases } else { Vec::new() }
}

/// All of them in a line; `None` if they do not differ.
pub fn line(phases: &[PhaseVerdict]) -> Option<String> {
    let said: Vec<String> = phases.iter().take(SAID).map(PhaseVerdict::text).collect();
    let more = phases.len().saturating_sub(SAID);
    let more = if more > 0 { format!("; {more} more phases") } else { String::new() };
    phases.iter().any(|phase| phase.differs.is_some()).then(|| format!("By phase: {}{more}.", said.join("; ")))
}

impl PhaseVerdict {
    /// "while only writer runs, no proven difference".
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
        if self.what == FigureKind::Finish {
            // What is done sooner is done at a higher rate: turned around, since less is better here.
            let of = |work: Work| company.done[nth][work as usize].iops.values();
            let all = |seed: usize| {
                1.0 / [Work::Read, Work::Write, Work::Trim].map(|work| of(work)[seed]).iter().sum::<f64>()
            };
            return Some(Sample::of((0..of(Work::Read).len()).map(all).collect()));
        }
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
