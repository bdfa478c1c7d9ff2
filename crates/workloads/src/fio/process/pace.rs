//! `rate` and `rate_iops`: not faster than a schedule that begins with the job.
//!
//! **Rule** an I/O may go when `done / rate` has passed since the beginning, `done` being what this direction has
//! submitted before it. So a job that fell behind catches up, as fio's manual says.

use blksched::{Instant, Span};

/// What bounds a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    None,
    BytesPerSecond(u64),
    IosPerSecond(u64),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    limit: Limit,
    began: Instant,
    done: u64,
}

impl Pace {
    pub fn new(limit: Limit) -> Pace {
        Pace { limit, began: Instant::ZERO, done: 0 }
    }

    pub fn begin(&mut self, now: Instant) {
        self.began = now;
    }

    pub fn submitted(&mut self, bytes: u64) {
        self.done = self.done.saturating_add(if matches!(self.limit, Limit::IosPerSecond(_)) { 1 } else { bytes });
    }

    /// When its next I/O may go.
    pub fn due(&self) -> Instant {
        let (Limit::BytesPerSecond(rate) | Limit::IosPerSecond(rate)) = self.limit else { return Instant::ZERO };
        let ns = u128::from(self.done) * 1_000_000_000 / u128::from(rate);
        self.began + Span::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}
