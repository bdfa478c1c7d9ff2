//! The answer as one value, of which every text, table and file is a rendering.

use std::fmt;
use std::sync::Arc;

use blksched_measure::Paired;

use super::action::{Action, Challenger, Kept};
use super::brief::Brief;
use super::cause::FigureCause;
use super::clones::{families, label};
use super::contrast::Contrast;
use super::goal::Goal;
use super::phases::PhaseVerdict;
use super::role::Role;
use super::validation::Validation;
use crate::runs::measured::{JobMeasure, Measured, TurnedKnob};
use crate::search::sensitivity::Sensitivity;

/// Which scheduler, for which price, why, and how far to trust it. Its text (`Display`) is one sentence a line.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Verdict {
    /// What makes a scheduler better than another.
    pub goal: Goal,
    /// The scheduler that the others are compared with.
    pub default: Arc<Measured>,
    /// What to use instead; `None` to keep the default.
    pub proposal: Option<Proposal>,
    /// Why the default stays; `None` if it does not, or if nothing can be ranked.
    pub kept: Option<Kept>,
    /// Why nothing can be ranked; `None` if it can.
    pub unranked: Option<String>,
    /// The others that a present kernel has, best first; empty if nothing can be ranked.
    pub candidates: Vec<Challenger>,
    /// Bounds of the goal that the default breaks, each with its worst value.
    pub missed: Vec<String>,
    /// What each job was taken for.
    pub roles: Vec<JobRole>,
    /// Of each scheduler after the default, in the order in which they were named: every figure of every job compared
    /// with the default's, with its interval.
    pub contrasts: Vec<Vec<Contrast>>,
    /// Why figures differ.
    pub causes: Vec<FigureCause>,
    /// What is better while which jobs run, where jobs come and go; else empty.
    pub phases: Vec<PhaseVerdict>,
    /// What such predictions were validated against.
    pub validation: Validation,
    /// Which fitted values of the disk's model it hangs on; `None` if that was not asked, or nothing was fitted.
    pub hangs_on: Option<Sensitivity>,
    /// What to do, why, at what price and how sure that is, in a few lines.
    pub brief: Brief,
    /// All of this in words.
    pub sentences: Vec<String>,
    /// What a user should know besides: what of the load has no effect, or did not happen.
    pub notes: Vec<String>,
    /// What explains figures, and changes nothing of the answer.
    pub remarks: Vec<String>,
}

impl Verdict {
    /// What to do, in one line.
    pub fn advice(&self) -> &str {
        self.brief.lines.first().map_or("", |(_, line)| line)
    }
}

/// A scheduler to use instead of the default. Its text (`Display`) is its name with the knobs to turn.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Proposal {
    /// The word for the disk's `scheduler` file.
    pub scheduler: &'static str,
    /// The knobs to turn, with their files in sysfs.
    pub knobs: Vec<TurnedKnob>,
    /// What was measured of it.
    pub measured: Arc<Measured>,
    /// How many times better it is on the goal's figures, with its 95 % interval over the seeds.
    pub times_better: Paired,
    /// The p-value of that, after Holm's correction over the candidates.
    pub p: f64,
    /// What is better beyond chance, the greatest first.
    pub gains: Vec<Contrast>,
    /// The price: what is worse beyond chance, the greatest first …
    pub costs: Vec<Contrast>,
    /// … and jobs outside the goal that stand still for long, in words.
    pub stalls: Vec<String>,
}

/// What a job was taken for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobRole {
    /// Its name, with the number of its processes if there are several.
    pub job: String,
    /// Its role.
    pub role: Role,
    /// Why it was assumed.
    pub because: &'static str,
}

impl JobRole {
    /// Of each job; clones count as one.
    pub(crate) fn all(jobs: &[JobMeasure]) -> Vec<JobRole> {
        let of = |rows: &Vec<usize>| {
            let (role, because) = jobs[rows[0]].role;
            JobRole { job: label(jobs, rows), role, because }
        };
        families(jobs).iter().map(of).collect()
    }
}

impl Proposal {
    /// What the action recommends.
    pub(crate) fn of(action: &Action) -> Option<Proposal> {
        let Challenger { scheduler, score, p, gains, costs, stalls, .. } = action.chosen()?.clone();
        let (name, knobs) = (scheduler.scheduler, scheduler.controls.clone());
        Some(Proposal { scheduler: name, knobs, measured: scheduler, times_better: score, p, gains, costs, stalls })
    }
}

impl fmt::Display for Proposal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.measured.label())
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentences.iter().try_for_each(|sentence| writeln!(f, "{sentence}"))
    }
}
