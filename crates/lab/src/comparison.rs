//! The question: which schedulers, over how many seeds, by which goal.

use blksched::Span;
use blksched_simulate::Length;

use crate::scene::Scene;
use crate::verdict::price;

/// The simulated work that a seed may cost: five are about ten seconds of a 2.5 GHz core.
const MOST_WORK: f64 = 1.2e6;

/// What to compare, and how thoroughly.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What is run, and the settings around the schedulers.
    pub scene: Scene,
    /// The schedulers, `name[@kernel][+mechanism=variant][:knob=value[/value…]]`; the first is the one with which the
    /// others are compared. Empty: those of present kernels, the kernel's own choice for such a disk first.
    pub elevators: Vec<String>,
    /// How many seeds to run each with.
    pub seeds: u32,
    /// Whether to run more seeds, doubling them each time, until the question is decided or the budget is reached.
    pub until_sure: bool,
    /// Search the knobs of this scheduler instead, and of the queue around it.
    pub tune: Option<String>,
    /// How many seeds at most if [`until_sure`](Comparison::until_sure), or how many runs of a search; `None`: 40
    /// seeds, 200 runs.
    pub budget: Option<u32>,
    /// How many threads run at a time; `None`: one per core. The results are the same on any number.
    pub threads: Option<u32>,
    /// For how long nothing counts at the beginning of each job, at least, even if the job ends by itself; a time that
    /// the user gave comes after it. A job that ends within it is an error.
    pub settle: Option<Span>,
    /// What counts, as in `db: p99 read, backup: finish < 2h`; `None`: every job by its role.
    pub goal: Option<String>,
    /// Whether schedulers that no present kernel has are run as well, if none are named.
    pub historical: bool,
    /// How many times worse a key figure of a job that somebody waits for may become for the sake of others, from 1.
    pub max_price: f64,
    /// How much may be simulated: 1 is about ten seconds of a processor for five seeds, and this multiplies it.
    pub effort: f64,
    /// Whether to ask what the verdict depends on.
    pub fits: FitSearch,
}

/// How thoroughly to find out whether the verdict depends on the fitted values of the disk's model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FitSearch {
    /// Not at all.
    None,
    /// Table by table of the disk's description, for a few seconds at most.
    Tables,
    /// Each value alone and several at once, whatever that costs.
    Each,
}

impl Comparison {
    /// The comparison of this scene with this many seeds, all else at its default.
    pub fn of(scene: Scene, seeds: u32) -> Comparison {
        Comparison {
            scene,
            elevators: Vec::new(),
            seeds,
            until_sure: false,
            tune: None,
            budget: None,
            threads: None,
            settle: None,
            goal: None,
            historical: false,
            max_price: price::MOST,
            effort: 1.0,
            fits: FitSearch::Tables,
        }
    }

    /// The length of runs whose beginning, long enough to settle, does not count.
    pub(crate) fn settling(&self, length: Length, phases: u32) -> Length {
        let Some(settle) = self.settle else { return length };
        let warm_up = length.warm_up.max(settle * u64::from(phases));
        let limit = warm_up + length.limit.saturating_sub(length.warm_up);
        Length { warm_up, limit, least: length.least.max(limit), settle, ..length }
    }

    /// The simulated work that this many seeds may cost: requests, and pages in the page cache.
    pub fn most_work(&self, seeds: u32) -> u64 {
        (MOST_WORK * self.effort * f64::from(seeds)) as u64
    }
}
