//! Idling: when the active queue runs empty, leave the disk idle for a moment, since its process will send a request
//! close by.
//!
//! **Rule** There are two questions. First, is the queue's *idle window* open? It is judged at each of its insertions:
//! the think time must be at most `slice_idle` and the queue must not seek too much ([`Idling`]). Second, at the
//! completion that leaves the queue empty, is arming the timer worthwhile now? The timer runs for `slice_idle`; until
//! 2.6.32 at most 2 ms for a process that seeks. Idling for a group is in `group_idle`.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c5, #c15, #c16, #c33.4 and #c33.6;
//! docs/behaviour/elevators-4.20.md#x.3 to #x.5 and #x.13; `fairness` is the patch of the mail of 2009-09-03.
//! **Costs when wrong** too little: a seek per request and no fairness; too much: an idle disk.
//! **In the kernel** `cfq_arm_slice_timer`, `cfq_idle_slice_timer`, `cfq_should_idle`, `cfq_update_idle_window`,
//! `slice_idle`.

#![doc(alias = "cfq_arm_slice_timer")]
#![doc(alias = "cfq_idle_slice_timer")]
#![doc(alias = "cfq_should_idle")]
#![doc(alias = "cfq_update_idle_window")]
#![doc(alias = "slice_idle")]

use crate::elevator::{Cx, IdleFor};
use crate::elevators::cfq::data::Cfq;
use crate::elevators::cfq::ids::Qid;
use crate::elevators::cfq::rules::{Idling, Trees};
use crate::elevators::cfq::state::idle_window::{IdleWindow, QueueDepth, WindowState};
use crate::elevators::cfq::state::seeks::seekiness;
use crate::elevators::cfq::state::slice::Idle;
use crate::explain::{NotIdled, Reason};
use crate::time::Tick;

impl Cfq {
    /// The disk is to idle for this queue when it runs empty.
    pub(super) fn should_idle(&self, cx: &Cx<'_>, q: Qid) -> bool {
        let (queue, idle) = (&self.queues[q], self.ticks.slice_idle);
        let by_tree = self.rules.idling == Idling::TreeThinks;
        // Until 2.6.32 this goes without saying: the window of the idle class never opens.
        if queue.is_idle_class() && self.rules.trees != Trees::Single || by_tree && idle == 0 {
            return false;
        }
        if self.rules.trees == Trees::Single {
            return queue.window.is_open();
        }
        if queue.window.is_open() && self.has_arm(cx) {
            return true;
        }
        // Those of a tree that seek are served together, and the disk idles once for all of them, behind the last:
        // without that their whole tree would lose the disk whenever the last of them ran empty.
        let alone = queue.served_in.filter(|&tree| queue.is_sync() && self.service.count(tree) == 1);
        alone.is_some_and(|tree| !by_tree || !self.groups.tree_pauses_are_long(tree, idle))
    }

    /// Idling pays: the disk has an arm to keep in place, or does not queue.
    fn has_arm(&self, cx: &Cx<'_>) -> bool {
        cx.device().rotational || !self.ncq.queues()
    }

    /// The queue being served ran empty: idle for it, if that is worth it.
    pub(super) fn try_to_idle(&mut self, cx: &mut Cx<'_>, q: Qid) {
        match self.worth_idling(cx, q) {
            Ok((why, length)) => {
                let until = self.now + length;
                self.queues[q].slice.idle = Idle::WaitsForRequest;
                self.timer = Some(until);
                self.idles_for = why;
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
        // The disk is busy still. Until 2.6.32 requests of any queue count, though only the queue's own ask again when
        // they come back.
        let in_flight = match self.rules.trees {
            Trees::Single => self.in_driver.sync + self.in_driver.async_,
            _ => queue.dispatched,
        };
        if in_flight > 0 {
            return Err(NotIdled::DiskBusy);
        }
        let pid = self.active_process.ok_or(NotIdled::Gone)?;
        // The process that idles is the one that began the slice, which need not be the one whose request came back.
        let process = &self.processes[pid];
        if process.gone {
            return Err(NotIdled::Gone);
        }
        // Unsigned, as in the kernel: of a slice that is over so much seems left that the disk idles all the same.
        let left = queue.slice.left_unsigned(self.now);
        // Its next request would come behind the end of its slice. 2.6.31 idles all the same.
        if self.rules.idling != Idling::UnlessSeeky && process.pauses.believed().is_some_and(|think| left < think) {
            return Err(NotIdled::SliceTooShort);
        }
        if !for_queue {
            return self.worth_idling_for_group(q);
        }
        let short = matches!(self.rules.idling, Idling::UnlessSeeky | Idling::SeekyShortly);
        let seeky = short && seekiness(self.rules.seeks, queue, Some(process)).is_surely;
        let length = if seeky { ticks.slice_idle.min(ticks.seeky_idle) } else { ticks.slice_idle };
        Ok((IdleFor::Submitter(process.id), length))
    }

    /// Half of its slice must be used before a queue that seeks is idled for because it is deep (4.20).
    pub(super) fn give_up_deep_seeker(&mut self, q: Qid) {
        if self.rules.idling != Idling::TreeThinks {
            return;
        }
        let (queue, now) = (&self.queues[q], self.now);
        // Called when it ran empty without a timer: it is not deep after all. Why only in the first half of its slice,
        // no source says.
        if queue.window.is_open() && queue.slice.is_young(now) && self.is_seeky(q) {
            self.queues[q].window = IdleWindow { window: WindowState::Closed, depth: QueueDepth::Shallow };
        }
    }
}
