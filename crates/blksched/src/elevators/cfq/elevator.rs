//! CFQ as an elevator: each call of the contract, and which mechanisms it sets in motion.

use super::Cfq;
use super::next_request::NextRequest;
use super::service_tree::Trees;
use crate::elevator::{Cx, Dispatch, Elevator, Insert, Lookup, Neighbours, Run};
use crate::explain::End;
use crate::queue::merge::Merging;
use crate::request::{Bio, RequestId, Requests, SubmitterId, Waiter};
use crate::time::Instant;
use crate::tunables::Tunables;

impl Elevator for Cfq {
    fn attach(&mut self, cx: &mut Cx<'_>) {
        let now = self.now(cx);
        self.last_sync = now;
        self.last_delayed_sync = now.wrapping_sub(u64::from(self.jiffies.hz()));
        // 2.6 lets a woken submitter have a batch beyond the limit: one and a half times, in each direction.
        self.reserve((3 * cx.device.nr_requests as usize).saturating_add(cx.device.depth as usize));
    }

    fn prepare(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        self.settle();
        self.prepared(cx, rq);
    }

    fn unprepare(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        let (q, pid) = (self.rows[rq].queue, cx.rq(rq).submitter);
        self.drop_request(cx, q);
        self.process_mut(pid).requests -= 1;
        self.forget_if_unused(pid);
    }

    fn insert(&mut self, cx: &mut Cx<'_>, rq: RequestId, _at: Insert) -> Run {
        self.settle();
        let (q, standing) = (self.rows[rq].queue, super::priority::Standing::of(cx.rq(rq).priority));
        if self.queues[q].priority_is_old {
            self.queues[q].take(standing);
        }
        self.sort_in(cx, q, rq);
        self.queue_by_age(cx, q, rq);
        self.queued += 1;
        self.queues[q].meta += u32::from(cx.rq(rq).hints.meta);
        self.learn(cx, q, rq);
        self.meet_active(cx, q, rq)
    }

    fn dispatch(&mut self, cx: &mut Cx<'_>) -> Dispatch {
        while self.chosen.is_empty() && self.dispatch_one(cx) {}
        let Some(rq) = self.chosen.take(cx) else {
            self.settle();
            return self.nothing_to_issue();
        };
        self.in_driver[cx.rq(rq).waiter] += 1;
        self.head = cx.rq(rq).end();
        Dispatch::Issue(rq)
    }

    fn complete(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run {
        self.settle();
        self.completed(cx, rq)
    }

    fn has_work(&self) -> bool {
        let queued = match self.rules.trees {
            Trees::Single => self.service.busy() > 0,
            Trees::ByWorkload => self.queued > 0,
        };
        queued || !self.chosen.is_empty()
    }

    fn deadline(&self) -> Option<Instant> {
        self.timer.map(|at| self.jiffies.instant(at))
    }

    fn elapse(&mut self, cx: &mut Cx<'_>) -> Run {
        self.settle();
        self.timer_fired(cx)
    }

    fn merging(&self) -> Merging {
        Merging::LINUX_2_6
    }

    fn may_merge(&mut self, cx: &mut Cx<'_>, rq: RequestId, bio: &Bio) -> bool {
        let sync_into_async = bio.waiter == Waiter::Sync && cx.rq(rq).waiter == Waiter::Async;
        !sync_into_async && self.queue_of(bio.submitter, bio.waiter) == Some(self.rows[rq].queue)
    }

    fn look_up(&mut self, _cx: &mut Cx<'_>, bio: &Bio) -> Lookup {
        let q = self.queue_of(bio.submitter, bio.waiter);
        let found = q.and_then(|q| self.sorted.find(self.queues[q].sorted, bio.end()).0);
        found.map_or(Lookup::Nothing, |rq| Lookup::Front(RequestId::from_index(rq)))
    }

    fn neighbours(&self, rq: RequestId) -> Neighbours {
        let slot = rq.index() as u32;
        Neighbours {
            before: self.sorted.previous(slot).map(RequestId::from_index),
            behind: self.sorted.next(slot).map(RequestId::from_index),
        }
    }

    fn grown(&mut self, cx: &mut Cx<'_>, rq: RequestId, end: End) {
        if end == End::Front {
            let q = self.rows[rq].queue;
            self.sorted.remove(&mut self.queues[q].sorted, rq.index() as u32);
            self.position_moved(cx, q);
            self.sort_in(cx, q, rq);
        }
    }

    fn absorbed(&mut self, cx: &mut Cx<'_>, into: RequestId, victim: RequestId) {
        let (q, pid) = (self.rows[victim].queue, cx.rq(victim).submitter);
        self.inherit_age(q, into, victim);
        if self.rules.next_request == NextRequest::FromTaken && self.queues[q].next == Some(victim) {
            self.set_next(cx, q, Some(into));
        }
        self.take_out(cx, q, victim);
        self.drop_request(cx, q);
        self.process_mut(pid).requests -= 1;
        self.forget_if_unused(pid);
    }

    fn requeue(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        self.in_driver[cx.rq(rq).waiter] -= 1;
        self.chosen.hand_back(rq);
    }

    fn forget(&mut self, cx: &mut Cx<'_>, submitter: SubmitterId) -> Run {
        self.settle();
        self.process_gone(cx, submitter)
    }

    fn tunables(&self) -> &dyn Tunables {
        &self.knobs
    }

    fn tunables_mut(&mut self) -> Option<&mut dyn Tunables> {
        Some(&mut self.knobs)
    }

    fn check(&self, requests: &Requests) {
        self.check_books(requests);
        self.chosen.check(requests);
    }
}
