//! The objective and check of `--tune`, for a search that another program drives.

use blksched::{Catalogue, Span};
use blksched_measure::Paired;
use blksched_simulate::{Grid, Trial};

use super::action::{Action, candidates, forbidden, misses, scores};
use super::contrast::contrasts;
use super::goal::Goal;
use super::measured::Measured;
use super::outcome::Outcome;
use super::tune::{HELD_BACK, HELD_BACK_SEEDS, axes};
use crate::args::CompareArguments;
use crate::failure::Failure;
use crate::input::{Contender, Stage, contenders};

/// The objective that settings are scored with.
pub(crate) struct Judge {
    base: Contender,
    /// The scheduler with default settings, seed by seed.
    bases: Vec<Measured>,
    pub(super) goal: Goal,
    pub(super) limit: Span,
}

/// A setting's result on seeds that the search had not seen.
pub(crate) struct Checked {
    /// How many times better it is.
    pub(crate) score: Paired,
    /// Whether it would be recommended.
    pub(crate) is_better: bool,
    /// Why it cannot be recommended, however good.
    pub(crate) forbidden: Vec<String>,
}

impl Judge {
    /// The judge of one scheduler on a stage; the warm-up is cut off here.
    pub(crate) fn new(
        arguments: &CompareArguments,
        catalogue: &Catalogue,
        stage: Stage,
        name: &str,
    ) -> Result<(Stage, Judge), Failure> {
        let base = contenders("--tune", &[name.to_owned()], &arguments.scene.set, catalogue)?.remove(0);
        let length = stage.length(&arguments.scene, &base)?;
        let length = stage.settled(length, &arguments.scene, std::slice::from_ref(&base));
        let stage = stage.cut(length);
        let mut judge = Judge { base, bases: Vec::new(), goal: Goal::Roles, limit: length.limit };
        let first = judge.measure(arguments, &stage, &judge.base.clone(), arguments.scene.seed)?;
        judge.goal = Goal::read(arguments.goal.as_deref(), &first.jobs).map_err(Failure::Input)?;
        judge.bases.push(first);
        Ok((stage, judge))
    }

    /// The knobs and the values worth trying.
    pub(crate) fn knobs(&self, arguments: &CompareArguments, stage: &Stage) -> Vec<(String, Vec<i64>)> {
        axes(&self.base, stage, arguments).into_iter().map(|axis| (axis.name, axis.values)).collect()
    }

    /// The logarithm of how many times better it is with the nth seed; `None` if it must not be recommended.
    pub(crate) fn score(
        &mut self,
        arguments: &CompareArguments,
        stage: &Stage,
        turned: &[(String, i64)],
        nth: u32,
    ) -> Result<Option<f64>, Failure> {
        let seed = |nth: usize| arguments.scene.seed.wrapping_add(nth as u64);
        while self.bases.len() <= nth as usize {
            let next = self.measure(arguments, stage, &self.base, seed(self.bases.len()))?;
            self.bases.push(next);
        }
        let base = &self.bases[nth as usize];
        let here = self.measure(arguments, stage, &self.base.with(turned), seed(nth as usize))?;
        if !forbidden(&here, base, &self.goal).is_empty() {
            return Ok(None);
        }
        Ok(scores(&self.goal.objectives(base), &here, base).first().copied().filter(|score| score.is_finite()))
    }

    /// Checks on seeds that the search has not seen, as `compare --tune` does.
    pub(crate) fn check(
        &self,
        arguments: &CompareArguments,
        stage: &Stage,
        turned: &[(String, i64)],
    ) -> Result<Checked, Failure> {
        let rows = [self.base.clone(), self.base.with(turned)];
        let trials: Vec<Trial> = rows.iter().map(|row| stage.trial(&arguments.scene, row, self.limit)).collect();
        let first = arguments.scene.seed.wrapping_add(HELD_BACK);
        let seeds = (0..u64::from(HELD_BACK_SEEDS)).map(|nth| first.wrapping_add(nth)).collect();
        let runs = Grid::new(trials, seeds)
            .run(|run| Outcome::of(&stage.plan, &run), || {}, || false)
            .map_err(Failure::input)?;
        let measured: Vec<Measured> =
            rows.iter().zip(&runs).map(|(row, runs)| Measured::of(row, &stage.plan, runs)).collect();
        let contrasts = contrasts(&measured, 1);
        // Whatever the kernel: a search that names an old scheduler means that one.
        let (base, availability) = (&measured[0], measured[1].availability);
        let candidates = candidates((base, &measured[1..]), &contrasts, &self.goal, 1, availability);
        let missed = misses(base, &self.goal);
        let action = Action { goal: self.goal.clone(), default: base, candidates, missed };
        let is_better = action.chosen().is_some();
        let nothing = || Failure::Input("none of the goal's figures was measured in these runs".to_owned());
        let found = action.candidates.into_iter().next().ok_or_else(nothing)?;
        Ok(Checked { score: found.score, is_better, forbidden: found.forbidden })
    }

    /// The settings as typed on a command line.
    pub(crate) fn show(&self, turned: &[(String, i64)]) -> Vec<String> {
        let built = self.base.choice.build();
        let show = |(name, raw): &(String, i64)| match built.elevator.tunables().find(name) {
            Ok(knob) => format!("{name}={}", knob.unit.show(*raw)),
            Err(_) => format!("{name}={raw}"),
        };
        turned.iter().map(show).collect()
    }

    fn measure(
        &self,
        arguments: &CompareArguments,
        stage: &Stage,
        row: &Contender,
        seed: u64,
    ) -> Result<Measured, Failure> {
        let trial = Trial { seed, ..stage.trial(&arguments.scene, row, self.limit) };
        let run = trial.simulate().map_err(Failure::input)?;
        Ok(Measured::of(row, &stage.plan, &[Outcome::of(&stage.plan, &run)]))
    }
}
