//! A search's objective and its check, for Optuna or another program that chooses what is tried.

use std::sync::Mutex;

use blksched_cli::library::Tuning;
use blksched_lab::Comparison;
use pyo3::prelude::*;

use crate::question::Question;
use crate::{elevator, errors, run};

/// The objective function of a search over one scheduler's settings.
#[pyclass(frozen)]
pub(crate) struct Search(Mutex<Tuning>);

/// Knobs and their raw values.
type Turned = Vec<(String, i64)>;
/// The ratio with its 95 % interval, p, whether it is proven, and what forbids it.
type Checked = ((f64, f64, f64), f64, bool, Vec<String>);

#[pymethods]
impl Search {
    #[new]
    fn new(py: Python<'_>, question: Question, elevator: String, goal: Option<String>) -> PyResult<Search> {
        let own = elevator::entries();
        let tuning = run::detached(py, move |_| {
            let comparison = Comparison { goal, ..Comparison::of(question.scene()?, 1) };
            Tuning::new(comparison, &elevator, &own)
        })?;
        Ok(Search(Mutex::new(tuning)))
    }

    /// The knobs, and the values worth trying.
    fn knobs(&self, py: Python<'_>) -> PyResult<Vec<(String, Vec<i64>)>> {
        Ok(self.locked(py)?.knobs())
    }

    /// The logarithm of how many times better than the defaults it is, with the nth seed; None if it is ruled out.
    fn score(&self, py: Python<'_>, turned: Turned, nth: u32) -> PyResult<Option<f64>> {
        let mut guard = self.locked(py)?;
        let tuning = &mut *guard;
        run::detached(py, |_| tuning.score(&turned, nth))
    }

    /// Checks settings on seeds that the search has not seen.
    fn check(&self, py: Python<'_>, turned: Turned) -> PyResult<Checked> {
        let guard = self.locked(py)?;
        let tuning = &*guard;
        let checked = run::detached(py, |_| tuning.check(&turned))?;
        Ok((checked.ratio, checked.p, checked.is_better, checked.forbidden))
    }

    /// The settings as typed.
    fn show(&self, py: Python<'_>, turned: Turned) -> PyResult<Vec<String>> {
        Ok(self.locked(py)?.show(&turned))
    }
}

impl Search {
    fn locked(&self, py: Python<'_>) -> PyResult<std::sync::MutexGuard<'_, Tuning>> {
        // Waiting with the interpreter held would deadlock: the thread that has it needs the interpreter to release it.
        self.0.try_lock().map_err(|_| errors::of(py, "Error", "another thread searches with this one"))
    }
}
