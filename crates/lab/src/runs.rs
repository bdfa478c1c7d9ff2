//! The runs of a comparison: every contender with every seed, and more seeds if the question is not decided.
//!
//! **Rule** `--until-sure` doubles the seeds until the goal's ratio of every candidate is proven either to be worth a
//! change or not to be, or the budget ends. Repeated tests give more false positives, so every p-value is multiplied by
//! the greatest number of tests (Bonferroni).

pub(crate) mod company;
pub mod cpu;
pub mod done;
pub(crate) mod half;
pub mod lasting;
pub mod measured;
pub mod memory;
pub mod outcome;
pub mod values;
mod work_done;

use std::sync::Arc;

use blksched::Span;
use blksched_simulate::{Grid, Trial};

use crate::comparison::Comparison;
use crate::error::Error;
use crate::scene::{Contender, Stage};
use crate::verdict::action::{self, WORTH_IT};
use crate::verdict::contrast;
use crate::verdict::goal::Goal;
use crate::watch::Watch;
use done::DoneRuns;
use measured::Measured;
use outcome::Outcome;

/// The default of `--budget` in seeds.
const MOST_SEEDS: u32 = 40;
/// The most times that seeds are doubled.
const LOOKS: u32 = 4;

/// The runs of a comparison, seed by seed.
pub struct Runs<'a> {
    /// The question.
    pub comparison: &'a Comparison,
    /// The load on its disk.
    pub stage: &'a Stage,
    /// The schedulers, in the order of their rows.
    pub contenders: &'a [Contender],
    /// How long each run is at most.
    pub limit: Span,
    /// The first seed.
    pub first: u64,
    seeds: u32,
    /// How often the verdict is checked.
    pub looks: u32,
    /// The runs of each contender, seed by seed.
    pub done: Vec<Vec<Outcome>>,
    /// Whoever follows the work, and may end it.
    pub watch: &'a dyn Watch,
    undecided: bool,
}

impl<'a> Runs<'a> {
    /// None yet: [`more`](Runs::more) makes them.
    pub fn new(
        comparison: &'a Comparison,
        stage: &'a Stage,
        contenders: &'a [Contender],
        (limit, first): (Span, u64),
        watch: &'a dyn Watch,
    ) -> Runs<'a> {
        Runs {
            comparison,
            stage,
            contenders,
            limit,
            first,
            seeds: 0,
            looks: if comparison.until_sure { LOOKS } else { 1 },
            done: contenders.iter().map(|_| Vec::new()).collect(),
            watch,
            undecided: false,
        }
    }

    /// The same after runs that were made.
    pub fn continued(self, done: DoneRuns) -> Runs<'a> {
        Runs { done: done.done, seeds: done.seeds, ..self }
    }

    /// The simulated work so far.
    pub fn work(&self) -> u64 {
        self.done.iter().flatten().map(|run| run.work).sum()
    }

    /// For how long all jobs were seen at most; without end if the user has set the length, who judges it then.
    pub fn seen(&self) -> Span {
        match self.comparison.scene.time {
            Some(_) => Span::MAX,
            None => self.limit.saturating_sub(self.stage.counts_from),
        }
    }

    /// Runs this many more seeds; returns the goal, checked against the jobs of these runs.
    pub fn more(&mut self, seeds: u32, goal: Option<&str>) -> Result<Goal, Error> {
        let scene = &self.comparison.scene;
        let trial = |contender: &Contender| self.stage.trial(scene, contender, self.limit);
        let first = u64::from(self.seeds);
        let all = (first..first + u64::from(seeds)).map(|nth| self.first.wrapping_add(nth)).collect();
        let trials: Vec<Trial> = self.contenders.iter().map(trial).collect();
        self.watch.begins(trials.len() * seeds as usize);
        let results = self.grid(trials, all);
        self.watch.ends();
        for (all, new) in self.done.iter_mut().zip(results?) {
            all.extend(new);
        }
        self.seeds += seeds;
        if self.done[0].is_empty() {
            return Err(Error::Interrupted("interrupted before the first seed was done".to_owned()));
        }
        self.all_outlast_settling()?;
        Ok(Goal::read(goal, &self.measured()[0].jobs)?)
    }

    /// Figures of a job that ended before anything was to count would be those of its unsettled beginning.
    fn all_outlast_settling(&self) -> Result<(), Error> {
        let Some(settle) = self.comparison.settle else { return Ok(()) };
        let mut names: Vec<&str> = Vec::new();
        for outcome in self.done.iter().flatten() {
            let ended = self.stage.plan.jobs.iter().zip(&outcome.jobs).filter(|(_, process)| process.ended_in_ramp);
            for (job, _) in ended {
                if !names.contains(&job.name.as_str()) {
                    names.push(&job.name);
                }
            }
        }
        if names.is_empty() {
            return Ok(());
        }
        let names = names.join(", ");
        Err(Error::Input(format!(
            "--settle {settle} leaves nothing of {names}, which ended earlier: expected a shorter time, or more work"
        )))
    }

    /// Makes these runs on as many threads as the comparison allows.
    pub(crate) fn grid(&self, trials: Vec<Trial>, seeds: Vec<u64>) -> Result<Vec<Vec<Outcome>>, Error> {
        let threads = self.comparison.threads.map_or(0, |threads| threads as usize);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| Error::Outside(error.to_string()))?;
        let (grid, watch) = (Grid::new(trials, seeds), self.watch);
        let fold = |run| Outcome::of(&self.stage.plan, &run);
        pool.install(|| grid.run(fold, || watch.step(), || watch.is_interrupted())).map_err(Error::input)
    }

    /// Runs more seeds until the question is decided, or the budget ends, if that was asked for.
    ///
    /// # Errors
    /// If a run stands still.
    pub fn until_sure(&mut self, goal: &Goal) -> Result<(), Error> {
        if !self.comparison.until_sure {
            return Ok(());
        }
        let budget = self.comparison.budget.unwrap_or(MOST_SEEDS);
        for _ in 1..LOOKS {
            self.undecided = !self.is_decided(goal);
            if !self.undecided || self.seeds * 2 > budget || self.watch.is_interrupted() {
                break;
            }
            self.more(self.seeds, None)?;
        }
        self.undecided = !self.is_decided(goal);
        Ok(())
    }

    /// Whether each candidate is known to be worth a change, or known not to be.
    fn is_decided(&self, goal: &Goal) -> bool {
        let measured = self.measured();
        let contrasts = contrast::contrasts(&measured, self.looks);
        let action = action::choose(&measured, &contrasts, goal.clone(), self.looks);
        let action = action.map(|action| action.in_runs_of(self.limit, self.seen()).within(self.comparison.max_price));
        action.is_none_or(|action| {
            let is_out = |c: &action::Challenger| !action.objections(c).is_empty();
            action.candidates.iter().all(|c| c.is_better() || c.score.high < WORTH_IT || is_out(c))
        })
    }

    /// What was measured of each contender so far.
    pub fn measured(&self) -> Vec<Arc<Measured>> {
        let of =
            |(contender, runs): (&Contender, &Vec<Outcome>)| Arc::new(Measured::of(contender, &self.stage.plan, runs));
        self.contenders.iter().zip(&self.done).map(of).collect()
    }

    /// What a user should know about how many seeds were run.
    pub fn notes(&self) -> Vec<String> {
        let done = self.done[0].len();
        let cut =
            (done < self.seeds as usize).then(|| format!("interrupted: {done} of {} seeds were done", self.seeds));
        let more = "--budget allows more";
        let unsure = self.undecided.then(|| format!("after {done} seeds the question is not decided; {more}"));
        cut.into_iter().chain(unsure).collect()
    }
}
