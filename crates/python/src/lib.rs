//! The compiled half of the Python package `blksched`: questions are passed as values to `blksched_lab`, tables are
//! returned as Arrow, and the GIL is released during a simulation.

mod comparison;
mod elevator;
mod errors;
mod explanation;
mod listing;
mod question;
mod run;
mod table;
mod tuning;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use blksched_cli::library::{self, Simulation, Spec};
use pyo3::prelude::*;

use errors::raised;
use explanation::PyExplanation;
use question::Question;
use table::PyTable;

/// A finished simulation.
#[pyclass(name = "Simulation", frozen)]
struct PySimulation(Arc<Simulation>);

#[pymethods]
impl PySimulation {
    /// The run as a whole and a part per job and direction, as JSON.
    fn json(&self) -> String {
        self.0.json()
    }

    /// A row per request: times and place.
    fn requests(&self, py: Python<'_>) -> PyResult<PyTable> {
        let simulation = self.0.clone();
        run::detached(py, move |_| simulation.requests()).map(PyTable)
    }

    /// A row per request: the reasons for its times.
    fn decisions(&self, py: Python<'_>) -> PyResult<PyTable> {
        let simulation = self.0.clone();
        run::detached(py, move |_| simulation.decisions()).map(PyTable)
    }

    /// Where the time of this many I/Os went, the slowest first, and who waited for whom.
    fn explain(&self, py: Python<'_>, slowest: u32) -> PyResult<PyExplanation> {
        let simulation = self.0.clone();
        run::detached(py, move |_| simulation.explain(slowest as usize)).map(|made| PyExplanation(Arc::new(made)))
    }
}

/// One load under one scheduler.
#[pyfunction]
fn simulate(py: Python<'_>, question: Question, elevator: String) -> PyResult<PySimulation> {
    let own = elevator::entries();
    let made = run::detached(py, move |_| Simulation::run(&question.scene()?, Some(&elevator), &own))?;
    Ok(PySimulation(Arc::new(made)))
}

/// One load under many schedulers, knobs and seeds.
#[pyfunction]
fn many(py: Python<'_>, question: Question, specs: Vec<(String, u64)>) -> PyResult<PyTable> {
    let own = elevator::entries();
    let specs: Vec<Spec> = specs.into_iter().map(|(elevator, seed)| Spec { elevator, seed }).collect();
    run::detached(py, move |stop| library::many(&question.scene()?, &specs, &own, stop)).map(PyTable)
}

/// How many runs a plan has, and how many of them each load has.
#[pyfunction]
fn plan_size(py: Python<'_>, file: String, text: String) -> PyResult<(u64, u64)> {
    run::detached(py, move |_| library::plan_size(&file, &text))
}

/// The runs of a plan from the first number up to the second.
#[pyfunction]
fn plan_rows(py: Python<'_>, file: String, text: String, from: u64, end: u64, threads: usize) -> PyResult<PyTable> {
    run::detached(py, move |stop| library::plan_rows(&file, &text, (from, end), threads, stop)).map(PyTable)
}

/// Runs the command line; returns its exit code.
#[pyfunction]
fn main(py: Python<'_>, words: Vec<String>) -> u8 {
    py.detach(move || library::main(&words))
}

/// Makes a Python class an elevator with this name.
#[pyfunction]
fn register(name: String, class: Py<PyAny>) {
    elevator::register(name, class);
}

/// Checks a registered elevator against the laws.
#[pyfunction]
fn laws(py: Python<'_>, name: String) -> PyResult<()> {
    let Some(entry) = elevator::entries().into_iter().find(|entry| entry.name == name) else {
        return Err(errors::input(py, &format!("no elevator `{name}` was registered")));
    };
    let outcome = run::detached(py, move |_: &Arc<AtomicBool>| {
        Ok(blksched_conformance::laws::check_entry(&entry).map_err(|violation| violation.to_string()))
    })?;
    outcome.map_err(|what| errors::of(py, "LawBroken", &what))
}

#[pymodule]
fn _blksched(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<PySimulation>()?;
    module.add_class::<PyTable>()?;
    module.add_class::<comparison::PyComparison>()?;
    module.add_class::<comparison::PyVerdict>()?;
    module.add_class::<comparison::PyProposal>()?;
    module.add_class::<comparison::PyContrast>()?;
    module.add_class::<comparison::PyCause>()?;
    module.add_class::<PyExplanation>()?;
    module.add_class::<explanation::PyStory>()?;
    module.add_class::<explanation::PyPiece>()?;
    module.add_class::<tuning::Search>()?;
    module.add_class::<elevator::PyRequest>()?;
    module.add_function(wrap_pyfunction!(comparison::compare, module)?)?;
    module.add_function(wrap_pyfunction!(simulate, module)?)?;
    module.add_function(wrap_pyfunction!(listing::elevators, module)?)?;
    module.add_function(wrap_pyfunction!(listing::disks, module)?)?;
    module.add_function(wrap_pyfunction!(listing::workloads, module)?)?;
    module.add_function(wrap_pyfunction!(listing::knobs, module)?)?;
    module.add_function(wrap_pyfunction!(many, module)?)?;
    module.add_function(wrap_pyfunction!(plan_size, module)?)?;
    module.add_function(wrap_pyfunction!(plan_rows, module)?)?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add_function(wrap_pyfunction!(register, module)?)?;
    module.add_function(wrap_pyfunction!(laws, module)?)
}
