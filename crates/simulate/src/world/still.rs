//! **What for**: a world whose time does not advance reports this, whatever its sources are, instead of never ending.

use blksched::Instant;

/// This much may happen at one moment, and this much more for each source.
pub(super) const MOST_STEPS: u64 = 2_000_000;
pub(super) const STEPS_PER_SOURCE: u64 = 20_000;

/// Things go on happening, and none of them takes any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "time stands still at {at}: {steps} steps, and none took any time. A process that never thinks never ends on a \
     disk that takes no time: give it an end (loops, io_size), something that takes time (thinktime, rate_iops), or \
     another disk"
)]
pub struct StandsStill {
    /// When.
    pub at: Instant,
    /// How much has happened at that moment.
    pub steps: u64,
}
