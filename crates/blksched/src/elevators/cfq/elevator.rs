//! CFQ as an elevator: each call of the contract, and which mechanisms it sets in motion.
//!
//! **In the kernel** `iosched_cfq`, `cfq_forced_dispatch`.

#![doc(alias = "iosched_cfq")]
#![doc(alias = "cfq_forced_dispatch")]

use super::Cfq;
use super::groups::Groups;
use super::next_request::NextRequest;
use super::service_tree::Trees;
use super::tunables::{Ticks, V4_20};
use crate::elevator::{Cx, Dispatch, Elevator, Insert, Lookup, Neighbours, Run};
use crate::explain::End;
use crate::group::Group;
use crate::queue::merge::Merging;
use crate::request::{Bio, GroupId, RequestId, Requests, SubmitterId, Waiter};
use crate::time::{Instant, Span};
use crate::tunables::{Knob, KnobError, Tunables};

impl Elevator for Cfq {
    fn attach(&mut self, cx: &mut Cx<'_>) {
        let now = self.now(cx);
        self.last_sync = now;
        self.last_delayed_sync = now.wrapping_sub(self.second());
        self.head_start = self.rules.clock.head_start(cx.now);
        self.groups = Groups::new(now);
        if self.knobs.kernel >= V4_20 && !cx.device().rotational {
            self.knobs.slice_idle = Span::ZERO;
            self.ticks = Ticks::of(&self.knobs, self.unit);
        }
        // 2.6 lets a woken submitter have a batch beyond the limit: one and a half times, in each direction.
        self.reserve((3 * cx.device().nr_requests as usize).saturating_add(cx.device().depth as usize));
    }

    fn prepare(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        self.settle();
        self.prepared(cx, rq);
    }

    fn unprepare(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        self.drop_request(cx, rq);
    }

    fn insert(&mut self, cx: &mut Cx<'_>, rq: RequestId, _at: Insert) -> Run {
        self.settle();
        let (q, ioprio) = (self.rows[rq].queue, super::priority::Ioprio::of(cx.rq(rq).priority));
        if self.queues[q].priority_is_old {
            self.queues[q].take(ioprio);
        }
        self.sort_in(cx, q, rq);
        self.queue_by_age(cx, q, rq);
        self.queued += 1;
        self.queues[q].meta += u32::from(cx.rq(rq).hints.meta);
        self.learn(cx, q, rq);
        let run = self.meet_active(cx, q, rq);
        // The queue that was served may have ended when its last process left it (`prepare`).
        run.max(self.take_wish())
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
            Trees::ByWorkload | Trees::InGroups => self.queued > 0,
        };
        queued || !self.chosen.is_empty()
    }

    fn deadline(&self) -> Option<Instant> {
        self.timer.map(|at| self.unit.instant(at))
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
        let q = self.rows[victim].queue;
        self.inherit_age(q, into, victim);
        if self.rules.next_request == NextRequest::FromTaken && self.queues[q].next == Some(victim) {
            self.set_next(cx, q, Some(into));
        }
        self.take_out(cx, q, victim);
        self.drop_request(cx, victim);
    }

    fn requeue(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        self.in_driver[cx.rq(rq).waiter] -= 1;
        self.chosen.hand_back(rq);
    }

    fn forget(&mut self, cx: &mut Cx<'_>, submitter: SubmitterId) -> Run {
        self.settle();
        self.process_gone(cx, submitter)
    }

    fn group(&mut self, cx: &mut Cx<'_>, id: GroupId, group: Group) {
        self.settle();
        self.announce(cx, id, group);
    }

    fn ungroup(&mut self, cx: &mut Cx<'_>, id: GroupId) {
        self.settle();
        self.group_gone(cx, id);
        let run = self.take_wish();
        cx.wish(run);
    }

    fn tunables(&self) -> &dyn Tunables {
        &self.knobs
    }

    fn tunables_mut(&mut self) -> Option<&mut dyn Tunables> {
        Some(self)
    }

    fn check(&self, requests: &Requests) {
        self.check_books(requests);
        self.chosen.check(requests);
    }
}

/// Turning a knob also turns what is kept of it in units of the clock.
impl Tunables for Cfq {
    fn knobs(&self) -> Vec<&'static Knob> {
        self.knobs.knobs()
    }

    fn get(&self, name: &str) -> Option<i64> {
        self.knobs.get(name)
    }

    fn set(&mut self, name: &str, raw: i64) -> Result<(), KnobError> {
        self.knobs.set(name, raw)?;
        self.ticks = Ticks::of(&self.knobs, self.unit);
        Ok(())
    }
}
