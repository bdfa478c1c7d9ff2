//! The end of a turn: what it is charged for, what comes next for the queue.
//!
//! **Rule** A queue that was slow, or ran out of time with much of its budget left, pays for the time that it had the
//! disk, not for what it moved. An empty one leaves its tree, and what is left of its budget is kept for it in case it
//! comes back in time.
//! **Origin** docs/behaviour/elevators-6.1.md#b13, "Expire".
//! **In the kernel** `bfq_bfqq_expire`, `__bfq_bfqq_expire`, `bfq_bfqq_is_slow`, `bfqq_expiration`,
//! `bfq_bfqq_charge_time`.

#![doc(alias = "bfq_bfqq_expire")]
#![doc(alias = "__bfq_bfqq_expire")]
#![doc(alias = "bfq_bfqq_is_slow")]
#![doc(alias = "bfqq_expiration")]
#![doc(alias = "bfq_bfqq_charge_time")]

use super::Bfq;
use super::qid::Qid;
use super::terms::Call;
use super::wf2q::{Return, Turn};
use crate::explain::{NotIdled, Preempt, Reason, SliceEnd};

/// Why a turn ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    IdledInVain,
    OutOfTime,
    OutOfBudget,
    /// The idle class gets one request at a time while others wait; for the budget it counts as used up.
    IdleClass,
    NothingQueued,
    Preempted(Preempt),
    /// Its process is gone; for the budget it counts as out of time.
    Gone,
}

impl Why {
    fn in_words(self) -> SliceEnd {
        match self {
            Why::IdledInVain => SliceEnd::IdledInVain,
            Why::OutOfTime => SliceEnd::Used,
            Why::OutOfBudget => SliceEnd::BudgetUsed,
            Why::IdleClass => SliceEnd::IdleClass,
            Why::NothingQueued => SliceEnd::NothingQueued,
            Why::Preempted(why) => SliceEnd::Preempted(why),
            Why::Gone => SliceEnd::Gone,
        }
    }
}

/// Up to when a queue had the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    Now,
    /// The idle time is not its fault.
    IdlingBegan,
}

/// Shorter turns say nothing about speed \[µs\].
const SHORTEST_US: i64 = 1000;
/// What a turn too short to judge counts for: on a rotating disk, elsewhere \[ms\].
const SHORT_MS: [i64; 2] = [8, 2];
/// From here on it is not seeking that makes a queue slow, but slowness \[µs\].
const LONG_US: i64 = 20_000;

/// How a turn went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pace {
    is_slow: bool,
    ms: i64,
}

fn pace(us: i64, seeks: bool, below_half: bool, rotational: bool) -> Pace {
    if us < SHORTEST_US {
        return Pace { is_slow: seeks, ms: SHORT_MS[usize::from(!rotational)] };
    }
    Pace { is_slow: if us > LONG_US { below_half } else { seeks }, ms: us / 1000 }
}

impl Bfq {
    fn pace(&self, call: &Call<'_, '_>, q: Qid, until: Until) -> Pace {
        let queue = &self.queues[q];
        if !queue.is_sync() {
            return Pace { is_slow: false, ms: 0 };
        }
        let end = if until == Until::IdlingBegan { self.idling.since_ns } else { call.ns };
        let us = end.wrapping_sub(self.turn_began_ns) as i64 / 1000;
        let below_half = self.entity(q).service < self.max_budget / 2;
        pace(us, queue.seeks.is_seeky(), below_half, self.rate.is_rotational())
    }

    /// Who was slow pays for the time.
    fn charge_time(&mut self, call: &mut Call<'_, '_>, q: Qid, ms: i64) {
        let second = self.terms.second;
        let whole = second / 8 * 1000 / second;
        let by_time = self.max_budget * ms.min(whole) / whole;
        let entity = self.entity(q);
        let (service, total) = (entity.service, by_time.max(entity.service));
        let entity = self.entity_mut(q);
        entity.budget = entity.budget.max(total);
        self.charge(call, q, total - service);
        call.explain(Reason::ChargedForTime { owner: self.queues[q].owner, sectors: total - service });
    }

    /// The turn of the queue in service ends.
    pub(super) fn expire(&mut self, call: &mut Call<'_, '_>, q: Qid, why: Why, until: Until) {
        let pace = self.pace(call, q, until);
        let entity = self.entity(q);
        let much_left = why == Why::OutOfTime && entity.left() >= entity.budget / 3;
        if !self.queues[q].is_raised() && (pace.is_slow || much_left) {
            self.charge_time(call, q, pace.ms);
        }
        if self.knobs.low_latency {
            self.note_end_for_raising(call, q);
        }
        self.forget_sample(q);
        self.assign_budget(call, q, why);
        self.take_out_of_service(call, q, why);
        if !self.queues.is_live(q) {
            return;
        }
        let keeps = !self.queues[q].busy && !matches!(why, Why::OutOfTime | Why::OutOfBudget | Why::IdleClass);
        if keeps {
            self.queues[q].turn.keeps_budget = true;
        } else {
            self.entity_mut(q).service = 0;
        }
        self.clear_group_service(self.entity(q).level);
    }

    fn note_end_for_raising(&mut self, call: &Call<'_, '_>, q: Qid) {
        let queue = &mut self.queues[q];
        if !queue.is_raised() {
            queue.raising.since = call.now;
        }
        if queue.is_empty() && queue.in_device > 0 {
            queue.raising.soft_is_open = true;
        } else if queue.is_empty() {
            self.note_soft_real_time(call.now, q);
        }
    }

    /// Nobody is in service any more. The queue may be gone afterwards.
    pub(super) fn take_out_of_service(&mut self, call: &mut Call<'_, '_>, q: Qid, why: Why) {
        let (owner, waiter) = (self.queues[q].owner, self.queues[q].waiter);
        call.explain(Reason::SliceEnded { owner, waiter, why: why.in_words() });
        let level = self.entity(q).level;
        self.mark_split(q);
        let waited_for = matches!(why, Why::Preempted(_)) && self.idling_is_needed(q);
        let queue_is_empty = self.queues[q].is_empty();
        if queue_is_empty && !waited_for {
            if self.queues[q].in_device == 0 {
                self.queues[q].turn.expires = call.now;
            }
            self.leave_service_trees(call, q, Turn::Ends);
        } else {
            self.stand_queue(call, q, Return::Now, Turn::Ends);
            if !queue_is_empty {
                self.position_add(call, q);
            }
        }
        self.end_idling(call, q);
        self.in_service = None;
        self.clear_service(level);
        self.release_if_unused(q);
    }

    /// The queue in service has nothing queued, and the disk goes on elsewhere.
    pub(super) fn say_not_idled(&self, call: &mut Call<'_, '_>, q: Qid) {
        let queue = &self.queues[q];
        let why = match () {
            () if queue.held_by.processes == 0 => NotIdled::Gone,
            () if !self.rate.is_rotational() && self.ncq.queues() => NotIdled::NoArm,
            () => NotIdled::NotWorthIt,
        };
        call.explain(Reason::NotIdled { owner: queue.owner, why });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_turn_is_slow_if_it_seeks_and_a_long_one_if_it_moved_little() {
        assert_eq!(pace(999, true, false, true), Pace { is_slow: true, ms: 8 });
        assert_eq!(pace(999, true, false, false), Pace { is_slow: true, ms: 2 });
        assert_eq!(pace(20_000, false, true, true), Pace { is_slow: false, ms: 20 });
        assert_eq!(pace(20_001, false, true, true), Pace { is_slow: true, ms: 20 });
        assert_eq!(pace(-5, false, true, true), Pace { is_slow: false, ms: 8 });
    }
}
