//! The end of a slice: its charge, and the next state of the queue.
//!
//! **Rule** A queue that was slow, or ran out of time with much of its budget left, is charged for its time in service,
//! not for the sectors it transferred. An empty one leaves its tree, and the rest of its budget is kept in case it
//! becomes busy again in time.
//! **Origin** docs/behaviour/elevators-6.1.md#b13, "Expire"; docs/behaviour/elevators-4.19-5.15.md#w5, #w11, #y10,
//! #y18.
//! **In the kernel** `bfq_bfqq_expire`, `__bfq_bfqq_expire`, `bfq_bfqq_is_slow`, `bfqq_expiration`,
//! `bfq_bfqq_charge_time`, `__bfq_bfqd_reset_in_service`.

use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::decide::pace::{SlicePace, pace};
use crate::elevators::bfq::hierarchy::wf2q::{Return, Service};
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::rules::{EmptyPreempted, IoBound, SoftStart};
use crate::elevators::bfq::state::raising::RaisingKind;
use crate::elevators::bfq::state::slice_end::{Until, Why};
use crate::elevators::bfq::timeouts::Call;
use crate::explain::{NotIdled, Reason};

impl Bfq {
    fn pace(&self, call: &Call<'_>, q: Qid, until: Until) -> SlicePace {
        let queue = &self.queues[q];
        // The pace of write-back is not judged; its requests cost three times as much instead (`cost`).
        if !queue.is_sync() {
            return SlicePace { is_slow: false, ms: 0 };
        }
        let end = if until == Until::IdlingBegan { self.idling.since_ns() } else { call.ns };
        let us = end.wrapping_sub(self.in_service.began_ns()) as i64 / 1000;
        let below_half = self.entity(q).service() < self.device.max_budget() / 2;
        pace(us, queue.seeks.is_seeky(), below_half, self.device.rate.is_rotational())
    }

    /// Charges a queue that was slow for its time.
    fn charge_time(&mut self, call: &mut Call<'_>, q: Qid, ms: i64) {
        let second = self.timeouts.second;
        // The default timeout, whatever the knob's value: as in the kernel.
        let whole = second / 8 * 1000 / second;
        let by_time = self.device.max_budget() * ms.min(whole) / whole;
        let entity = self.entity(q);
        let (service, budget) = (entity.service(), entity.budget());
        let total = by_time.max(service);
        self.entity_mut(q).set_budget(budget.max(total));
        self.charge(call, q, total - service);
        call.explain(Reason::ChargedForTime { owner: self.queues[q].owner(), sectors: total - service });
    }

    /// Ends the slice of the queue in service.
    pub(super) fn expire(&mut self, call: &mut Call<'_>, q: Qid, why: Why, until: Until) {
        let pace = self.pace(call, q, until);
        let entity = self.entity(q);
        // No source says why a third; kept.
        let much_left = why == Why::OutOfTime && entity.left() >= entity.budget() / 3;
        // Charged by sectors alone, a seeky queue would have the disk for most of the time at the cost of a few
        // sectors.
        if !self.queues[q].is_raised() && (pace.is_slow || much_left) {
            self.charge_time(call, q, pace.ms);
        }
        if self.rules.io_bound == IoBound::InTime && why == Why::IdledInVain {
            let (served, budget) = (self.entity(q).service(), self.entity(q).budget());
            self.queues[q].habits.idled_in_vain(served, budget);
        }
        if self.knobs.low_latency {
            self.note_end_for_raising(call, q);
        }
        self.sample.forget(&mut self.queues[q].injection);
        self.assign_budget(call, q, why);
        self.take_out_of_service(call, q, why);
        if !self.queues.is_live(q) {
            return;
        }
        // Only a queue that merely ran empty keeps the rest of its budget.
        let keeps = !self.queues[q].is_busy() && !matches!(why, Why::OutOfTime | Why::OutOfBudget | Why::IdleClass);
        if keeps {
            self.queues[q].slice.keep_budget();
        } else {
            self.entity_mut(q).clear_service();
        }
        self.hierarchy.clear_group_service(self.entity(q).level());
    }

    fn note_end_for_raising(&mut self, call: &Call<'_>, q: Qid) {
        let queue = &mut self.queues[q];
        if !queue.is_raised() {
            queue.restart_raising(call.now);
        }
        let computes =
            self.rules.soft_start != SoftStart::NotInteractive || queue.raising().kind() != RaisingKind::Interactive;
        if queue.is_empty() && queue.in_device() > 0 {
            queue.set_soft_is_open(true);
        } else if queue.is_empty() && computes {
            self.note_soft_real_time(call.now, q);
        }
    }

    /// Takes a queue out of service; the queue may be released by this.
    pub(super) fn take_out_of_service(&mut self, call: &mut Call<'_>, q: Qid, why: Why) {
        let (owner, waiter) = (self.queues[q].owner(), self.queues[q].waiter());
        call.explain(Reason::SliceEnded { owner, waiter, why: why.in_words() });
        let level = self.entity(q).level();
        let queue = &mut self.queues[q];
        queue.sharing.slice_ended(queue.seeks.is_seeky());
        // An empty queue that was preempted while it needed idling stays on its tree, so that it keeps its share. It
        // may be selected there, and is then found empty.
        let may_stay = self.rules.empty_preempted == EmptyPreempted::Stays;
        let waited_for = may_stay && matches!(why, Why::Preempted(_)) && self.idling_is_needed(q);
        let queue_is_empty = self.queues[q].is_empty();
        if queue_is_empty && !waited_for {
            if self.queues[q].in_device() == 0 {
                self.queues[q].slice.became_idle(call.now);
            }
            self.leave_service_trees(call, q, Service::Ends);
        } else {
            self.activate_queue(call, q, Return::Now, Service::Ends);
            if !queue_is_empty {
                self.position_add(call, q);
            }
        }
        self.end_idling(call, q);
        self.hierarchy.end_service(level);
        self.release_if_unused(q);
    }

    /// Reports why the disk is not left idle for the queue in service, which is empty.
    pub(super) fn say_not_idled(&self, call: &mut Call<'_>, q: Qid) {
        let queue = &self.queues[q];
        let why = match () {
            () if queue.sharing.processes() == 0 => NotIdled::Gone,
            () if !self.device.rate.is_rotational() && self.device.ncq.queues() => NotIdled::NoArm,
            () => NotIdled::NotWorthIt,
        };
        call.explain(Reason::NotIdled { owner: queue.owner(), why });
    }
}
