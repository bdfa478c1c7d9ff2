//! The state of a queue's slice.
//!
//! **Rule** A slice runs from its first *completion*, so before that it has no end; its unused rest, or its overrun,
//! shifts the next one.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c10 and #c12.
//! **In the kernel** `slice_end`, `slice_resid`, `cfq_slice_used`, `cfq_cfqq_slice_new`, `slice_start`,
//! `allocated_slice`, `must_dispatch`, `wait_request`, `slice_new`, `dispatch_start`.

use crate::time::Tick;

/// The progress of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Nothing has completed yet, so it has no end.
    Unstarted,
    /// It ends at this time \[ticks\].
    Running(Tick),
    /// The slice is over, but no other queue waits: the disk idles until this time \[ticks\], and the next request
    /// begins a new slice.
    WaitingAlone(Tick),
}

impl Progress {
    /// Its end, once one of its requests has completed.
    pub(crate) fn end(self) -> Option<Tick> {
        match self {
            Progress::Unstarted => None,
            Progress::Running(end) | Progress::WaitingAlone(end) => Some(end),
        }
    }
}

/// Whether the disk is being left idle for the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Idle {
    /// It is not.
    #[default]
    No,
    /// It is, or was until a timer fired that changed nothing.
    WaitsForRequest,
}

/// Whether a request arrived while the disk idled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Duty {
    #[default]
    None,
    /// One did: the slice survives one test of its end, as otherwise the idling would have been in vain.
    MustDispatch,
}

/// Whether this slice has checked its oldest request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AgeCheck {
    #[default]
    Due,
    Done,
}

/// A queue's slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice {
    progress: Progress,
    /// When the slice began.
    activated: Tick,
    /// When its first request completed.
    started: Option<Tick>,
    /// Its allocated length, from then on.
    allocated: Tick,
    /// The number of requests dispatched in it.
    dispatched: u32,
    age_check: AgeCheck,
    idle: Idle,
    duty: Duty,
    /// The unused rest of the last slice \[ticks\]; negative if it overran.
    residual: i64,
}

impl Default for Slice {
    fn default() -> Slice {
        Slice {
            progress: Progress::Unstarted,
            activated: 0,
            started: None,
            allocated: 0,
            dispatched: 0,
            age_check: AgeCheck::Due,
            idle: Idle::No,
            duty: Duty::None,
            residual: 0,
        }
    }
}

impl Slice {
    /// Begins a slice.
    pub(crate) fn activate(&mut self, now: Tick) {
        *self = Slice { residual: self.residual, activated: now, ..Slice::default() };
    }

    /// How far it is.
    #[inline]
    pub(crate) fn progress(&self) -> Progress {
        self.progress
    }

    /// When it began.
    pub(crate) fn activated(&self) -> Tick {
        self.activated
    }

    /// When its first request completed.
    pub(crate) fn started(&self) -> Option<Tick> {
        self.started
    }

    /// Its allocated length, from then on.
    pub(crate) fn allocated(&self) -> Tick {
        self.allocated
    }

    /// Its first request has completed, which begins its time \[ticks\].
    pub(crate) fn start(&mut self, now: Tick, length: i64) {
        self.progress = Progress::Running(now.wrapping_add_signed(length));
        (self.started, self.allocated) = (Some(now), length.max(0) as Tick);
    }

    /// It lasts until then for its queue's next request, as no other queue waits.
    pub(crate) fn wait_alone(&mut self, until: Tick) {
        self.progress = Progress::WaitingAlone(until);
    }

    /// Its time begins anew, with the next completion.
    pub(crate) fn restart(&mut self) {
        self.progress = Progress::Unstarted;
    }

    /// The number of requests dispatched in it.
    #[inline]
    pub(crate) fn dispatched(&self) -> u32 {
        self.dispatched
    }

    /// A request is dispatched.
    #[inline(always)]
    pub(crate) fn sent(&mut self) {
        self.dispatched += 1;
        self.duty = Duty::None;
    }

    #[inline]
    pub(crate) fn age_check(&self) -> AgeCheck {
        self.age_check
    }

    /// The oldest request is checked now; returns whether it had been.
    pub(crate) fn check_age(&mut self) -> AgeCheck {
        core::mem::replace(&mut self.age_check, AgeCheck::Done)
    }

    #[inline]
    pub(crate) fn idle(&self) -> Idle {
        self.idle
    }

    pub(crate) fn set_idle(&mut self, idle: Idle) {
        self.idle = idle;
    }

    #[inline]
    pub(crate) fn duty(&self) -> Duty {
        self.duty
    }

    pub(crate) fn must_dispatch(&mut self) {
        self.duty = Duty::MustDispatch;
    }

    /// Credits the unused rest of this slice \[ticks\] to the next one; negative if it overran.
    pub(crate) fn keep_residual(&mut self, rest: i64) {
        self.residual = rest;
    }

    pub(crate) fn take_residual(&mut self) -> i64 {
        core::mem::take(&mut self.residual)
    }

    /// Ends the slice, and idling.
    pub(crate) fn end(&mut self) {
        self.idle = Idle::No;
        if let Progress::WaitingAlone(end) = self.progress {
            self.progress = Progress::Running(end);
        }
    }

    /// Whether it is used up.
    pub(crate) fn is_used(&self, now: Tick) -> bool {
        self.progress.end().is_some_and(|end| now >= end)
    }

    /// The rest of the slice in the kernel's unsigned arithmetic: huge if the slice is over.
    pub(crate) fn left_unsigned(&self, now: Tick) -> Tick {
        // Before the first completion the kernel's `slice_end` is 0.
        self.progress.end().unwrap_or(0).wrapping_sub(now)
    }

    /// Whether less than half of it has passed.
    pub(crate) fn is_young(&self, now: Tick) -> bool {
        self.progress == Progress::Unstarted
            || self.started.is_some_and(|started| self.left_unsigned(now) > now.wrapping_sub(started))
    }

    /// Whether it has begun and lasts for at least this long.
    pub(crate) fn lasts(&self, now: Tick, for_: Tick) -> bool {
        self.progress.end().is_some_and(|end| now.saturating_add(for_) <= end)
    }

    /// The rest of the slice; 0 before the first completion.
    pub(crate) fn left(&self, now: Tick) -> Tick {
        self.progress.end().map_or(0, |end| end.saturating_sub(now))
    }
}

/// What happens to the rest of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// It is credited to the next one.
    Kept,
    /// It is lost.
    Dropped,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_young_until_half_of_it_is_over() {
        let slice = Slice { progress: Progress::Running(200), started: Some(100), ..Slice::default() };
        assert!(Slice::default().is_young(7) && slice.is_young(149) && !slice.is_young(150));
    }

    #[test]
    fn a_slice_without_a_completion_is_never_over() {
        let mut slice = Slice::default();
        assert!(!slice.is_used(u64::MAX) && slice.left(7) == 0);
        slice.progress = Progress::Running(10);
        assert!(!slice.is_used(9) && slice.is_used(10) && slice.left(7) == 3);
    }

    #[test]
    fn a_queue_is_no_longer_waited_for_alone_once_its_slice_ends() {
        let mut slice = Slice { progress: Progress::WaitingAlone(10), idle: Idle::WaitsForRequest, ..Slice::default() };
        slice.end();
        assert_eq!((slice.progress, slice.idle), (Progress::Running(10), Idle::No));
    }
}
