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
    let replay = replayed(&recording, false)?;
    if replay.differences.is_empty() || replay.fs != "xfs" {
        return Ok(replay);
    }
    let other = replayed(&recording, true)?;
    Ok(if other.differences.len() < replay.differences.len() { other } else { replay })
}

/// Replays it, with or without something left in xfs's list by the preparation.
fn replayed(recording: &FsRecording, left_over: bool) -> Result<FsReplay, FsReplayError> {
    let scene = scene::Scene::of(recording, left_over).map_err(FsReplayError::NotModelled)?;
    Ok(replay::run(recording, scene))
}
