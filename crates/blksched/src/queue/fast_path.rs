//! Which parts of the queue are known to be inactive; `queue/steps/fast_path.rs` uses this.

use crate::time::Instant;

/// What is known to be inactive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FastPath {
    /// Before this moment, issuing and completing need only consider the elevator and the request.
    pub(crate) until: Instant,
    /// The same for submitting bios of at most this many sectors; 0: no bio takes the short path.
    pub(super) sectors: u32,
    /// The same for bursts of one bio of at most this many sectors; 0: it is submitted, and then its submitter waits.
    pub(super) alone: u32,
}

impl FastPath {
    /// Unknown: it must be determined.
    pub(super) const UNKNOWN: FastPath = FastPath { until: Instant::ZERO, sectors: 0, alone: 0 };
}
