//! How many requests the disk has, and when it last completed one that a process waited for.
//!
//! **In the kernel** `rq_in_driver`, `rq_in_flight`, `last_delayed_sync`, `last_end_sync_rq`.

use crate::request::{PerWaiter, Waiter};
use crate::time::Tick;

/// The requests beyond the queues.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InDevice {
    in_driver: PerWaiter<u32>,
    /// Dispatched and not yet completed: with those on the dispatch list.
    in_flight: PerWaiter<u32>,
}

impl InDevice {
    #[inline(always)]
    pub(crate) fn in_driver(&self) -> u32 {
        self.in_driver.sync + self.in_driver.async_
    }

    #[inline(always)]
    pub(crate) fn async_in_driver(&self) -> u32 {
        self.in_driver.async_
    }

    #[inline(always)]
    pub(crate) fn async_in_flight(&self) -> u32 {
        self.in_flight.async_
    }

    #[inline(always)]
    pub(crate) fn sync_in_flight(&self) -> u32 {
        self.in_flight.sync
    }

    /// A request leaves its queue, which is of this kind.
    #[inline(always)]
    pub(crate) fn dispatched(&mut self, queue: Waiter) {
        self.in_flight[queue] += 1;
    }

    /// A request of a queue of this kind has completed.
    #[inline(always)]
    pub(crate) fn completed(&mut self, queue: Waiter) {
        self.in_flight[queue] -= 1;
    }

    /// The driver takes a request.
    #[inline(always)]
    pub(crate) fn taken(&mut self, request: Waiter) {
        self.in_driver[request] += 1;
    }

    /// The driver returns a request, done or not.
    #[inline(always)]
    pub(crate) fn returned(&mut self, request: Waiter) {
        self.in_driver[request] -= 1;
    }
}

/// When requests that a process waited for last completed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastSync {
    any: Tick,
    delayed: Tick,
}

impl LastSync {
    pub(crate) fn new(any: Tick, delayed: Tick) -> LastSync {
        LastSync { any, delayed }
    }

    /// One completes that should have been served until `expires`. Only a delayed read shows that write-back is in the
    /// way (2.6.33). Until 2.6.32 any read counts, so a steady reader that is served at once keeps write-back at one
    /// request.
    #[inline]
    pub(crate) fn completed(&mut self, now: Tick, expires: Tick) {
        self.any = now;
        if expires <= now {
            self.delayed = now;
        }
    }

    /// How long ago one completed.
    pub(crate) fn ago(&self, now: Tick) -> Tick {
        now.wrapping_sub(self.any)
    }

    /// How long ago one completed late.
    pub(crate) fn delayed_ago(&self, now: Tick) -> Tick {
        now.wrapping_sub(self.delayed)
    }
}
