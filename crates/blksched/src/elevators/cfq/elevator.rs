//! CFQ as an elevator: each call of the contract, and the mechanisms it uses.
//!
//! **In the kernel** `iosched_cfq`, `cfq_forced_dispatch`, `cfq_merge`, `cfq_allow_merge`, `cfq_allow_bio_merge`,
//! `cfq_activate_request`, `cfq_deactivate_request`.

use alloc::vec::Vec;

use super::Cfq;
use super::rules::Grouping;
use super::tunables::Ticks;
use crate::elevator::{Admits, Cx, Dispatch, Elevator, Grouped, Insert, Lookup, Merges, Neighbours, Run, Tuned};
use crate::elevators::by_sector;
use crate::explain::End;
use crate::group::Group;
use crate::queue::merge::Merging;
use crate::request::{Bio, GroupId, RequestId, Requests, SubmitterId, Waiter};
use crate::time::Instant;
use crate::tunables::{Knob, KnobError, Tunables};

impl Elevator for Cfq {
    fn announces_deadline(&self) -> bool {
        true
    }

    fn attach(&mut self, cx: &mut Cx<'_>) {
        self.begin(cx);
        self.meet_device(cx);
    }

    #[inline(always)]
    fn insert(&mut self, cx: &mut Cx<'_>, rq: RequestId, _at: Insert) -> Run {
        self.begin(cx);
        self.settle();
        let bio = **cx.rq(rq);
        self.arrived(cx, rq, &bio)
    }

    #[inline(always)]
    fn dispatch(&mut self, cx: &mut Cx<'_>) -> Dispatch {
        self.begin(cx);
        self.dispatch_next(cx)
    }

    #[inline(always)]
    fn complete(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run {
        self.begin(cx);
        self.settle();
        self.completed(cx, rq)
    }

    fn has_work(&self) -> bool {
        self.has_queued() || !self.dispatch_list.is_empty()
    }

    fn deadline(&self) -> Option<Instant> {
        self.timer.until().map(|at| self.unit.instant(at))
    }

    fn elapse(&mut self, cx: &mut Cx<'_>) -> Run {
        self.begin(cx);
        self.settle();
        self.timer_fired(cx)
    }

    fn absorbed(&mut self, cx: &mut Cx<'_>, into: RequestId, victim: RequestId) {
        self.begin(cx);
        self.replaced(cx, into, victim);
    }

    fn requeue(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        self.in_device.returned(cx.rq(rq).waiter);
        self.dispatch_list.hand_back(rq);
    }

    fn forget(&mut self, cx: &mut Cx<'_>, submitter: SubmitterId) -> Run {
        self.begin(cx);
        self.settle();
        self.process_gone(cx, submitter)
    }

    fn check(&self, requests: &Requests) {
        self.check_state(requests);
        self.dispatch_list.check(requests);
    }
}

impl Merges for Cfq {
    #[inline(always)]
    fn prepare(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        self.begin(cx);
        self.settle();
        let bio = **cx.rq(rq);
        self.prepared(cx, rq, &bio);
    }

    fn unprepare(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        self.begin(cx);
        self.drop_unserved(cx, rq);
    }

    fn merging(&self) -> Merging {
        Merging::LINUX_2_6
    }

    fn asking_changes(&mut self, _bio: &Bio) -> bool {
        false
    }

    fn may_merge(&mut self, cx: &mut Cx<'_>, rq: RequestId, bio: &Bio) -> bool {
        let sync_into_async = bio.waiter == Waiter::Sync && cx.rq(rq).waiter == Waiter::Async;
        !sync_into_async && self.queue_of(bio.submitter, bio.waiter) == Some(self.rows[rq].queue)
    }

    #[inline(always)]
    fn look_up(&mut self, _cx: &mut Cx<'_>, bio: &Bio) -> Lookup {
        let Some(q) = self.queue_of(bio.submitter, bio.waiter) else { return Lookup::Nothing };
        by_sector::look_up(&mut self.sorted, self.queues[q].sorted, bio)
    }

    fn neighbours(&self, rq: RequestId) -> Neighbours {
        by_sector::neighbours(&self.sorted, rq)
    }

    fn grown(&mut self, cx: &mut Cx<'_>, rq: RequestId, end: End) {
        self.begin(cx);
        if end == End::Front {
            self.begins_earlier(cx, rq);
        }
    }
}

impl Admits for Cfq {}

impl Grouped for Cfq {
    fn shares_by_weight(&self) -> bool {
        self.rules.groups == Grouping::On
    }

    fn group(&mut self, cx: &mut Cx<'_>, id: GroupId, group: Group) {
        self.begin(cx);
        self.settle();
        self.announce(id, group);
    }

    fn ungroup(&mut self, cx: &mut Cx<'_>, id: GroupId) {
        self.begin(cx);
        self.settle();
        self.group_gone(cx, id);
        let run = self.take_run();
        cx.run_queue(run);
    }
}

impl Tuned for Cfq {
    fn tunables(&self) -> &dyn Tunables {
        &self.knobs
    }

    fn tunables_mut(&mut self) -> Option<&mut dyn Tunables> {
        Some(self)
    }
}

/// Setting a knob also updates the values kept in units of the clock.
impl Tunables for Cfq {
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
        self.knobs.set(name, raw)?;
        self.ticks = Ticks::of(&self.knobs, self.unit);
        self.turning_back = self.knobs.turning_back();
        Ok(())
    }
}
