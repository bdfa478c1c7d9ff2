//! BFQ as an elevator: each call of the contract, and the mechanisms it uses.
//!
//! **In the kernel** `iosched_bfq_mq`, `bfq_allow_bio_merge`, `bfq_bio_merge`, `bfq_request_merged`,
//! `bfq_requests_merged`, `bfq_has_work`.

use alloc::vec::Vec;

use super::Bfq;
use crate::elevator::{
    Admission, Admits, Cx, DeviceFacts, Dispatch, Elevator, Grouped, Insert, Lookup, Merges, Neighbours, Run, Tuned,
};
use crate::elevators::bfq::data::Met;
use crate::elevators::bfq::rules::Grouping;
use crate::elevators::bfq::tunables::STRICT_IDLE;
use crate::elevators::by_sector;
use crate::explain::End;
use crate::group::Group;
use crate::queue::merge::Merging;
use crate::queue::rq_qos::OwnThrottling;
use crate::request::{Bio, GroupId, RequestId, Requests, SubmitterId, Waiter};
use crate::time::Instant;
use crate::tunables::{Knob, KnobError, Tunables};

impl Elevator for Bfq {
    fn announces_deadline(&self) -> bool {
        true
    }

    fn attach(&mut self, cx: &mut Cx<'_>) {
        let call = self.call(cx);
        self.meet_device(&call);
    }

    #[inline(always)]
    fn insert(&mut self, cx: &mut Cx<'_>, rq: RequestId, _at: Insert) -> Run {
        let bio = **cx.rq(rq);
        let mut call = self.call(cx);
        self.met = Met::Unknown;
        self.arrived(&mut call, rq, &bio);
        Run::No
    }

    #[inline(always)]
    fn dispatch(&mut self, cx: &mut Cx<'_>) -> Dispatch {
        let mut call = self.call(cx);
        if let Some(rq) = self.handed_back.pop_front() {
            let q = self.rows[rq].queue;
            self.queues[q].sent();
            self.device.sent();
            self.hierarchy.begin_pending(q);
            return Dispatch::Issue(rq);
        }
        let one_at_a_time = self.knobs.strict_guarantees && self.device.in_device() > 0;
        if !one_at_a_time
            && self.is_asked()
            && let Some(rq) = self.serve_next(&mut call)
        {
            self.device.sent();
            return Dispatch::Issue(rq);
        }
        self.nothing_to_issue()
    }

    #[inline(always)]
    fn complete(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run {
        let mut call = self.call(cx);
        self.completed(&mut call, rq);
        self.elevator_queued = self.elevator_queued.saturating_sub(1);
        self.finished(rq);
        Run::Soon
    }

    fn has_work(&self) -> bool {
        self.is_asked() || !self.handed_back.is_empty()
    }

    fn deadline(&self) -> Option<Instant> {
        self.idling.until()
    }

    fn elapse(&mut self, cx: &mut Cx<'_>) -> Run {
        let mut call = self.call(cx);
        self.idling_is_over(&mut call)
    }

    fn absorbed(&mut self, cx: &mut Cx<'_>, into: RequestId, victim: RequestId) {
        let mut call = self.call(cx);
        self.inherit_age(into, victim);
        let q = self.rows[victim].queue;
        if self.rows[into].queue == q && self.queues[q].next == Some(victim) {
            self.queues[q].next = Some(into);
        }
        self.remove(&mut call, victim);
        self.finished(victim);
    }

    fn requeue(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        let call = self.call(cx);
        let q = self.rows[rq].queue;
        self.left_device(&call, q);
        self.handed_back.push_front(rq);
    }

    fn forget(&mut self, cx: &mut Cx<'_>, submitter: SubmitterId) -> Run {
        let mut call = self.call(cx);
        self.process_gone(&mut call, submitter)
    }

    fn check(&self, requests: &Requests) {
        self.check_state(requests);
    }
}

impl Merges for Bfq {
    #[inline(always)]
    fn meet(&mut self, cx: &mut Cx<'_>, bio: &Bio) {
        let mut call = self.call(cx);
        self.met = Met::Unknown;
        if let Some(context) = self.contexts.find_often(bio.submitter)
            && !self.contexts.is_settled_in(bio.group)
        {
            let level = self.hierarchy.level_of(bio.group);
            let run = self.notice_group(&mut call.apart(), context, level);
            cx.run_queue(run);
            self.contexts.settle_in(bio.group);
        }
    }

    #[inline(always)]
    fn prepare(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        let bio = **cx.rq(rq);
        self.prepared(cx, rq, &bio);
    }

    fn unprepare(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        // Setting a knob uses the time of the last call as its own; preparing reads no clock.
        self.clock.tick(cx.now);
        self.finished(rq);
    }

    fn merging(&self) -> Merging {
        Merging { kin: self.rules.merge_priorities.kin(), ..Merging::LINUX_6_1 }
    }

    /// Called for each candidate; the queues of cooperators are merged here, whether or not the bio merges.
    #[inline(always)]
    fn may_merge(&mut self, cx: &mut Cx<'_>, rq: RequestId, bio: &Bio) -> bool {
        if bio.waiter == Waiter::Sync && cx.rq(rq).waiter == Waiter::Async {
            return false;
        }
        let mut call = self.call(cx);
        self.met = Met::Unknown;
        let Some((context, q)) = self.queue_of(bio.submitter, bio.waiter) else { return false };
        let mut own = q;
        if let Some(into) = self.cooperator(&mut call, context, q, bio.start) {
            self.redirect(&mut call, context, q, into);
            own = into;
        }
        self.rows[rq].queue == own
    }

    #[inline(always)]
    fn asking_changes(&mut self, bio: &Bio) -> bool {
        self.may_redirect(bio)
    }

    #[inline(always)]
    fn look_up(&mut self, _cx: &mut Cx<'_>, bio: &Bio) -> Lookup {
        let Some((_, q)) = self.queue_of(bio.submitter, bio.waiter) else { return Lookup::Nothing };
        by_sector::look_up(&mut self.sorted, self.queues[q].sorted, bio)
    }

    fn neighbours(&self, rq: RequestId) -> Neighbours {
        by_sector::neighbours(&self.sorted, rq)
    }

    fn grown(&mut self, cx: &mut Cx<'_>, rq: RequestId, end: End) {
        if end == End::Front {
            let mut call = self.call(cx);
            self.begins_earlier(&mut call, rq);
        }
    }
}

impl Admits for Bfq {
    #[inline(always)]
    fn admit(&mut self, cx: &mut Cx<'_>, bio: &Bio) -> Admission {
        self.admission(cx.device(), bio)
    }

    fn shallowest(&self, _device: &DeviceFacts) -> Option<u32> {
        Some(1)
    }

    fn own_throttling(&self) -> OwnThrottling {
        OwnThrottling::Yes
    }
}

impl Grouped for Bfq {
    fn shares_by_weight(&self) -> bool {
        self.rules.groups == Grouping::On
    }

    fn group(&mut self, _cx: &mut Cx<'_>, id: GroupId, group: Group) {
        self.contexts.unsettle();
        if self.rules.groups == Grouping::On {
            let Bfq { hierarchy, queues, .. } = self;
            hierarchy.group_changed(id, group, || queues.iter().map(|(q, _)| q).collect());
        }
    }

    fn ungroup(&mut self, cx: &mut Cx<'_>, id: GroupId) {
        self.contexts.unsettle();
        let mut call = self.call(cx);
        let run = self.group_gone(&mut call, id);
        cx.run_queue(run);
    }
}

impl Tuned for Bfq {
    fn tunables(&self) -> &dyn Tunables {
        self
    }

    fn tunables_mut(&mut self) -> Option<&mut dyn Tunables> {
        Some(self)
    }
}

/// Writing a knob has effects even if the value stays the same.
impl Tunables for Bfq {
    fn knobs(&self) -> Vec<&'static Knob> {
        self.knobs.knobs()
    }

    fn of_all_kernels(&self) -> &'static [Knob] {
        self.knobs.of_all_kernels()
    }

    fn get(&self, name: &str) -> Option<i64> {
        self.knobs.get(name)
    }

    fn set(&mut self, name: &str, raw: i64) -> Result<(), KnobError> {
        let before = self.knobs;
        self.knobs.set(name, raw)?;
        match name {
            "max_budget" => self.recompute_max_budget(),
            "timeout_sync" if self.knobs.max_budget == 0 => self.recompute_max_budget(),
            "strict_guarantees" if !before.strict_guarantees && self.knobs.strict_guarantees => {
                self.knobs.slice_idle = self.knobs.slice_idle.max(STRICT_IDLE);
            }
            "low_latency" if before.low_latency && !self.knobs.low_latency => self.end_all_raising(),
            _ => {}
        }
        Ok(())
    }
}
