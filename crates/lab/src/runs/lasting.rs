//! Runs that are long enough: their length, and its doubling until their halves agree.
//!
//! **Rule** A pilot finds the length ([`Length::fitting`]). If the first seed shows that runs of that length would cost
//! more than all of them may ([`Comparison::most_work`]), because other schedulers get more done, they are made again,
//! shorter in proportion, but not so short that a job is missing. If figures that count differ between the halves of
//! the runs ([`unsteady`]), all of them are made again, twice as long, as long as the simulated work in all stays below
//! that bound and a run below ten minutes. A length that the user gave stays as it is.

use blksched::Span;
use blksched_simulate::Length;

use crate::comparison::Comparison;
use crate::error::Error;
use crate::runs::Runs;
use crate::runs::done::DoneRuns;
use crate::scene::{Contender, Stage};
use crate::verdict::goal::Goal;
use crate::verdict::halves::{Unsteady, unsteady};
use crate::watch::Watch;

/// No run is made longer than this.
const LONGEST: Span = Span::from_secs(600);

/// How long the runs were, and whether that was enough.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Lasting {
    /// The length of each run.
    pub length: Length,
    /// Whether the user gave it.
    pub is_given: bool,
    /// The simulated work of all runs, shorter ones before them included: requests, and pages in the page cache.
    pub work: u64,
    /// Beyond this, no runs are made longer.
    pub most_work: u64,
    /// How often they were doubled.
    pub doubled: u32,
    /// The figures that count and still differ between the halves, the worst first.
    pub unsteady: Vec<Unsteady>,
}

#[cfg(test)]
impl Lasting {
    /// Runs of a length that the user gave.
    pub(crate) fn given(limit: Span) -> Lasting {
        let length = Length::of(limit);
        Lasting { length, is_given: true, work: 0, most_work: 0, doubled: 0, unsteady: Vec::new() }
    }
}

/// Runs that are long enough, or as long as they may be.
pub struct LongRuns {
    /// The load on its disk, the warm-up cut off.
    pub stage: Stage,
    /// What counts.
    pub goal: Goal,
    /// How long they are.
    pub lasting: Lasting,
    /// The runs, which [`Runs::continued`] takes up.
    pub done: DoneRuns,
}

impl LongRuns {
    /// Runs this many seeds from `first` of these contenders on this stage, whose warm-up is not cut off yet.
    ///
    /// # Errors
    /// A word of the goal that was not understood, that a run stands still, or that it was interrupted before the first
    /// seed.
    pub fn of(
        comparison: &Comparison,
        (stage, length): (&Stage, Length),
        contenders: &[Contender],
        (first, seeds): (u64, u32),
        watch: &dyn Watch,
    ) -> Result<LongRuns, Error> {
        let is_given = comparison.scene.time.is_some() || comparison.tune.is_some();
        let most_work = comparison.most_work(seeds);
        let mut lasting = Lasting { length, is_given, work: 0, most_work, doubled: 0, unsteady: Vec::new() };
        let mut is_short = false;
        loop {
            let limit = lasting.length.limit;
            let cut = stage.clone().cut(lasting.length, &comparison.scene);
            let mut runs = Runs::new(comparison, &cut, contenders, (limit, first), watch);
            let goal = runs.more(1, comparison.goal.as_deref())?;
            let all = runs.work() * u64::from(seeds);
            if !is_given && all > most_work && limit > lasting.length.least && lasting.doubled == 0 && !is_short {
                lasting.work += runs.work();
                lasting.length = lasting.length.shortened(most_work as f64 / all as f64);
                is_short = true;
                continue;
            }
            if seeds > 1 {
                runs.more(seeds - 1, comparison.goal.as_deref())?;
            }
            let (work, measured) = (runs.work(), runs.measured());
            let done = runs.done;
            lasting.work += work;
            lasting.unsteady = unsteady(&goal, &measured);
            let affords = lasting.work + 2 * work <= most_work && limit * 2 <= LONGEST;
            let is_over = measured.iter().all(|one| one.finished);
            if is_given || lasting.unsteady.is_empty() || !affords || is_over || watch.is_interrupted() {
                return Ok(LongRuns { stage: cut, goal, lasting, done: DoneRuns { done, seeds } });
            }
            lasting = Lasting { length: lasting.length.doubled(), doubled: lasting.doubled + 1, ..lasting };
        }
    }
}
