//! An experiment beside its null models: every simulation that their judgement needs, once.

use blksched::Catalogue;

use super::asked::Asked;
use super::null::Null;
use super::outcome::RunOutcome;
use super::skill::Arm;
use super::spec::{Experiment, ExperimentRun, PublishedRow};

/// An experiment and its nulls, reduced to the rows that are judged. Runs that are the same under two of them, or under
/// one (no scheduler in any column leaves columns that differ in nothing), are simulated once.
#[derive(Clone, Debug)]
pub struct Beside {
    /// The experiment's judged rows and their runs.
    pub experiment: Experiment,
    /// Its nulls.
    pub nulls: Vec<Null>,
    /// The distinct runs, with what is asked of them.
    distinct: Vec<(ExperimentRun, Asked)>,
    /// Of ours and of each null: the distinct run that each of its runs is.
    places: Vec<Vec<usize>>,
}

impl Beside {
    /// This experiment beside all its nulls.
    ///
    /// # Panics
    /// If `catalogue` lacks a scheduler of the experiment, or one of the built-in ones.
    pub fn of(experiment: &Experiment, catalogue: &Catalogue) -> Beside {
        let experiment = experiment.judged();
        let nulls = experiment.nulls(catalogue);
        let changed = nulls.iter().map(|null| experiment.under(null, catalogue));
        let mut distinct: Vec<(ExperimentRun, Asked)> = Vec::new();
        let mut place_of = |(run, asked): (ExperimentRun, Asked)| {
            let same = distinct.iter().position(|(known, needs)| *needs == asked && known.simulates(&run));
            same.unwrap_or_else(|| {
                distinct.push((run, asked));
                distinct.len() - 1
            })
        };
        let places = [experiment.clone()].into_iter().chain(changed).map(|arm| {
            let asked = arm.asked();
            arm.runs.into_iter().zip(asked).map(&mut place_of).collect()
        });
        let places = places.collect();
        Beside { experiment, nulls, distinct, places }
    }

    /// How many distinct runs there are.
    pub fn runs(&self) -> usize {
        self.distinct.len()
    }

    /// Simulates one of the distinct runs.
    ///
    /// # Errors
    /// As [`ExperimentRun::simulate`].
    pub fn simulate(&self, run: usize, seed: u64) -> Result<RunOutcome, String> {
        let (run, asked) = &self.distinct[run];
        run.simulate_asked(seed, asked)
    }

    /// The judged rows.
    pub fn rows(&self) -> Vec<&PublishedRow> {
        self.experiment.rows().collect()
    }

    /// Ours, then each null's arm, from the outcomes of every distinct run with every seed: all seeds of the first run
    /// come first.
    pub fn arms(&self, outcomes: &[RunOutcome]) -> Vec<Arm> {
        let seeds = outcomes.len() / self.distinct.len().max(1);
        let nulls = [None].into_iter().chain(self.nulls.iter().map(Some));
        let arm = |(null, places): (Option<&Null>, &Vec<usize>)| {
            let all: Vec<RunOutcome> =
                places.iter().flat_map(|place| &outcomes[place * seeds..(place + 1) * seeds]).cloned().collect();
            Arm::of(&self.experiment, null, &self.experiment.answer(&all))
        };
        nulls.zip(&self.places).map(arm).collect()
    }
}

impl ExperimentRun {
    /// Whether another run is the same simulation: the same scheduler and knobs now, and the same settings otherwise.
    fn simulates(&self, other: &ExperimentRun) -> bool {
        let others = |run: &ExperimentRun| {
            let is_kept = |address: &str| address != "elevator" && !address.starts_with("knob.");
            let mut all: Vec<_> = run.settings.iter().filter(|(address, _)| is_kept(address)).cloned().collect();
            all.sort();
            all
        };
        let knobs = |run: &ExperimentRun| {
            let mut knobs = run.scene.knobs.clone();
            knobs.sort();
            knobs
        };
        self.scene.elevator.to_string() == other.scene.elevator.to_string()
            && knobs(self) == knobs(other)
            && self.until == other.until
            && others(self) == others(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::BUILTINS;

    #[test]
    fn runs_that_are_the_same_under_a_null_are_simulated_once_and_ours_stay_apart() {
        let catalogue = Catalogue::builtin();
        let horror = BUILTINS.iter().find(|builtin| builtin.name == "horror").unwrap().load(&catalogue).unwrap();
        let beside = Beside::of(&horror, &catalogue);
        let under = |wanted: &str| 1 + beside.nulls.iter().position(|null| null.name().starts_with(wanted)).unwrap();
        // No scheduler in any column: they differ in nothing but their time limit.
        let noop = &beside.places[under("noop")];
        let run = |name: &str| beside.experiment.runs.iter().position(|run| run.name == name).unwrap();
        assert_eq!(noop[run("batch64")], noop[run("expire50")]);
        assert_ne!(noop[run("batch64")], noop[run("before linus@2.5.38")]);
        let ours = &beside.places[0];
        assert_ne!(ours[run("batch64")], ours[run("batch32")]);
        // Knobs at their defaults: every column is the mail's first.
        let default = &beside.places[under("knobs at their defaults")];
        assert_eq!(default[run("batch64")], default[run("batch8")]);
        assert!(beside.runs() < beside.places.iter().map(Vec::len).sum::<usize>());
    }
}
