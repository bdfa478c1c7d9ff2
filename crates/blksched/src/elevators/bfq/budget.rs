//! Budgets: how much a queue may be served in one turn, what a request costs, and the feedback after a turn.
//!
//! **Rule** A request costs its sectors; write-back costs three times that while everybody has the same weight and
//! nobody is raised. After a turn: used up → four times as much next time; out of time → twice; idled in vain → less by
//! four least budgets; nothing left → what it used. Never more than the greatest budget: what the disk moves in
//! `timeout_sync`, or the knob's.
//! **Origin** docs/behaviour/elevators-6.1.md#b0, #b3 and #b13.
//! **In the kernel** `bfq_updated_next_req`, `__bfq_bfqq_recalc_budget`, `bfq_serv_to_charge`, `max_budget`,
//! `bfq_calc_max_budget`.

#![doc(alias = "bfq_updated_next_req")]
#![doc(alias = "__bfq_bfqq_recalc_budget")]
#![doc(alias = "bfq_serv_to_charge")]
#![doc(alias = "max_budget")]
#![doc(alias = "bfq_calc_max_budget")]

use super::Bfq;
use super::expire::Why;
use super::qid::Qid;
use super::terms::Call;
use crate::explain::Reason;
use crate::request::{RequestId, Waiter};

/// The greatest budget until enough turns have been seen \[sectors\].
pub(super) const DEFAULT_MAX: i64 = 16_384;
/// This many budgets must have been assigned, in units of 1/256 that decay.
const VALID: i64 = 194;
const WRITE_BACK_COSTS: i64 = 3;

/// What a queue's budget depends on after a turn.
#[derive(Clone, Copy, Debug)]
struct Feedback {
    assigned: i64,
    served: i64,
    least: i64,
    most: i64,
    in_device: bool,
}

/// The next budget of a queue that somebody waits for.
fn after(turn: Why, at: Feedback) -> i64 {
    let Feedback { assigned, served, least, most, in_device } = at;
    match turn {
        Why::IdledInVain if in_device => (2 * assigned).min(most),
        Why::IdledInVain if assigned > 5 * least => assigned - 4 * least,
        Why::IdledInVain => least,
        Why::OutOfTime | Why::Gone => (2 * assigned).min(most),
        Why::OutOfBudget | Why::IdleClass => (4 * assigned).min(most),
        Why::NothingQueued => served.max(least),
        Why::Preempted(_) => assigned,
    }
}

impl Bfq {
    pub(super) fn budgets_are_valid(&self) -> bool {
        self.budgets_assigned >= VALID
    }

    /// One more turn has begun.
    pub(super) fn count_budget(&mut self) {
        self.budgets_assigned = (7 * self.budgets_assigned + 256) / 8;
    }

    fn usual_max_budget(&self) -> i64 {
        if self.budgets_are_valid() { self.max_budget } else { DEFAULT_MAX }
    }

    /// What a new queue begins with.
    pub(super) fn first_budget(&self) -> i64 {
        2 * self.usual_max_budget() / 3
    }

    pub(super) fn min_budget(&self) -> i64 {
        self.usual_max_budget() / 32
    }

    pub(super) fn recompute_max_budget(&mut self) {
        self.max_budget = match self.knobs.max_budget {
            0 => {
                let ticks = self.timeout_ticks() as u64;
                self.rate.sectors_in_ms(ticks * 1000 / u64::from(self.clock.jiffies().hz()))
            }
            sectors => i64::from(sectors),
        };
    }

    /// What serving a request costs its queue.
    pub(super) fn cost(&self, call: &Call<'_, '_>, rq: RequestId, q: Qid) -> i64 {
        let sectors = i64::from(call.rq(rq).sectors);
        let queue = &self.queues[q];
        let plain = queue.waiter == Waiter::Sync || queue.is_raised() || self.is_asymmetric(q);
        if plain { sectors } else { WRITE_BACK_COSTS * sectors }
    }

    /// It has a next request, and that fits into what is left of its budget.
    pub(super) fn has_room(&self, call: &Call<'_, '_>, q: Qid) -> bool {
        self.queues[q].next.is_some_and(|next| self.cost(call, next, q) <= self.entity(q).left())
    }

    /// A queue has had this many sectors.
    pub(super) fn charge(&mut self, call: &Call<'_, '_>, q: Qid, sectors: i64) {
        let queue = &mut self.queues[q];
        if queue.turn.served == 0 {
            queue.turn.first_served = call.now;
        }
        if queue.is_raised() {
            queue.raising.served += sectors;
        }
        queue.turn.served += sectors;
        self.serve_entity(super::entity::Node::queue(q), sectors);
    }

    /// After a turn: how much may it have next time?
    pub(super) fn assign_budget(&mut self, call: &mut Call<'_, '_>, q: Qid, turn: Why) {
        let (least, most) = (self.min_budget(), self.max_budget);
        let queue = &self.queues[q];
        let raised = queue.is_raised();
        if queue.is_sync() && !raised && matches!(turn, Why::Preempted(_)) {
            return;
        }
        let assigned = if raised { 2 * least } else { queue.turn.assigned };
        let served = self.entity(q).service;
        let at = Feedback { assigned, served, least, most, in_device: queue.in_device > 0 };
        let mut budget = match (queue.is_sync(), raised) {
            (true, false) => after(turn, at),
            (true, true) => assigned,
            (false, _) => most,
        };
        if self.budgets_are_valid() && self.knobs.max_budget == 0 {
            budget = budget.min(most);
        }
        self.queues[q].turn.assigned = budget;
        if let Some(next) = self.queues[q].next {
            self.entity_mut(q).budget = budget.max(self.cost(call, next, q));
        }
        let (owner, waiter) = (self.queues[q].owner, self.queues[q].waiter);
        call.explain(Reason::BudgetAssigned { owner, waiter, sectors: budget });
    }

    /// Its next request is another one: can it be paid for?
    pub(super) fn fit_budget(&mut self, call: &mut Call<'_, '_>, q: Qid) {
        let Some(next) = self.queues[q].next.filter(|_| self.in_service != Some(q)) else { return };
        let cost = self.cost(call, next, q);
        let entity = self.entity(q);
        let budget = self.queues[q].turn.assigned.max(cost).max(entity.service);
        if entity.budget != budget {
            self.entity_mut(q).budget = budget;
            self.stand_queue(call, q, super::wf2q::Return::Now, super::wf2q::Turn::GoesOn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Feedback = Feedback { assigned: 4096, served: 1000, least: 512, most: 16_384, in_device: false };

    #[test]
    fn who_uses_its_budget_up_gets_four_times_as_much_within_the_greatest() {
        assert_eq!(after(Why::OutOfBudget, AT), 16_384);
        assert_eq!(after(Why::OutOfBudget, Feedback { assigned: 8192, ..AT }), 16_384);
        assert_eq!(after(Why::OutOfTime, AT), 8192);
    }

    #[test]
    fn who_is_idled_for_in_vain_gets_less_unless_the_disk_still_has_its_requests() {
        assert_eq!(after(Why::IdledInVain, AT), 2048);
        assert_eq!(after(Why::IdledInVain, Feedback { assigned: 2560, ..AT }), 512);
        assert_eq!(after(Why::IdledInVain, Feedback { in_device: true, ..AT }), 8192);
    }

    #[test]
    fn who_has_nothing_left_gets_what_it_used() {
        assert_eq!(after(Why::NothingQueued, AT), 1000);
        assert_eq!(after(Why::NothingQueued, Feedback { served: 8, ..AT }), 512);
    }
}
