//! The ladder of the decision: whose request goes next?
//!
//! **Rule** see [`choose`] and the README's picture. `choose` only looks; `Bfq::select` ends turns and begins them.
//! **Origin** docs/behaviour/elevators-6.1.md#b7.
//! **In the kernel** `bfq_select_queue`, `bfq_dispatch_request`, `__bfq_dispatch_request`, `bfq_bfqq_must_idle`.

#![doc(alias = "bfq_select_queue")]
#![doc(alias = "bfq_dispatch_request")]
#![doc(alias = "__bfq_dispatch_request")]
#![doc(alias = "bfq_bfqq_must_idle")]

use super::Bfq;
use super::expire::{Until, Why};
use super::qid::Qid;
use super::terms::{Call, Jiffy};
use crate::explain::{Reason, SliceStart};
use crate::request::RequestId;

/// What the ladder looks at: the queue in service.
#[derive(Clone, Copy, Debug)]
struct DecisionInputs {
    has_next: bool,
    /// Its next request fits into what is left of its budget.
    fits: bool,
    /// The disk is being left idle for it.
    waits: bool,
    /// The device has requests of it, and idling is better than going on.
    worth_waiting: bool,
}

/// A rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    /// Its turn goes on.
    Serve,
    /// The disk is its own, but somebody else's request may go meanwhile.
    Inject,
    /// Its turn ends.
    Expire(Why),
}

fn choose(at: DecisionInputs) -> Decision {
    match at {
        DecisionInputs { has_next: true, fits: true, .. } => Decision::Serve,
        DecisionInputs { has_next: true, fits: false, .. } => Decision::Expire(Why::OutOfBudget),
        DecisionInputs { waits: true, .. } | DecisionInputs { worth_waiting: true, .. } => Decision::Inject,
        _ => Decision::Expire(Why::NothingQueued),
    }
}

impl Bfq {
    /// The queue whose next request goes, if any may.
    pub(super) fn select(&mut self, call: &mut Call<'_, '_>) -> Option<Qid> {
        if let Some(q) = self.in_service.filter(|&q| self.may_expire(call, q) && !self.must_idle(q)) {
            self.expire(call, q, Why::OutOfTime, Until::Now);
        }
        loop {
            let q = match self.in_service {
                Some(q) => q,
                None => self.begin_turn(call)?,
            };
            let queue = &self.queues[q];
            let has_next = queue.next.is_some();
            let at = DecisionInputs {
                has_next,
                fits: has_next && self.has_room(call, q),
                waits: queue.turn.waits,
                worth_waiting: !has_next && queue.in_device != 0 && self.idling_is_better(q),
            };
            match choose(at) {
                Decision::Serve => {
                    if self.queues[q].turn.waits {
                        self.end_idling(call, q);
                    }
                    return Some(q);
                }
                Decision::Inject => return self.injected(call, q),
                Decision::Expire(why) => self.expire(call, q, why, Until::Now),
            }
        }
    }

    /// Its time is up, and it is not being waited for with most of its budget left.
    pub(super) fn may_expire(&self, call: &Call<'_, '_>, q: Qid) -> bool {
        let entity = self.entity(q);
        (!self.queues[q].turn.waits || entity.left() >= entity.budget / 3) && self.is_out_of_time(call, q)
    }

    pub(super) fn is_out_of_time(&self, call: &Call<'_, '_>, q: Qid) -> bool {
        call.now >= self.queues[q].turn.expires
    }

    fn begin_turn(&mut self, call: &mut Call<'_, '_>) -> Option<Qid> {
        if self.busy_queues() == 0 {
            return None;
        }
        let q = self.descend(call)?;
        self.in_service = Some(q);
        self.count_budget();
        let timeout = self.timeout_ticks();
        let entity = self.entity(q);
        let factor = entity.weight / entity.own_weight;
        let queue = &mut self.queues[q];
        queue.turn.looked_for_oldest = false;
        let soft = queue.raising.is_soft_real_time();
        let expired: Jiffy = queue.turn.expires;
        if soft && call.now > queue.raising.since && call.now > expired {
            // The time that it had to wait does not count against it.
            let late = call.now - expired;
            queue.raising.since = if expired > queue.raising.since { queue.raising.since + late } else { call.now };
        }
        queue.turn.expires = call.now + timeout * if soft { 1 } else { factor };
        self.turn_began_ns = call.ns;
        self.served_position = crate::request::Sector(0);
        let (owner, waiter) = (queue.owner, queue.waiter);
        call.explain(Reason::SliceBegan { owner, waiter, why: SliceStart::InOrder });
        Some(q)
    }

    /// A queue's next request goes to the device.
    pub(super) fn serve(&mut self, call: &mut Call<'_, '_>, q: Qid) -> RequestId {
        let rq = self.queues[q].next.expect("a queue that is selected has a next request");
        let cost = self.cost(call, rq, q);
        self.charge(call, q, cost);
        let in_service = self.in_service == Some(q);
        if in_service {
            self.begin_sample(q, rq);
        }
        self.queues[q].in_device += 1;
        self.sample_dispatch(call, rq, q);
        self.remove(call, rq);
        if in_service {
            self.watch_raising(call, q);
            if self.busy_queues() > 1 && self.is_idle_class(q) {
                self.expire(call, q, Why::IdleClass, Until::Now);
            }
        }
        rq
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: DecisionInputs = DecisionInputs { has_next: false, fits: false, waits: false, worth_waiting: false };

    #[test]
    fn a_queue_keeps_the_disk_as_long_as_its_budget_lasts() {
        let next = DecisionInputs { has_next: true, ..EMPTY };
        assert_eq!(choose(DecisionInputs { fits: true, ..next }), Decision::Serve);
        assert_eq!(choose(next), Decision::Expire(Why::OutOfBudget));
    }

    #[test]
    fn an_empty_queue_keeps_it_only_if_it_is_waited_for() {
        assert_eq!(choose(EMPTY), Decision::Expire(Why::NothingQueued));
        assert_eq!(choose(DecisionInputs { waits: true, ..EMPTY }), Decision::Inject);
        assert_eq!(choose(DecisionInputs { worth_waiting: true, ..EMPTY }), Decision::Inject);
    }
}
