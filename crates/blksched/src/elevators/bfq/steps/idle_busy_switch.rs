//! The transition of a queue from idle to busy.
//!
//! **Rule** A queue that becomes busy again within three idle times keeps the rest of its budget and may preempt;
//! otherwise it begins with the budget that feedback assigned. A queue that starts something new, or meets its soft
//! real-time rate, is raised (`state/raising.rs`). It preempts the in-service queue if it was waited for, if it has a
//! higher class or weight, or, since 5.15, if the disk would not be left idle for the in-service queue. In 4.19 it must
//! be raised higher, and be waited for or deserve to be raised. Until 5.10 any weight may be raised.
//! **Origin** docs/behaviour/elevators-6.1.md#b6; docs/behaviour/elevators-4.19-5.15.md#w1, #w3 and #y7 to #y9; the
//! counters docs/behaviour/elevators-6.1.md#b5, "Busy count per class", with their trap: a class
//! that changes in between makes them wrap.
//! **In the kernel** `bfq_add_bfqq_busy`, `bfq_del_bfqq_busy`, `bfq_bfqq_handle_idle_busy_switch`, `busy_queues`,
//! `bfq_bfqq_higher_class_or_weight`, `bfq_bfqq_update_budg_for_activation`.

use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::priority::USUAL_WEIGHT;
use crate::elevators::bfq::rules::{IoBound, KeptBudget, Preemption, Raisable, SeekySoft};
use crate::elevators::bfq::state::raising::{Awakening, RaisingKind};
use crate::elevators::bfq::state::slice_end::{Until, Why};
use crate::elevators::bfq::timeouts::Call;
use crate::explain::{Preempt, Raised};

/// A queue that becomes busy again within this many idle times returned in time.
const IN_TIME: u64 = 3;

/// Whether a queue returned in time to keep its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    InTime,
    Anew,
}

impl Bfq {
    /// Makes a queue busy when a request arrives; true if it begins something new.
    pub(super) fn awaken(&mut self, call: &mut Call<'_>, q: Qid) -> bool {
        let cost = self.queues[q].next.map_or(0, |next| self.cost(call, next, q, &self.queues[q]));
        let at = self.look_at(call, q);
        let may_be_raised = self.knobs.low_latency && (self.queues[q].is_raised() || at.deserves);
        self.leave_old_burst(call, q);
        let in_time = self.queues[q].habits.returned_within(call.ns, IN_TIME * self.slice_idle());
        let came = self.renew_budget(q, cost, in_time);
        self.queues[q].birth.mark_used();
        if self.rules.io_bound == IoBound::InTime {
            self.queues[q].habits.became_busy(in_time);
        }
        // A queue just split off has never been busy, so it would seem to have been idle for long (`look_at`).
        if self.knobs.low_latency && !self.queues[q].birth.was_split_within(call.now, self.timeouts.new_start) {
            self.raise(call, q, at);
        }
        let queue = &mut self.queues[q];
        queue.slice.became_busy(call.now);
        queue.set_soft_is_open(false);
        self.join_service_trees(call, q);
        self.preempt(call, q, came, may_be_raised);
        at.interactive
    }

    fn look_at(&self, call: &Call<'_>, q: Qid) -> Awakening {
        let queue = &self.queues[q];
        let in_large_burst = queue.birth.in_large_burst();
        // A weight set by a user states the queue's share, and raising would override it.
        let any = self.rules.raisable == Raisable::AnyWeight;
        let usual = any || self.entity(q).wanted_weight() == USUAL_WEIGHT;
        let settled = !in_large_burst && queue.in_device() == 0 && usual;
        let interactive = settled && queue.slice.is_idle_for(call.now, self.timeouts.new_start);
        let seeks = self.rules.seeky_soft != SeekySoft::Stays && queue.seeks.are_all(self.rules.only_seeks);
        let soft_real_time = settled && !seeks && queue.raising().may_be_soft(call.now);
        let stably_merged = || {
            let context = queue.next.map(|next| self.rows[next].context);
            context.is_some_and(|context| self.contexts[context].is_stably_merged())
        };
        // In a shared queue it is unknown which of the processes begins something new.
        let may_be_raised = queue.is_sync() && (queue.sharing.sole().is_some() || stably_merged());
        Awakening {
            now: call.now,
            lasts: self.interactive_lasts(),
            in_large_burst,
            interactive,
            soft_real_time,
            deserves: may_be_raised && (interactive || soft_real_time),
        }
    }

    fn leave_old_burst(&mut self, call: &Call<'_>, q: Qid) {
        let queue = &mut self.queues[q];
        let forgotten = queue.slice.is_idle_for(call.now, self.timeouts.burst_forgotten);
        if !queue.birth.is_new() && queue.in_device() == 0 && forgotten {
            queue.birth.leave_large_burst();
            self.burst.leave(q);
        }
    }

    fn renew_budget(&mut self, q: Qid, cost: i64, in_time: bool) -> Came {
        let queue = &mut self.queues[q];
        let entity = self.hierarchy.entity_mut(q);
        let left = entity.left();
        entity.clear_service();
        // It was waited for and returned in time; with a new budget it could exceed its share by pausing.
        let suffices = left > 0 || self.rules.kept_budget == KeptBudget::EvenIfSpent;
        if queue.slice.keeps_budget() && in_time && suffices {
            // 4.19 compares without a sign, so what is overspent counts as plenty.
            let assigned = queue.slice.assigned();
            entity.set_budget(if left < 0 { assigned } else { left.min(assigned) });
            return Came::InTime;
        }
        queue.slice.take_kept_budget();
        entity.set_budget(queue.slice.assigned().max(cost));
        Came::Anew
    }

    fn raise(&mut self, call: &mut Call<'_>, q: Qid, at: Awakening) {
        let old = *self.queues[q].raising();
        let new = old.on_awakening(at, &self.timeouts);
        self.set_raising(q, new);
        if !old.is_raised() && new.is_raised() {
            // With a small budget its finish time is early, so it is served soon.
            let most = 2 * self.device.min_budget();
            let entity = self.entity_mut(q);
            entity.set_budget(entity.budget().min(most));
        }
        if new.kind() == old.kind() {
            return;
        }
        self.entity_mut(q).reweigh();
        match new.kind() {
            RaisingKind::Interactive => self.say_raised(call, q, Raised::Interactive),
            RaisingKind::SoftRealTime => self.say_raised(call, q, Raised::SoftRealTime),
            RaisingKind::None => {
                let owner = self.queues[q].owner();
                call.explain(crate::Reason::RaisingEnded { owner, why: crate::explain::RaisingEnd::LargeBurst });
            }
        }
    }

    fn preempt(&mut self, call: &mut Call<'_>, q: Qid, came: Came, may_be_raised: bool) {
        let Some(served) = self.hierarchy.in_service() else { return };
        let rule = self.rules.preemption;
        let (new, old) = (self.entity(q), self.entity(served));
        let times = |q: Qid| self.queues[q].raising().times();
        // Its budget was kept for this very return. After the slice in service it would be too late for its share.
        let why = if rule == Preemption::Raised {
            if times(q) <= times(served) || !(came == Came::InTime || may_be_raised) {
                return;
            }
            Preempt::Heavier
        } else if came == Came::InTime && times(q) >= times(served) {
            Preempt::WaitedFor
        } else if new.class() < old.class() {
            Preempt::HigherClass
        } else if self.weighs_more(q, served) {
            Preempt::Heavier
        // The slice in service protects no share, so ending it costs nothing but a seek.
        } else if rule == Preemption::UnlessIdling && !self.idling_is_better(served) {
            Preempt::NotWorthIdling
        } else {
            return;
        };
        // A group left on its tree may be next again; then no queue preempts the one in service
        // (docs/behaviour/elevators-6.12-6.18.md#amendment-a3).
        if self.hierarchy.root_has_another_next() {
            self.expire(call, served, Why::Preempted(why), Until::Now);
        }
    }

    /// Whether `q` weighs more than `served`: by their own weights within a group, otherwise by those of the groups
    /// directly above, if any.
    fn weighs_more(&self, q: Qid, served: Qid) -> bool {
        let siblings = self.hierarchy.same_group(q, served);
        let weight = |q: Qid| {
            let own = self.entity(q);
            let group = self.hierarchy.group_weight(own.level()).filter(|_| !siblings);
            group.unwrap_or(own.weight())
        };
        weight(q) > weight(served)
    }
}
