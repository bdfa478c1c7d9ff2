//! An arrival takes the disk from the queue being served.
//!
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c8; docs/behaviour/elevators-4.20.md#x.19; the ladder is
//! `decide/preempt.rs`.
//! **In the kernel** `cfq_should_preempt`, `cfq_preempt_queue`.

#![doc(alias = "cfq_should_preempt")]
#![doc(alias = "cfq_preempt_queue")]

use crate::elevator::Cx;
use crate::elevators::cfq::data::Cfq;
use crate::elevators::cfq::decide::preempt::{Arrival, why};
use crate::elevators::cfq::ids::Qid;
use crate::elevators::cfq::rules::{Preemption, Trees};
use crate::elevators::cfq::state::queue::CfqQueue;
use crate::elevators::cfq::state::slice::{Idle, Progress, Rest};
use crate::elevators::cfq::steps::cooperator::ClosePurpose;
use crate::elevators::cfq::steps::service_tree::InsertPosition;
use crate::explain::{Preempt, ServiceType, SliceEnd};
use crate::request::RequestId;

impl Cfq {
    pub(super) fn should_preempt(&mut self, cx: &Cx<'_>, n: Qid, rq: RequestId) -> Option<Preempt> {
        let a = self.active?;
        let (active, new, request) = (&self.queues[a], &self.queues[n], cx.rq(rq));
        let idles = self.active_process.is_some() && active.slice.idle == Idle::WaitsForRequest;
        let close = idles && self.is_close(request.start, ClosePurpose::Preemption);
        // 2.6.31 asks no such thing, and two cooperators could take the disk from each other again and again.
        let once =
            self.rules.preemption != Preemption::CloseOnce || !new.cooperation.is_on() || self.service.busy() == 1;
        let arrival = Arrival {
            active,
            new,
            waiter: request.waiter,
            meta: request.hints.meta,
            slice_used: active.slice.is_used(self.now),
            foreign: !self.groups.is_within(active.group, new.group),
            abandoned: active.is_empty() && !self.should_idle(cx, a),
            fellow_seekers: self.are_fellow_seekers(active, new),
            close: close && once,
        };
        let why = why(self.rules.preemption, &arrival);
        if why == Some(Preempt::Close) && self.rules.preemption == Preemption::CloseOnce {
            self.queues[n].cooperation.preempt();
        }
        why
    }

    fn are_fellow_seekers(&self, active: &CfqQueue, new: &CfqQueue) -> bool {
        let pair = self.rules.preemption == Preemption::SameGroup
            || new.served_in.is_some_and(|tree| self.service.count(tree) == 2);
        self.rules.trees != Trees::Single
            && self.workload.kind == ServiceType::SyncNoIdle
            && new.kind() == ServiceType::SyncNoIdle
            && pair
            && active.is_empty()
    }

    /// The queue being served gives way to `n`.
    pub(in crate::elevators::cfq) fn preempt(&mut self, cx: &mut Cx<'_>, n: Qid, why: Preempt) {
        let old_kind = self.active.map(|a| self.queues[a].kind());
        self.expire(cx, Rest::Kept, SliceEnd::Preempted(why));
        // Else the kind of load that was interrupted would be resumed at once, and the preempting queue, of another
        // tree, would not be found. Earlier kernels keep it.
        if self.rules.preemption == Preemption::SameGroup && old_kind != Some(self.queues[n].kind()) {
            self.groups[self.queues[n].group].saved = None;
        }
        self.service_add(n, InsertPosition::Front);
        // What it had of an earlier slice was left in its residual; this one begins with its first completion.
        self.queues[n].slice.progress = Progress::Unstarted;
    }
}
