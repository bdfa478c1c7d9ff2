//! Think time: the time between a completion and the next request, at up to three levels.
//!
//! **What for** Idling is not worthwhile for a process whose think time exceeds the idle time. The same holds for a
//! tree of processes that are idled for together, or for a group, if its think time is that long.
//! **Rule** Per record: the mean of `min(now − last completion, 2·idle)`. A process's and a tree's count with
//! `slice_idle`, a group's with `group_idle`.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c5 (processes), docs/behaviour/elevators-4.20.md#x.2 (trees and
//! groups); [`Think`] says what differs.
//! **In the kernel** `cfq_ttime`, `cfq_update_io_thinktime`, `sample_valid`, `ttime_mean`, `cfq_io_thinktime_big`,
//! `ttime_samples`.

use crate::estimate::ThinkTime;
use crate::time::Tick;

/// The think time of a process, a service tree, or a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ttime {
    /// When the last request completed; at first, when the record began.
    last_end: Tick,
    think: ThinkTime,
}

impl Ttime {
    pub(crate) fn since(now: Tick) -> Ttime {
        Ttime { last_end: now, think: ThinkTime::default() }
    }

    /// Ends a think time: a request has arrived.
    pub(crate) fn end(&mut self, now: Tick, idle: Tick) {
        self.think.add(now - self.last_end, idle);
    }

    /// Begins a think time: a request has completed.
    pub(crate) fn begin(&mut self, now: Tick) {
        self.last_end = now;
    }

    /// The mean think time, if there are enough samples.
    pub(crate) fn valid_mean(&self) -> Option<Tick> {
        self.think.valid_mean()
    }

    /// Whether the think time is known to exceed `idle`.
    pub(crate) fn is_big(&self, idle: Tick) -> bool {
        self.valid_mean().is_some_and(|mean| mean > idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_think_time_is_big_once_three_samples_say_so() {
        let mut ttime = Ttime::since(0);
        for nth in 1..=3 {
            assert!(!ttime.is_big(8));
            ttime.end(100 * nth, 8);
            ttime.begin(100 * nth);
        }
        assert_eq!(ttime.valid_mean(), Some(17));
        assert!(ttime.is_big(8) && !ttime.is_big(17));
    }
}
