//! A search whose steps another program chooses (Optuna, say): the same objective, and the same check on seeds that the
//! search has not seen, as `compare --tune`.

use blksched::Catalogue;
use blksched::author::Entry;
use blksched_lab::Comparison;
use blksched_lab::scene::Stage;
use blksched_lab::search::judge::Judge;

use super::Error;
use crate::input::OnDisk;

/// A search.
pub struct Tuning {
    comparison: Comparison,
    stage: Stage,
    judge: Judge,
}

/// The result of settings on seeds that the search has not seen.
#[derive(Clone, Debug)]
pub struct CheckedSettings {
    /// How many times better than the scheduler with its defaults, and the 95 % interval.
    pub ratio: (f64, f64, f64),
    /// The p-value.
    pub p: f64,
    /// Whether `compare --tune` would recommend it.
    pub is_better: bool,
    /// Why it is not recommended, however good.
    pub forbidden: Vec<String>,
}

impl Tuning {
    /// A search for one scheduler by the comparison's goal.
    ///
    /// # Errors
    /// If the scene, the scheduler or the goal is not understood, or a run stands still.
    pub fn new(comparison: Comparison, name: &str, own: &[Entry]) -> Result<Tuning, Error> {
        let catalogue = Catalogue::builtin().with(own);
        let (stage, _) = Stage::load(&comparison.scene, &OnDisk)?.without_logs();
        stage.is_alone_for(&[(true, "a search from a program")])?;
        let (stage, judge) = Judge::new(&comparison, &catalogue, stage, name)?;
        Ok(Tuning { comparison, stage, judge })
    }

    /// The knobs and the values worth trying, without each knob's default.
    pub fn knobs(&self) -> Vec<(String, Vec<i64>)> {
        self.judge.knobs(&self.comparison, &self.stage)
    }

    /// The logarithm of how many times better than the defaults it is, with the nth seed of the search; `None` if a job
    /// stands still, or a bound is broken.
    ///
    /// # Errors
    /// If a run stands still.
    pub fn score(&mut self, turned: &[(String, i64)], nth: u32) -> Result<Option<f64>, Error> {
        Ok(self.judge.score(&self.comparison, &self.stage, turned, nth)?)
    }

    /// The same settings, as typed.
    pub fn show(&self, turned: &[(String, i64)]) -> Vec<String> {
        self.judge.show(turned)
    }

    /// Checks settings on seeds that the search has not seen.
    ///
    /// # Errors
    /// If a run stands still.
    pub fn check(&self, turned: &[(String, i64)]) -> Result<CheckedSettings, Error> {
        let checked = self.judge.check(&self.comparison, &self.stage, turned)?;
        let ratio = (checked.score.ratio, checked.score.low, checked.score.high);
        Ok(CheckedSettings { ratio, p: checked.score.p, is_better: checked.is_better, forbidden: checked.forbidden })
    }
}
