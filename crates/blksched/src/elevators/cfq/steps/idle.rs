//! Idling: when the active queue runs empty, leave the disk idle for a moment, since its process will send a request
//! close by.
//!
//! **Rule** Two conditions must hold. First, the queue's *idle window* must be open, which is decided at each of its
//! insertions: the think time must be at most `slice_idle`, and the queue must not seek too much ([`Idling`]). Second,
//! at the completion that leaves the queue empty, arming the timer must be worthwhile. The timer runs for `slice_idle`;
//! until 2.6.32 at most 2 ms for a process that seeks. Idling for a group is in `group_idle`.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c5, #c15, #c16, #c33.4 and #c33.6;
//! docs/behaviour/elevators-4.20.md#x.3 to #x.5 and #x.13; `fairness` is the patch of the mail of 2009-09-03.
//! **Costs when wrong** too little: a seek per request and no fairness; too much: an idle disk.
//! **In the kernel** `cfq_arm_slice_timer`, `cfq_idle_slice_timer`, `cfq_should_idle`, `cfq_update_idle_window`,
//! `slice_idle`.

use crate::elevator::{Cx, IdleFor};
use crate::elevators::cfq::data::Cfq;
use crate::elevators::cfq::ids::Qid;
use crate::elevators::cfq::rules::{Idling, Trees};
use crate::elevators::cfq::state::seeks::seekiness;
use crate::elevators::cfq::state::slice::Idle;
use crate::explain::{NotIdled, Reason};
use crate::time::Tick;

impl Cfq {
    /// Whether the disk should idle for this queue when it runs empty.
    pub(super) fn should_idle(&self, cx: &Cx<'_>, q: Qid) -> bool {
        let (queue, idle) = (&self.queues[q], self.ticks.slice_idle);
        let by_tree = self.rules.idling == Idling::TreeThinks;
        // Until 2.6.32 this test is not needed: the window of the idle class never opens.
        if queue.is_idle_class() && self.rules.trees != Trees::Single || by_tree && idle == 0 {
            return false;
        }
        if self.rules.trees == Trees::Single {
            return queue.window.is_open();
        }
        if queue.window.is_open() && self.has_arm(cx) {
            return true;
        }
        // The seeky queues of a tree are served together, and the disk idles once for all of them, after the last;
        // otherwise the whole tree would lose the disk whenever its last queue ran empty.
        let alone = queue.served_in.filter(|&tree| queue.is_sync() && self.service.count(tree) == 1);
        alone.is_some_and(|tree| !by_tree || !self.groups.tree_ttime_is_big(tree, idle))
    }

    /// Whether idling can pay off: the disk has an arm to keep in place, or it does not queue requests itself.
    fn has_arm(&self, cx: &Cx<'_>) -> bool {
        cx.device().rotational || !self.ncq.queues()
    }

    /// Idles for the active queue, which has run empty, if that is worthwhile.
    pub(super) fn try_to_idle(&mut self, cx: &mut Cx<'_>, q: Qid) {
        match self.worth_idling(cx, q) {
            Ok((why, length)) => {
                let until = self.now + length;
                self.queues[q].slice.set_idle(Idle::WaitsForRequest);
                self.timer.start(until, why);
                let until = self.unit.instant(until);
                cx.wake_at(Some(until));
                cx.explain(Reason::Armed { until, why });
            }
            Err(why) => cx.explain(Reason::NotIdled { owner: self.queues[q].owner, why }),
        }
    }

    fn worth_idling(&self, cx: &Cx<'_>, q: Qid) -> Result<(IdleFor, Tick), NotIdled> {
        let (queue, ticks) = (&self.queues[q], self.ticks);
        let group_idle = if self.rules.idling == Idling::TreeThinks { ticks.group_idle } else { 0 };
        if !self.has_arm(cx) && group_idle == 0 {
            return Err(NotIdled::NoArm);
        }
        let for_queue = ticks.slice_idle > 0 && self.should_idle(cx, q);
        if !for_queue && group_idle == 0 {
            return Err(NotIdled::NotWorthIt);
        }
        // The disk is still busy. Until 2.6.32 requests of any queue count, although only the completion of one of the
        // queue's own leads to another attempt.
        let in_flight = match self.rules.trees {
            Trees::Single => self.in_device.in_driver(),
            _ => queue.dispatched,
        };
        if in_flight > 0 {
            return Err(NotIdled::DiskBusy);
        }
        let pid = self.active.process().ok_or(NotIdled::Gone)?;
        // The disk idles for the process that began the slice, which need not be the one whose request completed.
        let process = &self.processes[pid];
        if process.is_gone() {
            return Err(NotIdled::Gone);
        }
        // Unsigned, as in the kernel: a slice that is over seems to have so much time left that the disk idles
        // nevertheless.
        let left = queue.slice.left_unsigned(self.now);
        // Its next request would arrive after the end of its slice. 2.6.31 idles nevertheless.
        if self.rules.idling != Idling::UnlessSeeky && process.mean_ttime().is_some_and(|think| left < think) {
            return Err(NotIdled::SliceTooShort);
        }
        if !for_queue {
            return self.worth_idling_for_group(q);
        }
        let short = matches!(self.rules.idling, Idling::UnlessSeeky | Idling::SeekyShortly);
        let seeky = short && seekiness(self.rules.seeks, queue, Some(process)).is_surely;
        let length = if seeky { ticks.slice_idle.min(ticks.seeky_idle) } else { ticks.slice_idle };
        Ok((IdleFor::Submitter(process.id()), length))
    }

    /// Stops counting a seeky queue as deep if less than half of its slice has been used (4.20).
    pub(super) fn give_up_deep_seeker(&mut self, q: Qid) {
        if self.rules.idling != Idling::TreeThinks {
            return;
        }
        let (queue, now) = (&self.queues[q], self.now);
        // The queue has run empty and no timer is running, so it is not deep after all. No source says why this applies
        // only to the first half of its slice.
        if queue.window.is_open() && queue.slice.is_young(now) && self.is_seeky(q) {
            self.queues[q].window.give_up();
        }
    }
}
