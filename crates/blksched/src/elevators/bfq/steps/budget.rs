//! Budgets: how much a queue may be served in one slice, what a request costs, and the feedback after a slice.
//!
//! **Rule** A request costs its sectors; write-back costs three times that while all queues have the same weight and
//! none is raised. After a slice: used up → four times as much next time; out of time → twice; idled in vain → four
//! minimum budgets less; no requests left → the amount used. Never more than the greatest budget: the amount that the
//! disk transfers in `timeout_sync`, or the knob's value.
//! **Origin** docs/behaviour/elevators-6.1.md#b0, #b3 and #b13; docs/behaviour/elevators-4.19-5.15.md#y2 and #y17.
//! **In the kernel** `bfq_updated_next_req`, `__bfq_bfqq_recalc_budget`, `bfq_serv_to_charge`, `max_budget`,
//! `bfq_calc_max_budget`, `bfq_async_charge_factor`, `service_from_backlogged`.

use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::decide::feedback;
use crate::elevators::bfq::decide::feedback::Feedback;
use crate::elevators::bfq::hierarchy::entity::Node;
use crate::elevators::bfq::hierarchy::wf2q::{Return, Service};
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::rules::{FittedBudget, WriteBackCost};
use crate::elevators::bfq::state::queue::BfqQueue;
use crate::elevators::bfq::state::slice_end::Why;
use crate::elevators::bfq::timeouts::Call;
use crate::explain::Reason;
use crate::request::RequestId;

const WRITE_BACK_COSTS: i64 = 3;

impl Bfq {
    /// The cost of serving a request, charged to its queue.
    #[inline(always)]
    pub(super) fn cost(&self, call: &Call<'_>, rq: RequestId, q: Qid, queue: &BfqQueue) -> i64 {
        let sectors = i64::from(call.rq(rq).sectors);
        if queue.is_sync() { sectors } else { self.cost_of_write_back(sectors, q) }
    }

    #[inline(never)]
    fn cost_of_write_back(&self, sectors: i64, q: Qid) -> i64 {
        let symmetric = self.rules.write_back_cost == WriteBackCost::Symmetric;
        let plain = self.queues[q].is_raised() || (symmetric && self.is_asymmetric(q));
        // Three times only if all queues compete as equals, and never for a raised queue: as in the kernel.
        if plain { sectors } else { WRITE_BACK_COSTS * sectors }
    }

    /// Whether it has a next request that fits into the rest of its budget.
    #[inline(always)]
    pub(super) fn has_room(&self, call: &Call<'_>, q: Qid, queue: &BfqQueue) -> bool {
        queue.next.is_some_and(|next| self.cost(call, next, q, queue) <= self.entity(q).left())
    }

    /// Charges this many sectors to a queue.
    #[inline(always)]
    pub(super) fn charge(&mut self, call: &Call<'_>, q: Qid, sectors: i64) {
        self.queues[q].note_served(call.now, sectors);
        self.hierarchy.serve_entity(Node::queue(q), sectors);
        self.release_left();
    }

    /// Assigns a queue's next budget after a slice.
    pub(super) fn assign_budget(&mut self, call: &mut Call<'_>, q: Qid, slice: Why) {
        let (least, most) = (self.device.min_budget(), self.device.max_budget());
        let queue = &self.queues[q];
        let raised = queue.is_raised();
        // It was interrupted, so the part of its budget that it used says nothing.
        if queue.is_sync() && !raised && matches!(slice, Why::Preempted(_)) {
            return;
        }
        let assigned = if raised { 2 * least } else { queue.slice.assigned() };
        let served = self.entity(q).service();
        let at = Feedback { assigned, served, least, most, in_device: queue.in_device() > 0 };
        let mut budget = match (queue.is_sync(), raised) {
            (true, false) => feedback::after(slice, at),
            // A raised queue has small budgets, so that its finish times are early and it never waits long.
            (true, true) => assigned,
            // No process waits for write-back, so its budget is the one with the best throughput.
            (false, _) => most,
        };
        if self.device.budgets_are_valid() && self.knobs.max_budget == 0 {
            budget = budget.min(most);
        }
        self.queues[q].slice.assign(budget);
        if let Some(next) = self.queues[q].next {
            let cost = self.cost(call, next, q, &self.queues[q]);
            self.entity_mut(q).set_budget(budget.max(cost));
        }
        let (owner, waiter) = (self.queues[q].owner(), self.queues[q].waiter());
        call.explain(Reason::BudgetAssigned { owner, waiter, sectors: budget });
    }

    /// Adapts a queue's budget to its new next request.
    #[inline]
    pub(super) fn fit_budget(&mut self, call: &mut Call<'_>, q: Qid) {
        if self.hierarchy.in_service() != Some(q) {
            self.fit_waiting_budget(call, q);
        }
    }

    /// The same for a queue that is not in service.
    #[inline(never)]
    pub(super) fn fit_waiting_budget(&mut self, call: &mut Call<'_>, q: Qid) {
        let Some(next) = self.queues[q].next else { return };
        let cost = self.cost(call, next, q, &self.queues[q]);
        let entity = self.entity(q);
        // At least the cost of the request, or the queue could not dispatch it, and at least the service already
        // received, or the rest would be negative.
        let served = if self.rules.fitted_budget == FittedBudget::Next { 0 } else { entity.service() };
        let budget = self.queues[q].slice.assigned().max(cost).max(served);
        if entity.budget() != budget {
            self.entity_mut(q).set_budget(budget);
            self.activate_queue(call, q, Return::Now, Service::GoesOn);
        }
    }
}
