//! A run explained, as objects: its slowest I/Os piece by piece, and who waited for whom.

use std::sync::Arc;

use blksched_cli::library;
use blksched_lab::why::{Explanation, IoStory, StoryPiece};
use pyo3::prelude::*;

use crate::raised;
use crate::table::PyTable;

/// Where the time of a run's I/Os went.
#[pyclass(name = "ExplanationData", frozen, module = "blksched")]
pub(crate) struct PyExplanation(pub(crate) Arc<Explanation>);

#[pymethods]
impl PyExplanation {
    /// The slowest I/Os.
    #[getter]
    fn stories(&self) -> Vec<PyStory> {
        self.0.stories.iter().map(PyStory::of).collect()
    }

    /// A row per process, reason and process waited for.
    #[getter]
    fn blame(&self, py: Python<'_>) -> PyResult<PyTable> {
        library::blame(&self.0).map(PyTable).map_err(|error| raised(py, &error))
    }

    /// The answer, a sentence each: what the slowest I/O waited for, and for whom others waited.
    #[getter]
    fn answer(&self) -> Vec<String> {
        self.0.answer(None)
    }

    /// The job that others waited for longest, in a sentence; None if nobody waited for another.
    #[getter]
    fn culprit(&self) -> Option<String> {
        self.0.culprit.clone()
    }

    /// What a user should know besides.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.notes.clone()
    }

    /// As the command line prints it: text, JSON, HTML.
    fn rendered(&self) -> (String, String, String) {
        let made = library::explained(&self.0);
        (made.text, made.json, made.html)
    }
}

/// One I/O from its submission to its end.
#[pyclass(name = "Story", frozen, get_all, module = "blksched")]
pub(crate) struct PyStory {
    /// Which one, in the order of submission, from 1.
    io: u64,
    /// The job's name, with a number if it has several processes.
    process: String,
    /// `read`, `write`, `discard`, `writezeroes`, `flush`.
    op: String,
    /// The first, of 512 bytes.
    sector: u64,
    sectors: u64,
    begun_ns: u64,
    latency_ns: u64,
    /// Where that time went, without a gap.
    pieces: Vec<Py<PyPiece>>,
    /// All of it in words.
    sentence: String,
}

impl PyStory {
    fn of(story: &IoStory) -> PyStory {
        let piece = |piece: &StoryPiece| Python::attach(|py| Py::new(py, PyPiece::of(piece)));
        PyStory {
            io: story.nth,
            process: story.process.clone(),
            op: story.op.clone(),
            sector: story.sector,
            sectors: story.sectors,
            begun_ns: story.begun_at.as_ns(),
            latency_ns: story.latency.as_ns(),
            pieces: story.pieces.iter().filter_map(|one| piece(one).ok()).collect(),
            sentence: story.sentence.clone(),
        }
    }
}

#[pymethods]
impl PyStory {
    fn __repr__(&self) -> String {
        let PyStory { io, process, op, latency_ns, .. } = self;
        format!("Story(I/O {io}, {process}, {op}, {:.3} ms)", *latency_ns as f64 / 1e6)
    }

    fn __str__(&self) -> String {
        self.sentence.clone()
    }
}

/// A piece of an I/O's time.
#[pyclass(name = "Piece", frozen, get_all, module = "blksched")]
pub(crate) struct PyPiece {
    from_ns: u64,
    ns: u64,
    /// Where the I/O was: `queue`, `disk`, …
    r#where: &'static str,
    /// Which rule it obeyed.
    what: &'static str,
    /// Whom the disk served meanwhile; None if nobody.
    for_whom: Option<String>,
    /// How many commands of that process the disk completed meanwhile.
    commands: u32,
}

impl PyPiece {
    fn of(piece: &StoryPiece) -> PyPiece {
        PyPiece {
            from_ns: piece.from.as_ns(),
            ns: piece.length.as_ns(),
            r#where: piece.leg,
            what: piece.rule,
            for_whom: piece.whom.clone(),
            commands: piece.commands,
        }
    }
}

#[pymethods]
impl PyPiece {
    fn __repr__(&self) -> String {
        let whom = self.for_whom.as_ref().map_or_else(String::new, |whom| format!(", for {whom}"));
        format!("Piece({:.3} ms {}, {}{whom})", self.ns as f64 / 1e6, self.r#where, self.what)
    }
}
