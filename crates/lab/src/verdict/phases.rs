//! A verdict for each phase, where jobs come and go: "safe while the update does not run?"
//!
//! **Rule** The times at which the same jobs run side by side are a phase ([`CompanyMeasure`]). In each, schedulers are
//! compared as over the whole run, by the figures of the jobs that are there; instead of the time to finish the rate.
//! Holm's correction covers all phases. A phase that is less than a tenth of a run under one of the two says little and
//! is left out.

use blksched_measure::{Paired, Sample, Work, holm};

use crate::runs::measured::{CompanyMeasure, Measured};
use crate::verdict::action::Action;
use crate::verdict::clones::{families, label};
use crate::verdict::contrast::{ALPHA, times};
use crate::verdict::figure::{Figure, FigureKind};
use crate::verdict::goal::Goal;
use crate::verdict::score::{WORTH_IT, scores_by_seed};

/// The least part of a run, under each of the two: in less, a job that stands still for a moment decides.
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

/// The verdict for each phase, of the scheduler that is to be used, or else of the best.
pub fn of(action: &Action) -> Vec<PhaseVerdict> {
    let subject = action.chosen().or_else(|| action.candidates.first());
    subject.map_or_else(Vec::new, |subject| phases(&action.goal, &action.default, &subject.scheduler))
}

/// The verdict for each phase, of the scheduler that the whole verdict is about; empty if nobody comes or goes.
fn phases(goal: &Goal, base: &Measured, subject: &Measured) -> Vec<PhaseVerdict> {
    let objectives = goal.objectives(base);
    let lasts = |of: &Measured, company: &CompanyMeasure| {
        of.companies.iter().any(|one| one.rows == company.rows && one.part.values().iter().all(|part| *part >= LEAST))
    };
    let score = |company: &CompanyMeasure| {
        let logs = scores_by_seed(&objectives, subject, base, |figure, of| figure.in_company(of, &company.rows));
        let is_known = lasts(base, company) && lasts(subject, company) && logs.iter().all(|log| log.is_finite());
        if is_known { Paired::of_logarithms(&logs) } else { None }
    };
    let companies = base.companies.iter();
    let judged: Vec<(&CompanyMeasure, Paired)> = companies.filter_map(|one| Some((one, score(one)?))).collect();
    let corrected = holm(&judged.iter().map(|(_, paired)| paired.p).collect::<Vec<_>>());
    let phase = |((company, paired), p): ((&CompanyMeasure, Paired), f64)| {
        let differs = p <= ALPHA && paired.ratio.max(1.0 / paired.ratio) >= WORTH_IT;
        let differs = differs.then(|| (subject.label(), paired.ratio));
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
        PhaseVerdict { is_all, jobs, part: company.part.mean(), differs }
    };
    let phases: Vec<PhaseVerdict> = judged.into_iter().zip(corrected).map(phase).collect();
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
    /// The same while these rows run; `None` if it is not known there.
    fn in_company(&self, measured: &Measured, rows: &[usize]) -> Option<Sample> {
        let company = measured.companies.iter().find(|company| company.rows == rows)?;
        let nth = rows.iter().position(|row| Some(*row) == self.row)?;
        if self.what == FigureKind::Finish {
            // What is done sooner is done at a higher rate: turned around, since less is better here.
            let of = |work: Work| company.done[nth][work as usize].bandwidth.values();
            let all = |seed: usize| {
                1.0 / [Work::Read, Work::Write, Work::Trim].map(|work| of(work)[seed]).iter().sum::<f64>()
            };
            return Some(Sample::of((0..of(Work::Read).len()).map(all).collect()));
        }
        company.done[nth][self.work? as usize].get(self.what).cloned()
    }
}
