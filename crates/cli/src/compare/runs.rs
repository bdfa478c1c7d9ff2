//! The runs of a comparison: every contender with every seed, and more seeds if the question is not decided.
//!
//! **Rule** `--until-sure` doubles the seeds until the goal's ratio of every candidate is proven either to be worth a
//! change or not to be, or the budget ends. Repeated tests give more false positives, so every p-value is multiplied by
//! the greatest number of tests (Bonferroni).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use blksched::Span;
use blksched_simulate::Grid;

use super::action::{self, WORTH_IT};
use super::contrast;
use super::goal::Goal;
use super::measured::Measured;
use super::outcome::Outcome;
use crate::args::CompareArguments;
use crate::failure::Failure;
use crate::input::{Contender, Stage};
use crate::progress::Progress;

/// The default of `--budget` in seeds.
const MOST_SEEDS: u32 = 40;
/// The most times that seeds are doubled.
const LOOKS: u32 = 4;

pub(super) struct Runs<'a> {
    pub(super) arguments: &'a CompareArguments,
    pub(super) stage: &'a Stage,
    pub(super) contenders: &'a [Contender],
    pub(super) limit: Span,
    pub(super) first: u64,
    seeds: u32,
    /// How often the verdict is checked.
    pub(super) looks: u32,
    /// The runs of each contender, seed by seed.
    pub(super) done: Vec<Vec<Outcome>>,
    pub(super) interrupted: Arc<AtomicBool>,
    undecided: bool,
}

impl<'a> Runs<'a> {
    pub(super) fn new(
        arguments: &'a CompareArguments,
        stage: &'a Stage,
        contenders: &'a [Contender],
        limit: Span,
        first: u64,
    ) -> Runs<'a> {
        Runs {
            arguments,
            stage,
            contenders,
            limit,
            first,
            seeds: 0,
            looks: if arguments.until_sure { LOOKS } else { 1 },
            done: contenders.iter().map(|_| Vec::new()).collect(),
            interrupted: crate::interrupt::noticed(),
            undecided: false,
        }
    }

    /// Runs this many more seeds; returns the goal, checked against the jobs of these runs.
    pub(super) fn more(&mut self, seeds: u32, goal: Option<&str>) -> Result<Goal, Failure> {
        let scene = &self.arguments.scene;
        let trial = |contender: &Contender| self.stage.trial(scene, contender, self.limit);
        let first = u64::from(self.seeds);
        let all = (first..first + u64::from(seeds)).map(|nth| self.first.wrapping_add(nth)).collect();
        let grid = Grid::new(self.contenders.iter().map(trial).collect(), all);
        let progress = Progress::new(grid.len());
        let threads = self.arguments.threads.map_or(0, |threads| threads as usize);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| Failure::Outside(error.to_string()))?;
        let stop = || self.interrupted.load(Ordering::Relaxed);
        let results = pool.install(|| grid.run(|run| Outcome::of(&self.stage.plan, &run), || progress.step(), stop));
        progress.finish();
        for (all, new) in self.done.iter_mut().zip(results.map_err(Failure::input)?) {
            all.extend(new);
        }
        self.seeds += seeds;
        if self.done[0].is_empty() {
            return Err(Failure::Outside("interrupted before the first seed was done".to_owned()));
        }
        Goal::read(goal, &self.measured()[0].jobs).map_err(Failure::Input)
    }

    pub(super) fn until_sure(&mut self, goal: &Goal) -> Result<(), Failure> {
        let budget = self.arguments.budget.unwrap_or(MOST_SEEDS);
        for _ in 1..LOOKS {
            self.undecided = !self.is_decided(goal);
            if !self.undecided || self.seeds * 2 > budget || self.interrupted.load(Ordering::Relaxed) {
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
        action.is_none_or(|action| {
            let known =
                |c: &action::Challenger<'_>| c.is_better() || c.score.high < WORTH_IT || !c.forbidden.is_empty();
            action.candidates.iter().all(known)
        })
    }

    pub(super) fn measured(&self) -> Vec<Measured> {
        let of = |(contender, runs): (&Contender, &Vec<Outcome>)| Measured::of(contender, &self.stage.plan, runs);
        self.contenders.iter().zip(&self.done).map(of).collect()
    }

    pub(super) fn notes(&self) -> Vec<String> {
        let done = self.done[0].len();
        let cut =
            (done < self.seeds as usize).then(|| format!("interrupted: {done} of {} seeds were done", self.seeds));
        let more = "--budget allows more";
        let unsure = self.undecided.then(|| format!("after {done} seeds the question is not decided; {more}"));
        cut.into_iter().chain(unsure).collect()
    }
}
