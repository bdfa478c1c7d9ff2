//! Replays a recorded case through the block queue, and says where the first decision differs.
//!
//! **Rule** Every input of the recording is given to the queue at its recorded time; every output (merge, coalescing,
//! request, idle deadline, kick, timer) must be the recorded one. A pending timer whose time is before the next event
//! must have fired in the recording, and vice versa.

use std::path::{Path, PathBuf};

use blksched::text::SpecError;
use blksched::tunables::KnobError;
use blksched::{Catalogue, GroupError};
use blksched_traces::blk_mq_transcript;
use blksched_traces::call_log::{self, CallLog};
use blksched_traces::elevator_transcript::{Event, ReadError, Transcript};

use crate::calls::{self, LogError};

mod adios;
mod blk_mq;
mod expect;
mod inputs;
mod setup;
mod waiters;

pub use setup::{Setup, SetupError};

/// The result of a replay.
#[derive(Clone, Debug)]
pub struct Report {
    /// The scheduler, in the recorder's words.
    pub scheduler: String,
    /// The kernel, in the recorder's words.
    pub kernel: String,
    /// The elevator that was replayed.
    pub elevator: String,
    /// The number of events that agreed.
    pub events: usize,
    /// Whether the case states that it depends on a tree's shape.
    pub shape_sensitive: bool,
    /// The first difference.
    pub divergence: Option<Divergence>,
}

/// The first difference between the recording and the elevator.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// The line of the file.
    pub line: usize,
    /// What was recorded and what happened.
    pub what: String,
    /// Up to twenty events before it, and the event itself, as recorded.
    pub before: Vec<String>,
}

/// Why a case could not be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The file could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The header describes no queue.
    #[error("{}:1: {message}", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and what was expected.
        message: String,
    },
    /// No elevator here corresponds to it.
    #[error("{}: no elevator here is the recorded `{scheduler}` of `{kernel}`", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// The scheduler, in the recorder's words.
        scheduler: String,
        /// The kernel, in the recorder's words.
        kernel: String,
    },
    /// The corresponding elevator does not exist.
    #[error("{}:1: {source}", path.display())]
    Spec {
        /// The file.
        path: PathBuf,
        /// What is wrong with its name.
        source: Box<SpecError>,
    },
    /// It is a log of calls that no queue here can have given these answers to.
    #[error("{}: {source}", path.display())]
    Log {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: Box<LogError>,
    },
    /// The header sets a knob that the elevator refuses.
    #[error("{}:1: {source}", path.display())]
    Knob {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: Box<KnobError>,
    },
    /// The header has an impossible group.
    #[error("{}:1: {source}", path.display())]
    Group {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: GroupError,
    },
}

/// Replays one file: a kernel's decisions, or a log of calls to a queue of ours.
///
/// # Errors
/// If it cannot be read, or there is no such elevator.
pub fn replay_file(path: &Path) -> Result<Report, ReplayError> {
    if call_log::is_log(path)? {
        return replay_log(path, &Catalogue::builtin());
    }
    if blk_mq_transcript::is_transcript(path)? {
        return blk_mq::replay(path);
    }
    let transcript = Transcript::open(path)?;
    replay(&transcript, path, &Catalogue::builtin())
}

/// Replays a log of calls.
fn replay_log(path: &Path, catalogue: &Catalogue) -> Result<Report, ReplayError> {
    let log = CallLog::open(path)?;
    let replayed = calls::replay(&log, catalogue);
    let report = replayed.map_err(|source| ReplayError::Log { path: path.to_owned(), source: Box::new(source) })?;
    Ok(Report {
        scheduler: report.elevator.clone(),
        kernel: String::new(),
        elevator: report.elevator,
        events: report.calls,
        shape_sensitive: false,
        divergence: report.divergence,
    })
}

/// Replays a case that has been read already; `path` is for errors.
///
/// # Errors
/// If there is no such elevator.
pub fn replay(transcript: &Transcript, path: &Path, catalogue: &Catalogue) -> Result<Report, ReplayError> {
    let setup = Setup::of(&transcript.header, path, catalogue)?;
    Ok(replay_with(transcript, setup))
}

/// Replays a case through a queue that you have created.
pub fn replay_with(transcript: &Transcript, setup: Setup) -> Report {
    let elevator = setup.name.clone();
    let mut replayer = inputs::Replayer::new(setup);
    let mut events = 0;
    let mut divergence = None;
    while let Some(event) = transcript.events.get(events) {
        if let Err(what) = replayer.step(event) {
            divergence = Some(Divergence { line: events + 2, what, before: shown(&transcript.events, events) });
            break;
        }
        events += 1;
    }
    if let (None, Err(what)) = (&divergence, replayer.finish()) {
        divergence =
            Some(Divergence { line: events + 1, what, before: shown(&transcript.events, events.saturating_sub(1)) });
    }
    Report {
        scheduler: transcript.header.scheduler.clone(),
        kernel: transcript.header.kernel.clone(),
        elevator,
        events,
        shape_sensitive: transcript.is_shape_dependent(),
        divergence,
    }
}

/// The twenty events before `at`, and the one at `at`.
fn shown(events: &[Event], at: usize) -> Vec<String> {
    let from = at.saturating_sub(20);
    events.get(from..=at).unwrap_or_default().iter().map(Event::to_json).collect()
}
