//! The objective and check of `--tune`, for a search that another program drives.

use std::sync::Arc;

use blksched::{Catalogue, Span};
use blksched_measure::Paired;
use blksched_simulate::{Grid, Trial};

use crate::comparison::Comparison;
use crate::error::Error;
use crate::runs::measured::Measured;
use crate::runs::outcome::Outcome;
use crate::scene::{Contender, Stage, contenders};
use crate::search::tune::{HELD_BACK, HELD_BACK_SEEDS, axes};
use crate::verdict::action::{Action, candidates, forbidden, misses, scores};
use crate::verdict::contrast::contrasts;
use crate::verdict::goal::Goal;

/// The objective that settings are scored with.
pub struct Judge {
    base: Contender,
    /// The scheduler with default settings, seed by seed.
    bases: Vec<Measured>,
    /// By what settings are judged.
    pub goal: Goal,
    /// How long each run is at most.
    pub limit: Span,
}

/// A setting's result on seeds that the search had not seen.
pub struct Checked {
    /// How many times better it is.
    pub score: Paired,
    /// Whether it would be recommended.
    pub is_better: bool,
    /// Why it cannot be recommended, however good.
    pub forbidden: Vec<String>,
}

impl Judge {
    /// The judge of one scheduler on a stage; the warm-up is cut off here.
    pub fn new(
        comparison: &Comparison,
        catalogue: &Catalogue,
        stage: Stage,
        name: &str,
    ) -> Result<(Stage, Judge), Error> {
        let base = contenders("--tune", &[name.to_owned()], &comparison.scene.set, catalogue)?.remove(0);
        let length = stage.length(&comparison.scene, &base, comparison.effort)?;
        let length = stage.settled(length, &comparison.scene, std::slice::from_ref(&base));
        let stage = stage.cut(length, &comparison.scene);
        let mut judge = Judge { base, bases: Vec::new(), goal: Goal::Roles, limit: length.limit };
        let first = judge.measure(comparison, &stage, &judge.base.clone(), comparison.scene.seed)?;
        judge.goal = Goal::read(comparison.goal.as_deref(), &first.jobs)?;
        judge.bases.push(first);
        Ok((stage, judge))
    }

    /// The knobs and the values worth trying.
    pub fn knobs(&self, comparison: &Comparison, stage: &Stage) -> Vec<(String, Vec<i64>)> {
        axes(&self.base, stage, comparison).into_iter().map(|axis| (axis.name, axis.values)).collect()
    }

    /// The logarithm of how many times better it is with the nth seed; `None` if it must not be recommended.
    pub fn score(
        &mut self,
        comparison: &Comparison,
        stage: &Stage,
        turned: &[(String, i64)],
        nth: u32,
    ) -> Result<Option<f64>, Error> {
        let seed = |nth: usize| comparison.scene.seed.wrapping_add(nth as u64);
        while self.bases.len() <= nth as usize {
            let next = self.measure(comparison, stage, &self.base, seed(self.bases.len()))?;
            self.bases.push(next);
        }
        let base = &self.bases[nth as usize];
        let here = self.measure(comparison, stage, &self.base.with(turned), seed(nth as usize))?;
        if !forbidden(&here, base, &self.goal).is_empty() {
            return Ok(None);
        }
        Ok(scores(&self.goal.objectives(base), &here, base).first().copied().filter(|score| score.is_finite()))
    }

    /// Checks on seeds that the search has not seen, as `compare --tune` does.
    pub fn check(&self, comparison: &Comparison, stage: &Stage, turned: &[(String, i64)]) -> Result<Checked, Error> {
        let rows = [self.base.clone(), self.base.with(turned)];
        let trials: Vec<Trial> = rows.iter().map(|row| stage.trial(&comparison.scene, row, self.limit)).collect();
        let first = comparison.scene.seed.wrapping_add(HELD_BACK);
        let seeds = (0..u64::from(HELD_BACK_SEEDS)).map(|nth| first.wrapping_add(nth)).collect();
        let runs = Grid::new(trials, seeds)
            .run(|run| Outcome::of(&stage.plan, &run), || {}, || false)
            .map_err(Error::input)?;
        let measured: Vec<Arc<Measured>> =
            rows.iter().zip(&runs).map(|(row, runs)| Arc::new(Measured::of(row, &stage.plan, runs))).collect();
        let contrasts = contrasts(&measured, 1);
        // Whatever the kernel: a search that names an old scheduler means that one.
        let (base, availability) = (&measured[0], measured[1].availability);
        let candidates = candidates((base, &measured[1..]), &contrasts, &self.goal, 1, availability);
        let missed = misses(base, &self.goal);
        let (goal, default, max_price) = (self.goal.clone(), base.clone(), comparison.max_price);
        let action = Action { goal, default, candidates, missed, max_price };
        let is_better = action.chosen().is_some();
        let nothing = || Error::Input("none of the goal's figures was measured in these runs".to_owned());
        let found = action.candidates.first().ok_or_else(nothing)?;
        Ok(Checked { score: found.score, is_better, forbidden: action.objections(found) })
    }

    /// The settings as typed on a command line.
    pub fn show(&self, turned: &[(String, i64)]) -> Vec<String> {
        let built = self.base.choice.build();
        let show = |(name, raw): &(String, i64)| match built.elevator.tunables().find(name) {
            Ok(knob) => format!("{name}={}", knob.unit.show(*raw)),
            Err(_) => format!("{name}={raw}"),
        };
        turned.iter().map(show).collect()
    }

    fn measure(&self, comparison: &Comparison, stage: &Stage, row: &Contender, seed: u64) -> Result<Measured, Error> {
        let trial = Trial { seed, ..stage.trial(&comparison.scene, row, self.limit) };
        let run = trial.simulate().map_err(Error::input)?;
        Ok(Measured::of(row, &stage.plan, &[Outcome::of(&stage.plan, &run)]))
    }
}
