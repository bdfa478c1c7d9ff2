//! A queue's turn: how long it has the disk.
//!
//! **Rule** `length = base + base/5 · (4 − level)`, base `slice_sync` or `slice_async`. It runs from the first
//! *completion* of the turn. With `low_latency` and service trees by workload (2.6.33) it shrinks so that all processes
//! of the class have a turn within 300 ms; in 4.20 all of the group within the group's part of `target_latency`. What
//! is left of it, or what was taken too much, moves the next turn.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c10, #c12 and #c33.5; docs/behaviour/elevators-4.20.md#x.10 and
//! #x.12; the sign of the residual is a bug of 2.6.31 ([`Residual`]). **Shown by** shares of readers of different
//! priorities. **Costs when wrong** fairness.
//! **In the kernel** `cfq_prio_slice`, `cfq_set_prio_slice`, `cfq_scaled_cfqq_slice`, `slice_end`, `slice_resid`,
//! `cfq_slice_used`.

#![doc(alias = "cfq_prio_slice")]
#![doc(alias = "cfq_set_prio_slice")]
#![doc(alias = "cfq_scaled_cfqq_slice")]
#![doc(alias = "slice_end")]
#![doc(alias = "slice_resid")]
#![doc(alias = "cfq_slice_used")]

use super::Cfq;
use super::priority::IoprioClass;
use super::qid::Qid;
use super::service_tree::Trees;
use super::tunables::Ticks;
use crate::elevator::Cx;
use crate::request::Waiter;
use crate::time::Tick;

/// What becomes of time left over when a turn ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Residual {
    /// It makes the queue wait longer: the wrong sign of 2.6.31.
    Added,
    /// The queue comes earlier (2.6.32).
    Subtracted,
    /// The same, and a turn that ends before its first completion leaves all of itself (4.20).
    Whole,
}

/// How far a turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing of it has come back yet.
    Fresh,
    /// It ends then \[ticks\].
    Until(Tick),
}

/// A queue's turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice {
    pub(super) progress: Progress,
    /// When the turn began.
    pub(super) activated: Tick,
    /// When its first request came back.
    pub(super) started: Option<Tick>,
    /// How long it was to be, from then on.
    pub(super) allocated: Tick,
    /// Requests sent.
    pub(super) dispatched: u32,
    /// The oldest request was looked at.
    pub(super) looked_at_age: bool,
    /// The disk idles for the queue, or did until a timer that changed nothing.
    pub(super) waits_for_request: bool,
    /// The disk idles beyond the slice, since nobody else is there.
    pub(super) waits_while_alone: bool,
    /// A request came while the disk idled: the turn survives one look at the clock.
    pub(super) must_dispatch: bool,
    /// What is left of the last turn \[ticks\]; negative: it had too much.
    pub(super) residual: i64,
}

impl Default for Slice {
    fn default() -> Slice {
        Slice {
            progress: Progress::Fresh,
            activated: 0,
            started: None,
            allocated: 0,
            dispatched: 0,
            looked_at_age: false,
            waits_for_request: false,
            waits_while_alone: false,
            must_dispatch: false,
            residual: 0,
        }
    }
}

impl Slice {
    /// Begin a turn.
    pub(super) fn activate(&mut self, now: Tick) {
        *self = Slice { residual: self.residual, activated: now, ..Slice::default() };
    }

    /// Its time is up.
    pub(super) fn is_used(&self, now: Tick) -> bool {
        matches!(self.progress, Progress::Until(end) if now >= end)
    }

    /// What is left, in a kernel's unsigned arithmetic: of a turn that is over it is huge.
    pub(super) fn left_unsigned(&self, now: Tick) -> Tick {
        match self.progress {
            Progress::Fresh => 0u64.wrapping_sub(now),
            Progress::Until(end) => end.wrapping_sub(now),
        }
    }

    /// Less than half of it is over.
    pub(super) fn is_young(&self, now: Tick) -> bool {
        self.progress == Progress::Fresh
            || self.started.is_some_and(|started| self.left_unsigned(now) > now.wrapping_sub(started))
    }

    /// It has begun, and goes on for so long at least.
    pub(super) fn lasts(&self, now: Tick, for_: Tick) -> bool {
        matches!(self.progress, Progress::Until(end) if now.saturating_add(for_) <= end)
    }

    /// What is left; 0 before the first completion.
    pub(super) fn left(&self, now: Tick) -> Tick {
        match self.progress {
            Progress::Fresh => 0,
            Progress::Until(end) => end.saturating_sub(now),
        }
    }
}

/// What becomes of the rest of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// It counts for the next one.
    Kept,
    /// It is lost.
    Dropped,
}

/// A level's share of `base` \[ticks\].
///
/// With the default of 100 ms, levels 0 to 7:
/// ```
/// use blksched::elevators::cfq::scaled;
/// assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(|level| scaled(100, level)), [180, 160, 140, 120, 100, 80, 60, 40]);
/// ```
pub fn scaled(base: u64, level: u8) -> i64 {
    let base = base as i64;
    base + base / 5 * (4 - i64::from(level))
}

pub(super) fn by_level(waiter: Waiter, level: u8, ticks: &Ticks) -> i64 {
    scaled(if waiter == Waiter::Sync { ticks.slice_sync } else { ticks.slice_async }, level)
}

/// A slice among `average` queues that share `target` \[ticks\].
fn shortened(slice: i64, average: u64, target: u64, ticks: &Ticks) -> i64 {
    let (average, target, base) = (average as i64, target as i64, ticks.slice_sync as i64);
    let expected = base.saturating_mul(average);
    if expected <= target {
        return slice;
    }
    let least = slice.min((2 * ticks.slice_idle as i64).saturating_mul(slice) / base);
    (slice.saturating_mul(target) / expected).max(least)
}

impl Cfq {
    /// The turn's first request came back: how long it goes on \[ticks\].
    pub(super) fn slice_length(&mut self, q: Qid) -> i64 {
        let ticks = self.ticks;
        let queue = &self.queues[q];
        let group = queue.group;
        let slice = by_level(queue.waiter, queue.ioprio.level, &ticks);
        if self.rules.trees == Trees::Single || !self.knobs.low_latency {
            return slice;
        }
        // The idle class counts among best effort here.
        let rank = if queue.is_real_time() { IoprioClass::RealTime } else { IoprioClass::BestEffort };
        let busy = u64::from(self.service.busy_of(group, rank));
        let target = self.group_target(group);
        shortened(slice, self.groups[group].averaged(rank, busy), target, &ticks)
    }

    pub(super) fn start_slice(&mut self, cx: &Cx<'_>, q: Qid) {
        if self.queues[q].slice.progress == Progress::Fresh {
            let (now, length) = (self.now(cx), self.slice_length(q));
            let slice = &mut self.queues[q].slice;
            slice.progress = Progress::Until(now.wrapping_add_signed(length));
            (slice.started, slice.allocated) = (Some(now), length.max(0) as Tick);
        }
    }

    /// What a turn that ends now leaves for the next one; `None`: it counts no more than the last one did.
    pub(super) fn rest_of_turn(&mut self, cx: &Cx<'_>, q: Qid) -> Option<i64> {
        match (self.queues[q].slice.progress, self.rules.residual) {
            (Progress::Until(end), _) => Some(end.wrapping_sub(self.now(cx)) as i64),
            (Progress::Fresh, Residual::Whole) => Some(self.slice_length(q)),
            (Progress::Fresh, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::PerWaiter;

    const TICKS: Ticks = Ticks {
        slice_sync: 100,
        slice_async: 40,
        slice_idle: 8,
        group_idle: 8,
        target_latency: 300,
        fifo_expire: PerWaiter { sync: 125, async_: 250 },
    };

    #[test]
    fn three_readers_keep_their_slices_and_ten_share_300_ms() {
        assert_eq!(shortened(100, 3, 300, &TICKS), 100);
        assert_eq!(shortened(100, 10, 300, &TICKS), 30);
    }

    #[test]
    fn a_slice_does_not_shrink_below_twice_the_idle_time() {
        assert_eq!(shortened(100, 100, 300, &TICKS), 16);
    }

    #[test]
    fn a_turn_is_young_until_half_of_it_is_over() {
        let slice = Slice { progress: Progress::Until(200), started: Some(100), ..Slice::default() };
        assert!(Slice::default().is_young(7) && slice.is_young(149) && !slice.is_young(150));
    }

    #[test]
    fn a_turn_without_a_completion_is_never_over() {
        let mut slice = Slice::default();
        assert!(!slice.is_used(u64::MAX) && slice.left(7) == 0);
        slice.progress = Progress::Until(10);
        assert!(!slice.is_used(9) && slice.is_used(10) && slice.left(7) == 3);
    }
}
