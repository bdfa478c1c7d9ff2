//! Who thinks, and for how long: the pause between a completion and the next request, at up to three levels.
//!
//! **What for** A process that thinks longer than the disk would idle is not worth idling for. Nor are a tree of
//! processes that are idled for together, or a group, if all of it pauses so long.
//! **Rule** Per record: the mean of `min(now − last completion, 2·idle)`. A process's and a tree's count with
//! `slice_idle`, a group's with `group_idle`.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c5 (processes), docs/behaviour/elevators-4.20.md#x.2 (trees and
//! groups); [`Think`] says what differs.
//! **In the kernel** `cfq_ttime`, `cfq_update_io_thinktime`, `sample_valid`, `ttime_mean`.

#![doc(alias = "cfq_ttime")]
#![doc(alias = "cfq_update_io_thinktime")]
#![doc(alias = "sample_valid")]
#![doc(alias = "ttime_mean")]

use super::Cfq;
use super::groups::Grouping;
use super::qid::Qid;
use super::service_tree::{TreeAt, kind};
use crate::elevator::Cx;
use crate::estimate::ThinkTime;
use crate::request::{RequestId, Waiter};
use crate::time::Tick;

/// Whose pauses are averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Think {
    /// Each process's, ended by any request of it (2.6.31 to 2.6.33).
    PerProcess,
    /// Each process's and each service tree's, ended by requests that somebody waits for, and each group's (4.20).
    ThreeLevels,
}

/// The pauses of a process, a service tree, or a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pauses {
    /// When the last request came back; at first, when the record began.
    last_end: Tick,
    think: ThinkTime,
}

impl Pauses {
    pub(super) fn since(now: Tick) -> Pauses {
        Pauses { last_end: now, think: ThinkTime::default() }
    }

    /// A request came.
    pub(super) fn end(&mut self, now: Tick, idle: Tick) {
        self.think.add(now - self.last_end, idle);
    }

    /// A request came back.
    pub(super) fn begin(&mut self, now: Tick) {
        self.last_end = now;
    }

    /// The mean pause, if it is known.
    pub(super) fn believed(&self) -> Option<Tick> {
        self.think.believed()
    }

    /// Known to be longer than `idle`.
    pub(super) fn are_long(&self, idle: Tick) -> bool {
        self.believed().is_some_and(|mean| mean > idle)
    }
}

impl Cfq {
    /// A request came in: its pauses are over.
    pub(super) fn pauses_end(&mut self, cx: &Cx<'_>, q: Qid, rq: RequestId) {
        let (now, ticks) = (self.now(cx), self.ticks);
        let process = self.rows[rq].process;
        if self.rules.think == Think::PerProcess {
            self.processes[process].pauses.end(now, ticks.slice_idle);
            return;
        }
        let queue = &self.queues[q];
        if queue.is_sync() {
            self.processes[process].pauses.end(now, ticks.slice_idle);
            let tree = queue.served_in.expect("a queue with a request waits for a turn");
            self.groups.pauses_of(tree).end(now, ticks.slice_idle);
        }
        if self.rules.groups == Grouping::On {
            self.groups[queue.group].pauses.end(now, ticks.group_idle);
        }
    }

    /// A request came back: pauses begin.
    pub(super) fn pauses_begin(&mut self, cx: &Cx<'_>, q: Qid, rq: RequestId) {
        let (now, sync) = (self.now(cx), cx.rq(rq).waiter == Waiter::Sync);
        if sync {
            self.processes[self.rows[rq].process].pauses.begin(now);
        }
        if self.rules.think == Think::PerProcess {
            return;
        }
        let queue = &self.queues[q];
        if sync {
            let tree = queue.served_in.unwrap_or(TreeAt::of(queue.group, queue.ioprio.rank, kind(queue)));
            self.groups.pauses_of(tree).begin(now);
        }
        if self.rules.groups == Grouping::On {
            self.groups[queue.group].pauses.begin(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_long_once_three_of_them_say_so() {
        let mut pauses = Pauses::since(0);
        for nth in 1..=3 {
            assert!(!pauses.are_long(8));
            pauses.end(100 * nth, 8);
            pauses.begin(100 * nth);
        }
        assert_eq!(pauses.believed(), Some(17));
        assert!(pauses.are_long(8) && !pauses.are_long(17));
    }
}
