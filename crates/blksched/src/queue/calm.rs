//! Which parts of the queue are known to be quiet; `queue/steps/calm.rs` uses this.

use crate::time::Instant;

/// What is known to be quiet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Calm {
    /// Before this moment issuing and completing need not look at anything but the elevator and the request.
    pub(crate) until: Instant,
    /// So need bios of at most this many sectors; 0: no bio takes the short way.
    pub(super) sectors: u32,
    /// So need bursts of one bio of at most this many sectors; 0: they are submitted, and then their submitter waits.
    pub(super) alone: u32,
}

impl Calm {
    /// It has to be looked at.
    pub(super) const UNKNOWN: Calm = Calm { until: Instant::ZERO, sectors: 0, alone: 0 };
}
