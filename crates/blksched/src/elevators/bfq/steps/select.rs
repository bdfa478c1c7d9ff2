//! Selects the queue that has the disk: carries out the decision, ends a slice and begins the next.
//!
//! **Rule** `decide/select.rs` only decides; here slices end and begin. Until 5.15 the scheduler is asked as long as a
//! queue is busy, even if nothing is queued, and the question ends the slice of a queue that ran empty.
//! **Origin** docs/behaviour/elevators-6.1.md#b7; docs/behaviour/elevators-4.19-5.15.md#v1 and #w13.
//! **In the kernel** `bfq_dispatch_request`, `__bfq_dispatch_request`, `bfq_bfqq_must_idle`,
//! `bfq_set_in_service_queue`, `bfq_dispatch_rq_from_bfqq`, `bfq_select_queue`, `__bfq_set_in_service_queue`,
//! `bfq_may_expire_for_budg_timeout`, `bfq_bfqq_budget_timeout`, `bfq_set_budget_timeout`.

use crate::elevator::{Dispatch, IdleFor};
use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::decide::select;
use crate::elevators::bfq::decide::select::{Decision, DecisionInputs};
use crate::elevators::bfq::hierarchy::entity::Node;
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::rules::{AskedWhile, SlicePosition};
use crate::elevators::bfq::state::slice_end::{Until, Why};
use crate::elevators::bfq::timeouts::Call;
use crate::explain::{Reason, SliceStart};
use crate::request::{Bio, RequestId, Sector};

/// A request that goes to the device, and its cost. `in_service`: whether its queue is the one in service.
#[derive(Clone, Copy, Debug)]
struct SentRequest {
    rq: RequestId,
    start: Sector,
    sectors: u32,
    cost: i64,
    in_service: bool,
}

impl Bfq {
    /// Whether a kernel asks for a request.
    #[inline(always)]
    pub(in crate::elevators::bfq) fn is_asked(&self) -> bool {
        match self.rules.asked_while {
            AskedWhile::Queued => self.queued > 0,
            AskedWhile::Busy => self.busy.count() > 0,
            AskedWhile::BusyOrInDevice => self.busy.count() > 0 && self.elevator_queued > 0,
        }
    }

    /// The next request for the device, if any may be dispatched; usually that of the queue in service, without further
    /// tests.
    #[inline(always)]
    pub(in crate::elevators::bfq) fn serve_next(&mut self, call: &mut Call<'_>) -> Option<RequestId> {
        if let Some(q) = self.hierarchy.in_service()
            && let Some((rq, start, sectors)) = self.simply_next(call, q)
        {
            debug_assert_eq!(self.select(&mut call.apart()), Some(q));
            self.send(call, q, SentRequest { rq, start, sectors, cost: i64::from(sectors), in_service: true });
            return Some(rq);
        }
        self.select_and_serve(&mut call.apart())
    }

    /// The next request of the queue in service, with its start and length, if the queue obviously continues: it has
    /// time and budget left, and the disk is not idling for it.
    #[inline(always)]
    fn simply_next(&self, call: &Call<'_>, q: Qid) -> Option<(RequestId, Sector, u32)> {
        let queue = &self.queues[q];
        let next =
            queue.next.filter(|_| queue.is_sync() && !queue.slice.waits() && !queue.slice.is_out_of_time(call.now))?;
        let Bio { start, sectors, .. } = **call.rq(next);
        (i64::from(sectors) <= self.entity(q).left()).then_some((next, start, sectors))
    }

    #[inline(never)]
    fn select_and_serve(&mut self, call: &mut Call<'_>) -> Option<RequestId> {
        let q = self.select(call)?;
        let queue = &self.queues[q];
        let rq = queue.next.expect("a queue that is selected has a next request");
        let cost = self.cost(call, rq, q, queue);
        let Bio { start, sectors, .. } = **call.rq(rq);
        let in_service = self.hierarchy.in_service() == Some(q);
        self.send(call, q, SentRequest { rq, start, sectors, cost, in_service });
        Some(rq)
    }

    /// The queue whose next request is to be dispatched, if any.
    fn select(&mut self, call: &mut Call<'_>) -> Option<Qid> {
        if let Some(q) = self.hierarchy.in_service().filter(|&q| self.may_expire(call, q) && !self.must_idle(q)) {
            self.expire(call, q, Why::OutOfTime, Until::Now);
        }
        loop {
            let q = match self.hierarchy.in_service() {
                Some(q) => q,
                None => self.begin_slice(call)?,
            };
            let queue = &self.queues[q];
            let has_next = queue.next.is_some();
            let at = DecisionInputs {
                has_next,
                fits: has_next && self.has_room(call, q, queue),
                waits: queue.slice.waits(),
                worth_waiting: !has_next && queue.in_device() != 0 && self.idling_is_better(q),
            };
            match select::choose(at) {
                Decision::Serve => {
                    if queue.slice.waits() {
                        self.end_idling(call, q);
                    }
                    return Some(q);
                }
                Decision::Inject => return self.injected(call, q),
                // If the first request of a queue exceeds its budget, the budget counts as used up although nothing was
                // served. The search continues within the same call, or the disk would stay idle until the next arrival
                // or completion.
                Decision::Expire(why) => self.expire(call, q, why, Until::Now),
            }
        }
    }

    /// Whether its slice may end for being out of time.
    #[inline]
    pub(super) fn may_expire(&self, call: &Call<'_>, q: Qid) -> bool {
        self.queues[q].slice.is_out_of_time(call.now) && self.is_not_waited_for(q)
    }

    /// Whether it is not being waited for, or has at least a third of its budget left. A queue that has used more may
    /// exceed its time while it is waited for; no source says why. Kept.
    #[inline(never)]
    fn is_not_waited_for(&self, q: Qid) -> bool {
        let entity = self.entity(q);
        !self.queues[q].slice.waits() || entity.left() >= entity.budget() / 3
    }

    fn begin_slice(&mut self, call: &mut Call<'_>) -> Option<Qid> {
        if self.busy.count() == 0 {
            return None;
        }
        let q = self.descend(call)?;
        self.hierarchy.begin_service(q);
        self.device.count_budget();
        let timeout = self.timeout_ticks();
        let entity = self.entity(q);
        let factor = entity.weight() / entity.own_weight();
        let queue = &mut self.queues[q];
        let soft = queue.raising().is_soft_real_time();
        // An interactive queue may be served 30 times as long; a soft real-time queue needs little time, but often.
        queue.begin_slice(call.now, call.now + timeout * if soft { 1 } else { factor });
        self.in_service.begin(call.ns);
        // Until its first dispatch, requests near sector 0 count as close to it: as in the kernel, for no known reason.
        if self.rules.slice_position == SlicePosition::Zero {
            self.in_service.move_to(Sector(0));
        }
        let (owner, waiter) = (queue.owner(), queue.waiter());
        call.explain(Reason::SliceBegan { owner, waiter, why: SliceStart::InOrder });
        Some(q)
    }

    /// Dispatches a queue's next request.
    #[inline(always)]
    fn send(&mut self, call: &mut Call<'_>, q: Qid, sent: SentRequest) {
        let SentRequest { rq, start, sectors, cost, in_service } = sent;
        self.hierarchy.serve_entity(Node::queue(q), cost);
        self.release_left();
        self.sample_dispatch(call, start, sectors, in_service);
        let queue = &mut self.queues[q];
        queue.note_served(call.now, cost);
        queue.sent();
        if in_service {
            self.sample.sent(&mut queue.injection, rq);
        }
        if !in_service && let Some(served) = self.hierarchy.in_service() {
            self.queues[served].injection.serve_beside(cost);
        }
        self.leave_orders(call, q, rq, start);
        if in_service {
            self.watch_raising(call, q);
            // One request at a time, so that any other queue can go next.
            if self.busy.count() > 1 && self.entity(q).is_idle_class() {
                self.expire(&mut call.apart(), q, Why::IdleClass, Until::Now);
            }
        }
    }

    /// Why nothing is issued.
    pub(in crate::elevators::bfq) fn nothing_to_issue(&self) -> Dispatch {
        match (self.idling.until(), self.hierarchy.in_service()) {
            _ if self.queued == 0 => Dispatch::Empty,
            (Some(until), Some(q)) => Dispatch::Idle { until, why: IdleFor::Submitter(self.queues[q].owner()) },
            _ => Dispatch::Wait,
        }
    }
}
