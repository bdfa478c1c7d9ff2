//! Replays recordings of real file systems (`fs-recording/1`) through the host's memory and its file system.
//!
//! **Rule** every recorded call is made at its recorded time, and every request that comes of it completes when the
//! recorded one in its place did. The requests must be the recorded ones, in the same order: by the same task, of the
//! same kind, flags and length; and each call must return when it did, within a quarter of the disk's time for a
//! request. The replay is told the outcome of races (how long jbd2 took to send a commit block), the places that new
//! blocks got, and what was there before (which a recording does not say by itself).

mod expected;
mod replay;
mod scene;

use std::path::Path;

use blksched_traces::elevator_transcript::ReadError;
use blksched_traces::fs_recording::FsRecording;

pub use replay::Difference;

/// The result of a replay.
#[derive(Clone, Debug)]
pub struct FsReplay {
    /// `ext4` or `xfs`.
    pub fs: String,
    /// The kernel, in the recorder's words.
    pub kernel: String,
    /// Requests and returns that agreed.
    pub events: usize,
    /// The differences, at most twenty.
    pub differences: Vec<Difference>,
}

/// Why a recording was not replayed.
#[derive(Debug, thiserror::Error)]
pub enum FsReplayError {
    /// It could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It does what is not modelled.
    #[error("{0}")]
    NotModelled(String),
}

/// Replays one file.
///
/// # Errors
/// If it cannot be read, or does what is not modelled.
pub fn replay_file(path: &Path) -> Result<FsReplay, FsReplayError> {
    let recording = FsRecording::open(path)?;
    let mut best = replayed(&recording, Before::default())?;
    if best.fs != "xfs" {
        return Ok(best);
    }
    let names = if recording.events.len() < MANY { NAMES } else { 0 };
    for nth in 1..2 * (1 + names) {
        if best.differences.is_empty() {
            break;
        }
        let other = replayed(&recording, Before { left_over: nth % 2 == 1, names: nth / 2 })?;
        if other.differences.len() < best.differences.len() {
            best = other;
        }
    }
    Ok(best)
}

/// Events of a recording that is too long to be replayed many times.
const MANY: usize = 5000;

/// How many names more than a recording shows may be in its directories.
const NAMES: u64 = 8;

/// What the preparation left of an xfs, which a recording does not say; what agrees best was so.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    /// An unlinked file's end is in the list.
    left_over: bool,
    /// As many files are in each directory beside those that are used.
    names: u64,
}

fn replayed(recording: &FsRecording, before: Before) -> Result<FsReplay, FsReplayError> {
    let scene = scene::Scene::of(recording, before).map_err(FsReplayError::NotModelled)?;
    Ok(replay::run(recording, scene))
}
