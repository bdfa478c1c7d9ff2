//! A queue's slices: its budget, its time, and what it has been served since it became busy.
//!
//! **Origin** docs/behaviour/elevators-6.1.md#b13.
//! **In the kernel** `max_budget` of a queue, `budget_timeout`, `non_blocking_wait_rq`, `wait_request`,
//! `service_from_backlogged`, `first_IO_time`, `fifo_expire` of a queue, `last_idle_bklogged`.

use crate::elevators::bfq::timeouts::{Jiffy, LONG_AGO};

/// The greatest rate of a soft real-time queue \[sectors per second\].
const SLOW_RATE: i64 = 7000;

/// A queue's slices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice {
    assigned: i64,
    /// While it is in service, the latest end of its slice; otherwise, when it became idle.
    expires: Jiffy,
    looked_for_oldest: bool,
    waits: bool,
    keeps_budget: bool,
    served: i64,
    first_served: Jiffy,
    busy_since: Jiffy,
}

impl Slice {
    pub(crate) fn new(assigned: i64) -> Slice {
        Slice {
            assigned,
            expires: LONG_AGO,
            looked_for_oldest: false,
            waits: false,
            keeps_budget: false,
            served: 0,
            first_served: LONG_AGO,
            busy_since: LONG_AGO,
        }
    }

    /// The budget that feedback assigns it \[sectors\].
    #[inline]
    pub(crate) fn assigned(&self) -> i64 {
        self.assigned
    }

    pub(crate) fn assign(&mut self, budget: i64) {
        self.assigned = budget;
    }

    /// Begins a slice that lasts until then at the latest.
    pub(crate) fn begin(&mut self, expires: Jiffy) {
        self.looked_for_oldest = false;
        self.expires = expires;
    }

    /// Whether its slice is over by time.
    #[inline]
    pub(crate) fn is_out_of_time(&self, now: Jiffy) -> bool {
        now >= self.expires
    }

    /// It has no request left, here or in the device.
    #[inline]
    pub(crate) fn became_idle(&mut self, now: Jiffy) {
        self.expires = now;
    }

    /// When it became idle, of a queue that is.
    pub(crate) fn idle_since(&self) -> Jiffy {
        self.expires
    }

    /// Whether it is idle for longer than this.
    pub(crate) fn is_idle_for(&self, now: Jiffy, ticks: Jiffy) -> bool {
        now > self.expires + ticks
    }

    /// True once per slice: its oldest request is to be checked.
    #[inline(always)]
    pub(crate) fn claim_check_of_oldest(&mut self) -> bool {
        !core::mem::replace(&mut self.looked_for_oldest, true)
    }

    /// Whether the disk is being left idle for it.
    #[inline]
    pub(crate) fn waits(&self) -> bool {
        self.waits
    }

    #[inline]
    pub(crate) fn set_waits(&mut self, waits: bool) {
        self.waits = waits;
    }

    /// Whether it ran empty with budget left, which is kept for it.
    pub(crate) fn keeps_budget(&self) -> bool {
        self.keeps_budget
    }

    pub(crate) fn keep_budget(&mut self) {
        self.keeps_budget = true;
    }

    /// The kept budget is used or dropped; true if there was one.
    pub(crate) fn take_kept_budget(&mut self) -> bool {
        core::mem::take(&mut self.keeps_budget)
    }

    pub(crate) fn became_busy(&mut self, now: Jiffy) {
        self.busy_since = now;
        self.served = 0;
    }

    /// Counts sectors that it was served since it last became busy.
    #[inline(always)]
    pub(crate) fn note_served(&mut self, now: Jiffy, sectors: i64) {
        if self.served == 0 {
            self.first_served = now;
        }
        self.served += sectors;
    }

    /// Whether it is too late to merge: it was first served more than so many ticks ago since it became busy.
    #[inline(always)]
    pub(crate) fn was_served_for(&self, now: Jiffy, ticks: Jiffy) -> bool {
        self.served > 0 && now > self.first_served + ticks
    }

    /// When what it was served since it became busy amounts to a soft real-time rate.
    pub(crate) fn slow_from(&self, second: Jiffy) -> Jiffy {
        self.busy_since + second * self.served / SLOW_RATE
    }
}
