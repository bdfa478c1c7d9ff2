//! A queue's creation: when it was made or split off, whether it is new, whether it belongs to a large burst.
//!
//! **Origin** docs/behaviour/elevators-6.1.md#b8.
//! **In the kernel** `creation_time`, `split_time`, `just_created`, `in_large_burst`.

use crate::elevators::bfq::timeouts::{Jiffy, LONG_AGO};
use crate::request::Waiter;

/// A queue's creation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Birth {
    made: Jiffy,
    /// When it was split off a shared queue.
    split: Jiffy,
    /// Whether it has not had a request yet.
    is_new: bool,
    in_large_burst: bool,
}

impl Birth {
    pub(crate) fn new(now: Jiffy, waiter: Waiter) -> Birth {
        Birth { made: now, split: LONG_AGO, is_new: waiter == Waiter::Sync, in_large_burst: false }
    }

    #[inline]
    pub(crate) fn made(&self) -> Jiffy {
        self.made
    }

    #[inline]
    pub(crate) fn is_new(&self) -> bool {
        self.is_new
    }

    #[inline]
    pub(crate) fn in_large_burst(&self) -> bool {
        self.in_large_burst
    }

    /// Whether it was split off at most so many ticks ago.
    #[inline]
    pub(crate) fn was_split_within(&self, now: Jiffy, ticks: Jiffy) -> bool {
        self.split + ticks >= now
    }

    /// Whether it was created, and split off, more than so many ticks ago.
    #[inline]
    pub(crate) fn is_older_than(&self, now: Jiffy, ticks: Jiffy) -> bool {
        now > self.split.max(self.made) + ticks
    }

    /// It has had a request.
    pub(crate) fn mark_used(&mut self) {
        self.is_new = false;
    }

    pub(crate) fn note_split(&mut self, now: Jiffy) {
        self.split = now;
    }

    pub(crate) fn join_large_burst(&mut self) {
        self.in_large_burst = true;
    }

    pub(crate) fn leave_large_burst(&mut self) {
        self.in_large_burst = false;
    }
}
