//! A slice begins, gets its length, ends, and is charged.
//!
//! **Rule** The length counts from the first completion (`decide/slice_length.rs`). The rest of a slice shifts the next
//! one ([`Residual`](crate::elevators::cfq::rules::Residual)); its group is charged (`steps/charge.rs`).
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c10 and #c12; docs/behaviour/elevators-4.20.md#x.10, #x.12 and #g.4.
//! **In the kernel** `__cfq_set_active_queue`, `cfq_slice_expired`, `__cfq_slice_expired`, `cfq_set_prio_slice`.

use crate::elevator::Cx;
use crate::elevators::cfq::data::Cfq;
use crate::elevators::cfq::decide::slice_length::{by_level, shortened};
use crate::elevators::cfq::ids::Qid;
use crate::elevators::cfq::rules::{CooperationRule, Residual, Trees};
use crate::elevators::cfq::state::slice::{Idle, Progress, Rest};
use crate::elevators::ioprio::IoprioClass;
use crate::explain::{Reason, SliceEnd, SliceStart};

impl Cfq {
    pub(super) fn activate(&mut self, cx: &mut Cx<'_>, q: Qid, why: SliceStart) {
        let now = self.now;
        let queue = &mut self.queues[q];
        queue.slice.activate(now);
        if self.rules.cooperation == CooperationRule::Jump {
            queue.cooperation.begin_slice(why == SliceStart::InOrder);
        }
        let (owner, waiter) = (queue.owner, queue.waiter);
        self.timer.cancel(cx);
        self.active.begin(q);
        cx.explain(Reason::SliceBegan { owner, waiter, why });
    }

    /// Ends the active queue's slice.
    pub(super) fn expire(&mut self, cx: &mut Cx<'_>, rest: Rest, why: SliceEnd) {
        let Some(q) = self.active.queue() else { return };
        if self.queues[q].slice.idle() == Idle::WaitsForRequest {
            self.timer.cancel(cx);
        }
        // Before anything changes the queue: the mark depends on the queue as it was during the slice (2.6.33).
        if self.rules.cooperation == CooperationRule::MergeSplit && self.is_seeky(q) {
            self.queues[q].cooperation.split();
        }
        let queue = &mut self.queues[q];
        queue.slice.end();
        cx.explain(Reason::SliceEnded { owner: queue.owner, waiter: queue.waiter, why });
        if let Some(left) = (rest == Rest::Kept).then(|| self.rest_of_slice(q)).flatten() {
            self.queues[q].slice.keep_residual(left);
        }
        self.charge_group(cx, q);
        self.save_workload(q);
        // An empty queue leaves its tree; its unused time, or its overrun, is in its residual.
        if self.queues[q].is_empty() {
            self.leave(q);
        } else {
            self.resort(cx, q);
        }
        if let Some(pid) = self.active.end() {
            self.processes.forget_if_unused(pid, None);
        }
    }

    /// The length of a slice, from its first completion on \[ticks\].
    pub(super) fn slice_length(&mut self, q: Qid) -> i64 {
        let ticks = self.ticks;
        let queue = &self.queues[q];
        let group = queue.group;
        let slice = by_level(queue.waiter, queue.ioprio.level, &ticks);
        if self.rules.trees == Trees::Single || !self.knobs.low_latency {
            return slice;
        }
        // The idle class counts as best effort here.
        let class = if queue.is_real_time() { IoprioClass::RealTime } else { IoprioClass::BestEffort };
        let busy = u64::from(self.service.busy_of(group, class));
        let target = self.group_target(group);
        shortened(slice, self.groups[group].averaged(class, busy), target, &ticks)
    }

    pub(super) fn start_slice(&mut self, q: Qid) {
        // From the first completion rather than from the dispatch, so that the seek to the queue's position is not
        // charged to it.
        if self.queues[q].slice.progress() == Progress::Unstarted {
            let (now, length) = (self.now, self.slice_length(q));
            self.queues[q].slice.start(now, length);
        }
    }

    /// The residual of a slice that ends now; `None`: the previous residual stays.
    fn rest_of_slice(&mut self, q: Qid) -> Option<i64> {
        match (self.queues[q].slice.progress().end(), self.rules.residual) {
            (Some(end), _) => Some(end.wrapping_sub(self.now) as i64),
            // Nothing has completed, so none of it was used. Earlier kernels leave the residual unchanged, and a queue
            // that is preempted before its first completion loses its whole slice.
            (None, Residual::Whole) => Some(self.slice_length(q)),
            (None, _) => None,
        }
    }
}
