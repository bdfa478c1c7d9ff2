//! A comparison: its verdict as objects, its figures as Arrow, and why.

use std::sync::Arc;

use blksched_cli::library;
use blksched_lab::verdict::contrast::Contrast;
use blksched_lab::verdict::{JobRole, Proposal};
use blksched_lab::{Compared, Comparison, Verdict};
use blksched_measure::Paired;
use pyo3::prelude::*;

use crate::question::Question;
use crate::table::PyTable;
use crate::{elevator, raised, run};

/// What one load is under several schedulers.
#[pyclass(name = "ComparisonData", frozen, module = "blksched")]
pub(crate) struct PyComparison(Arc<Compared>);

#[pymethods]
impl PyComparison {
    /// What differs, what to do, and how far to trust that.
    #[getter]
    fn verdict(&self) -> PyVerdict {
        PyVerdict(self.0.clone())
    }

    /// A row per scheduler, seed, job, direction and figure, in base units.
    #[getter]
    fn figures(&self, py: Python<'_>) -> PyResult<PyTable> {
        library::figures(&self.0).map(PyTable).map_err(|error| raised(py, &error))
    }

    /// Why figures differ from the first scheduler's.
    #[getter]
    fn why(&self) -> Vec<PyCause> {
        let cause = |cause: &blksched_lab::verdict::cause::FigureCause| PyCause {
            scheduler: cause.scheduler.clone(),
            direction: if cause.is_sync { "sync".to_owned() } else { cause.dir.to_string() },
            waits_for: cause.waits_for.clone(),
            here_ns: cause.here,
            base_ns: cause.base,
            text: cause.to_string(),
        };
        self.0.verdict.causes.iter().map(cause).collect()
    }

    /// As the command line prints it: text, JSON, HTML.
    fn rendered(&self) -> (String, String, String) {
        let made = library::rendered(&self.0);
        (made.text, made.json, made.html)
    }
}

/// The answer: each part a value, and all of it in words.
#[pyclass(name = "Verdict", frozen, module = "blksched")]
pub(crate) struct PyVerdict(Arc<Compared>);

impl PyVerdict {
    fn of(&self) -> &Verdict {
        &self.0.verdict
    }
}

#[pymethods]
impl PyVerdict {
    /// What to use instead of the first scheduler; None: keep it.
    #[getter]
    fn proposal(&self) -> Option<PyProposal> {
        self.of().proposal.as_ref().map(PyProposal::of)
    }

    /// The scheduler with which the others were compared.
    #[getter]
    fn default(&self) -> String {
        self.of().default.label()
    }

    /// What makes a scheduler better than another.
    #[getter]
    fn goal(&self) -> String {
        self.of().goal.name()
    }

    /// Why the default stays, in one word; None if it does not.
    #[getter]
    fn kept_because(&self) -> Option<&'static str> {
        self.of().kept.map(blksched_lab::verdict::action::Kept::word)
    }

    /// Why nothing can be ranked; None if it can.
    #[getter]
    fn unranked(&self) -> Option<String> {
        self.of().unranked.clone()
    }

    /// What each job was taken for: its name, its role, and why.
    #[getter]
    fn roles(&self) -> Vec<(String, &'static str, &'static str)> {
        let role = |of: &JobRole| (of.job.clone(), of.role.name(), of.because);
        self.of().roles.iter().map(role).collect()
    }

    /// Every figure of every scheduler compared with the first's.
    #[getter]
    fn contrasts(&self) -> Vec<PyContrast> {
        let schedulers = self.0.measured.iter().skip(1).map(|one| one.label());
        let each = schedulers.zip(&self.of().contrasts);
        each.flat_map(|(name, all)| all.iter().map(move |one| PyContrast::of(&name, one)).collect::<Vec<_>>()).collect()
    }

    /// What such predictions were validated against: a sentence each.
    #[getter]
    fn validation(&self) -> Vec<String> {
        let validation = &self.of().validation;
        std::iter::once(validation.model.sentence()).chain(validation.sentences()).collect()
    }

    /// On which fitted values of the disk's model it hangs, in words; None if nothing was fitted.
    #[getter]
    fn hangs_on(&self) -> Option<String> {
        self.of().hangs_on.as_ref().map(blksched_lab::search::sensitivity::Sensitivity::sentence)
    }

    /// All of it in words.
    #[getter]
    fn sentences(&self) -> Vec<String> {
        self.of().sentences.clone()
    }

    /// What a user should know besides.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.of().notes.iter().chain(&self.of().remarks).cloned().collect()
    }

    fn __str__(&self) -> String {
        self.of().sentences.join("\n")
    }

    fn __repr__(&self) -> String {
        self.__str__()
    }
}

/// A scheduler to use instead of the first.
#[pyclass(name = "Proposal", frozen, get_all, module = "blksched")]
pub(crate) struct PyProposal {
    /// The word for the disk's `scheduler` file.
    scheduler: &'static str,
    /// With the knobs to turn, as typed.
    name: String,
    /// The knobs to turn: file in sysfs below the disk, and value.
    knobs: Vec<(String, String)>,
    /// How many times better on the goal's figures.
    times_better: f64,
    /// The 95 % interval of that.
    interval: (f64, f64),
    /// Its p-value, after Holm's correction over the candidates.
    p: f64,
    /// What is better beyond chance.
    gains: Vec<String>,
    /// What is worse beyond chance, and what stands still.
    price: Vec<String>,
}

impl PyProposal {
    fn of(proposal: &Proposal) -> PyProposal {
        let Paired { ratio, low, high, .. } = proposal.times_better;
        let sentence = |one: &Contrast| format!("{}: {}", one.job, one.sentence());
        PyProposal {
            scheduler: proposal.scheduler,
            name: proposal.to_string(),
            knobs: proposal.knobs.iter().map(|knob| (knob.file.clone(), knob.value.clone())).collect(),
            times_better: ratio,
            interval: (low, high),
            p: proposal.p,
            gains: proposal.gains.iter().map(sentence).collect(),
            price: proposal.costs.iter().map(sentence).chain(proposal.stalls.iter().cloned()).collect(),
        }
    }
}

#[pymethods]
impl PyProposal {
    fn __str__(&self) -> String {
        self.name.clone()
    }

    fn __repr__(&self) -> String {
        let PyProposal { name, times_better, interval: (low, high), .. } = self;
        format!("Proposal('{name}', {times_better:.2} times better, {low:.2} to {high:.2})")
    }
}

/// One figure under one scheduler compared with the first's.
#[pyclass(name = "Contrast", frozen, get_all, module = "blksched")]
pub(crate) struct PyContrast {
    scheduler: String,
    job: String,
    /// `p99 read`, `bw write`, `finish`.
    figure: String,
    unit: &'static str,
    /// Means over the seeds.
    here: f64,
    base: f64,
    ratio: f64,
    /// The 95 % interval of the ratio.
    interval: (f64, f64),
    /// After Holm's correction over the whole table.
    p: f64,
    /// Whether it differs beyond chance by an amount worth mentioning.
    differs: bool,
}

impl PyContrast {
    fn of(scheduler: &str, contrast: &Contrast) -> PyContrast {
        let work = contrast.figure.work.map_or_else(String::new, |work| format!(" {}", work.name()));
        PyContrast {
            scheduler: scheduler.to_owned(),
            job: contrast.job.clone(),
            figure: contrast.figure.what.key().to_owned() + &work,
            unit: contrast.figure.what.unit().unit(),
            here: contrast.here,
            base: contrast.base,
            ratio: contrast.paired.ratio,
            interval: (contrast.paired.low, contrast.paired.high),
            p: contrast.p,
            differs: contrast.differs(),
        }
    }
}

#[pymethods]
impl PyContrast {
    fn __repr__(&self) -> String {
        let PyContrast { scheduler, job, figure, ratio, interval: (low, high), .. } = self;
        format!("Contrast({scheduler}, {job}, {figure}: {ratio:.2}, {low:.2} to {high:.2})")
    }
}

/// Why a figure differs.
#[pyclass(name = "Cause", frozen, get_all, module = "blksched")]
pub(crate) struct PyCause {
    scheduler: String,
    /// `read` or `write`.
    direction: String,
    /// What requests wait for; None: the disk takes another time to serve them.
    waits_for: Option<String>,
    /// Mean per request, under this scheduler and under the first.
    here_ns: f64,
    base_ns: f64,
    /// In words.
    text: String,
}

#[pymethods]
impl PyCause {
    fn __str__(&self) -> String {
        format!("{}: {}", self.scheduler, self.text)
    }

    fn __repr__(&self) -> String {
        self.__str__()
    }
}

/// One load under several schedulers; the first is the one with which the others are compared.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    question: Question,
    elevators: Vec<String>,
    seeds: u32,
    goal: Option<String>,
) -> PyResult<PyComparison> {
    let own = elevator::entries();
    let compared = run::detached(py, move |stop| {
        if !(1..=10_000).contains(&seeds) {
            return Err(library::Error::input(&format!("seeds={seeds}: expected a number from 1 to 10000")));
        }
        let comparison = Comparison { elevators, goal, ..Comparison::of(question.scene()?, seeds) };
        library::compare(&comparison, &own, stop)
    })?;
    Ok(PyComparison(Arc::new(compared)))
}
