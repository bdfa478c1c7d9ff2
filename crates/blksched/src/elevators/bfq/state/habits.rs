//! A queue's behaviour: its think time, whether it seeks, whether it keeps the disk busy.
//!
//! **Rule** *Think time*: from the moment it has no request left until its next one, each capped at two idle times;
//! short unless its mean exceeds half an idle time. *Seeks*: of the last 32 requests more than 19 began farther than
//! 800 sectors from the end of the one before (and were small, if the disk does not rotate). *I/O-bound*: at least four
//! fifths of the time it had something to do. Until 5.10: until its slice ended with the disk idled in vain and at most
//! a fifth of the budget served, and again once 120 requests in a row made it busy in time.
//! **Origin** docs/behaviour/elevators-6.1.md#b2.5 and #b2.6; docs/behaviour/elevators-4.19-5.15.md#w5, #w9, #w10.
//! **Costs when wrong** every idle decision, and every merge of queues.
//! **In the kernel** `bfq_update_io_thinktime`, `has_short_ttime`, `seek_history`, `BFQQ_SEEKY`, `bfq_ttime`,
//! `IO_bound`, `io_start_time`.

use crate::elevators::bfq::rules::OnlySeeks;
use crate::estimate::ThinkTime;
use crate::request::{Sector, Waiter};

/// A distance greater than this is a seek \[sectors\].
pub(crate) const SEEK: u64 = 800;

/// On a non-rotational disk, requests of at least this size never count as seeks \[sectors\].
pub(crate) const LARGE: u32 = 64;

/// A queue is seeky if more than this many of its last 32 requests were seeks.
const SEEKY: u32 = 19;

/// Until 5.10: this many requests in time show that a queue is I/O-bound.
const IN_TIME: u32 = 120;

/// The window over which idle time is measured.
const WINDOW_NS: u64 = 200_000_000;

/// A queue's think time and I/O intensity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    /// When one of its requests last completed.
    last_end_ns: u64,
    think: ThinkTime,
    has_short_ttime: bool,
    is_io_bound: bool,
    window_from_ns: u64,
    /// How long it was idle since `window_from_ns`.
    idle_ns: u64,
    /// Until 5.10: how often in a row it became busy in time.
    in_time: u32,
}

impl Habits {
    pub(crate) fn new(ns: u64, waiter: Waiter) -> Habits {
        Habits {
            // Later than now, so the first think time underflows and is capped: as in the kernel.
            last_end_ns: ns + 1,
            think: ThinkTime::default(),
            has_short_ttime: waiter == Waiter::Sync,
            is_io_bound: true,
            window_from_ns: ns,
            idle_ns: 0,
            in_time: 0,
        }
    }

    /// What is known before a process's own queue was ever saved: nothing.
    pub(crate) fn unknown() -> Habits {
        let new = Habits::new(0, Waiter::Sync);
        Habits { has_short_ttime: false, is_io_bound: false, last_end_ns: 0, ..new }
    }

    /// Whether its think time is short (`has_short_ttime`).
    #[inline]
    pub(crate) fn has_short_ttime(&self) -> bool {
        self.has_short_ttime
    }

    #[inline]
    pub(crate) fn is_io_bound(&self) -> bool {
        self.is_io_bound
    }

    /// One of its requests completes.
    #[inline(always)]
    pub(crate) fn completed(&mut self, ns: u64) {
        self.last_end_ns = ns;
    }

    /// Whether its last request completed at most so long ago.
    pub(crate) fn returned_within(&self, ns: u64, longest_ns: u64) -> bool {
        ns <= self.last_end_ns + longest_ns
    }

    /// A think time ends. `idle`: the idle time \[ns\].
    #[inline(always)]
    pub(crate) fn thought(&mut self, ns: u64, idle: u64) {
        self.think.add(ns.wrapping_sub(self.last_end_ns), idle);
    }

    /// Whether its think time is known to be longer on average \[ns\].
    #[inline(always)]
    pub(crate) fn thinks_longer_than(&self, ns: u64) -> bool {
        self.think.valid_mean().is_some_and(|mean| mean > ns)
    }

    /// Its think time has become short, or long.
    pub(crate) fn set_short_ttime(&mut self, shortly: bool) {
        self.has_short_ttime = shortly;
    }

    /// Gives its being I/O-bound to a queue that it is merged into. Moved rather than copied: as in the kernel, for no
    /// known reason.
    pub(crate) fn give_io_bound(&mut self) -> bool {
        core::mem::take(&mut self.is_io_bound)
    }

    /// Takes what another queue gave.
    pub(crate) fn take_io_bound(&mut self, given: bool) {
        self.is_io_bound |= given;
    }

    /// Restores what was saved when the queue was merged.
    pub(crate) fn restore(&mut self, saved: Habits) {
        *self = Habits { in_time: self.in_time, ..saved };
    }

    /// Until 5.10: it became busy, in time or not, which may show that it is I/O-bound again.
    pub(crate) fn became_busy(&mut self, in_time: bool) {
        if self.is_io_bound {
            return;
        }
        self.in_time = if in_time { self.in_time.saturating_add(1) } else { 0 };
        self.is_io_bound = self.in_time >= IN_TIME;
    }

    /// Until 5.10: the disk was idled for it in vain.
    pub(crate) fn idled_in_vain(&mut self, served: i64, budget: i64) {
        self.is_io_bound &= served > 2 * budget / 10;
    }

    /// Updates the I/O intensity when a request arrives; `ran_empty`: the queue was idle until now.
    pub(crate) fn watch(&mut self, ns: u64, ran_empty: bool, is_new: bool) {
        let window = ns - self.window_from_ns;
        if ran_empty {
            self.idle_ns = self.idle_ns.wrapping_add(ns.wrapping_sub(self.last_end_ns));
        }
        if is_new {
            return;
        }
        self.is_io_bound = self.idle_ns.wrapping_mul(5) <= window;
        if window > WINDOW_NS {
            self.window_from_ns = ns - window / 2;
            self.idle_ns /= 2;
        }
    }
}

/// The last 32 requests, and where the last one ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeks {
    history: u32,
    last_end: Sector,
}

impl Seeks {
    pub(crate) fn new() -> Seeks {
        Seeks { history: 1, last_end: Sector(0) }
    }

    /// Notes a request.
    #[inline(always)]
    pub(crate) fn add(&mut self, start: Sector, sectors: u32, rotational: bool) {
        let seek = seeks(self.last_end, start, sectors, rotational);
        self.history = self.history << 1 | u32::from(seek);
        self.last_end = start + sectors;
    }

    pub(crate) fn is_seeky(self) -> bool {
        self.history.count_ones() > SEEKY
    }

    /// Whether it only seeks.
    pub(crate) fn are_all(self, rule: OnlySeeks) -> bool {
        match rule {
            OnlySeeks::AllSeeks => self.history == u32::MAX,
            OnlySeeks::AnySeek => self.history != 0,
        }
    }
}

/// Whether going from `last` to `start` is a seek; a queue's first request is not.
pub(crate) fn seeks(last: Sector, start: Sector, sectors: u32, rotational: bool) -> bool {
    last != Sector(0) && start.distance(last) > SEEK && (rotational || sectors < LARGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seek_is_far_and_without_an_arm_small_too() {
        let far = |sectors, rotational| seeks(Sector(1), Sector(900), sectors, rotational);
        assert!(far(64, true) && far(63, false) && !far(64, false));
        assert!(!seeks(Sector(100), Sector(900), 8, true) && !seeks(Sector(0), Sector(900), 8, true));
    }

    #[test]
    fn twenty_of_32_make_a_seeker() {
        let history = |bits: u32| Seeks { history: (1 << bits) - 1, last_end: Sector(0) };
        assert!(!history(19).is_seeky() && history(20).is_seeky() && !history(20).are_all(OnlySeeks::AllSeeks));
        assert!(history(1).are_all(OnlySeeks::AnySeek) && !history(0).are_all(OnlySeeks::AnySeek));
    }

    #[test]
    fn a_process_that_thinks_a_quarter_of_the_time_is_not_io_bound() {
        let mut habits = Habits::new(0, Waiter::Sync);
        habits.last_end_ns = 0;
        habits.watch(10_000_000, true, false);
        assert!(!habits.is_io_bound);
        habits.watch(60_000_000, false, false);
        assert!(habits.is_io_bound);
    }

    #[test]
    fn until_5_10_a_fifth_of_the_budget_keeps_a_queue_io_bound_and_120_in_time_make_it_so_again() {
        let mut habits = Habits::new(0, Waiter::Sync);
        habits.idled_in_vain(21, 100);
        assert!(habits.is_io_bound);
        habits.idled_in_vain(20, 100);
        assert!(!habits.is_io_bound);
        (0..119).for_each(|_| habits.became_busy(true));
        habits.became_busy(false);
        (0..119).for_each(|_| habits.became_busy(true));
        assert!(!habits.is_io_bound);
        habits.became_busy(true);
        assert!(habits.is_io_bound);
        // The count stays, so after another clearing one in time is enough.
        habits.idled_in_vain(0, 100);
        habits.became_busy(true);
        assert!(habits.is_io_bound);
    }
}
