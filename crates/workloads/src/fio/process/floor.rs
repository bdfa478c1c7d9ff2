//! `rate_min` and `rate_iops_min`: a job that is slower gives up.
//!
//! **Rule** The first two seconds do not count (tried). From then on, at the first completion after each `rate_cycle`,
//! the amount completed in it is compared with the minimum.

use blksched::{Instant, Span};

use super::pace::RateLimit;
use crate::fio::ddir::{Ddir, PerDdir};

const SETTLES: Span = Span::from_secs(2);

/// The job's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RateFloor {
    pub least: PerDdir<RateLimit>,
    pub cycle: Span,
}

#[derive(Clone, Debug)]
pub(super) struct Floor {
    said: RateFloor,
    /// When the cycle began.
    began: Instant,
    done: PerDdir<u64>,
}

impl Floor {
    pub fn new(said: RateFloor) -> Floor {
        Floor { said, began: Instant::NEVER, done: PerDdir::default() }
    }

    pub fn begin(&mut self, now: Instant) {
        self.began = now + SETTLES;
    }

    /// Counts a completed I/O; returns whether the job is too slow.
    pub fn completed(&mut self, now: Instant, ddir: Ddir, bytes: u64) -> bool {
        if now < self.began {
            return false;
        }
        self.done[ddir] += match self.said.least[ddir] {
            RateLimit::None => 0,
            RateLimit::IosPerSecond(_) => 1,
            RateLimit::BytesPerSecond(_) => bytes,
        };
        let span = now.since(self.began);
        if span < self.said.cycle || span.is_zero() {
            return false;
        }
        let short = |ddir: Ddir| {
            let least = match self.said.least[ddir] {
                RateLimit::None => 0,
                RateLimit::IosPerSecond(least) | RateLimit::BytesPerSecond(least) => least,
            };
            u128::from(self.done[ddir]) * 1_000_000_000 < u128::from(least) * u128::from(span.as_ns())
        };
        let slow = Ddir::ALL.into_iter().any(short);
        (self.began, self.done) = (now, PerDdir::default());
        slow
    }
}
