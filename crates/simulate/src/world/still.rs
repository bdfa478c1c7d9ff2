//! **What for**: a world whose time does not advance reports this, whatever its sources are, instead of never ending.

use blksched::Instant;

/// The most steps at one moment, and further ones for each source.
pub(super) const MOST_STEPS: u64 = 2_000_000;
pub(super) const STEPS_PER_SOURCE: u64 = 20_000;

/// There are always more steps, and none of them takes any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "time stands still at {at}: {steps} steps, and none took any time. A process that never thinks never ends on a \
     disk that takes no time: give it an end (loops, io_size), something that takes time (thinktime, rate_iops), or \
     another disk"
)]
pub struct StandsStill {
    /// The time.
    pub at: Instant,
    /// The number of steps at that time.
    pub steps: u64,
}
