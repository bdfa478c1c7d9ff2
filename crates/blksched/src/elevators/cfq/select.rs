//! The ladder of the decision: does the queue being served keep the disk?
//!
//! **Rule** see [`choose`] and the README's picture. Looking and doing are apart: `choose` only looks; `Cfq::select`
//! looks for a cooperator where the ladder says so, ends turns and begins them.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#s2 and #c33.7; docs/behaviour/elevators-4.20.md#x.13.
//! **In the kernel** `cfq_select_queue`, `cfq_slice_expired`, `__cfq_set_active_queue`.

#![doc(alias = "cfq_select_queue")]
#![doc(alias = "cfq_slice_expired")]
#![doc(alias = "__cfq_set_active_queue")]

use super::Cfq;
use super::cooperator::{Cooperation, Search};
use super::preempt::Preemption;
use super::priority::IoprioClass;
use super::qid::Qid;
use super::service_tree::Trees;
use super::slice::Rest;
use crate::elevator::Cx;
use crate::explain::{Reason, SliceEnd, SliceStart};

/// What the ladder looks at.
#[derive(Clone, Copy, Debug)]
struct DecisionInputs {
    trees: Trees,
    /// Something is queued, by whomever.
    any_queued: bool,
    /// The queue being served has nothing queued.
    empty: bool,
    in_flight: bool,
    /// Its time is up, and no request came while the disk idled for it.
    used: bool,
    waits_while_alone: bool,
    /// No other queue waits.
    alone: bool,
    should_idle: bool,
    /// 4.20: it is its group's last queue, and what is in flight of the group will bring more.
    group_waits: bool,
    /// 2.6.31: it is not real time, and a real-time queue waits.
    yields_to_real_time: bool,
}

/// A rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    /// Its turn goes on.
    Keep,
    /// Leave the disk alone.
    Hold,
    /// Leave the disk alone, for the group's sake.
    HoldForGroup,
    /// Its turn ends.
    Expire(Rest, SliceEnd),
    /// A cooperator goes on, if there is one; else hold if the disk idles or waits, else its turn ends.
    Cooperate,
}

fn choose(at: DecisionInputs) -> Decision {
    let by_workload = at.trees != Trees::Single;
    if by_workload && !at.any_queued {
        return Decision::Hold;
    }
    if at.waits_while_alone && !at.empty {
        return Decision::Expire(Rest::Dropped, SliceEnd::WaitedBusy);
    }
    if at.used {
        let last_one = by_workload && at.alone && at.empty && at.in_flight && at.should_idle;
        return match (last_one, at.group_waits) {
            (true, _) => Decision::Hold,
            (false, true) => Decision::HoldForGroup,
            (false, false) => Decision::Expire(Rest::Dropped, SliceEnd::Used),
        };
    }
    if at.yields_to_real_time {
        return Decision::Expire(Rest::Kept, SliceEnd::RealTimeWaits);
    }
    if at.empty { Decision::Cooperate } else { Decision::Keep }
}

impl Cfq {
    /// The queue that may send a request, if any.
    pub(super) fn select(&mut self, cx: &mut Cx<'_>) -> Option<Qid> {
        let Some(a) = self.active else { return self.serve_first(cx) };
        match choose(self.ladder(cx, a)) {
            Decision::Keep => Some(a),
            Decision::Hold => None,
            Decision::HoldForGroup => self.hold_for_group(cx, a),
            Decision::Expire(rest, why) => {
                self.expire(cx, rest, why);
                self.serve_first(cx)
            }
            Decision::Cooperate => self.cooperate(cx, a),
        }
    }

    fn ladder(&self, cx: &Cx<'_>, a: Qid) -> DecisionInputs {
        let queue = &self.queues[a];
        let first = self.service.first(queue.group).filter(|_| self.rules.trees == Trees::Single);
        let real_time_waits = first.is_some_and(|first| self.queues[first].is_real_time());
        DecisionInputs {
            trees: self.rules.trees,
            any_queued: self.queued > 0,
            empty: queue.is_empty(),
            in_flight: queue.dispatched > 0,
            used: queue.slice.is_used(self.now(cx)) && !queue.slice.must_dispatch,
            waits_while_alone: queue.slice.waits_while_alone,
            alone: self.service.in_group(queue.group) == 1,
            should_idle: self.should_idle(cx, a),
            group_waits: self.group_waits(a),
            yields_to_real_time: self.rules.preemption == Preemption::Close
                && queue.ioprio.rank != IoprioClass::RealTime
                && real_time_waits,
        }
    }

    fn cooperate(&mut self, cx: &mut Cx<'_>, a: Qid) -> Option<Qid> {
        if let Some(found) = self.cooperator(cx, a, Search::Serve) {
            self.plan_merge(cx, a, found);
            self.expire(cx, Rest::Dropped, SliceEnd::Cooperator);
            self.activate(cx, found, SliceStart::Cooperator);
            return Some(found);
        }
        if self.timer.is_some() {
            return None;
        }
        self.give_up_deep_seeker(cx, a);
        if self.queues[a].dispatched > 0 && self.should_idle(cx, a) {
            return None;
        }
        if self.group_waits(a) {
            return self.hold_for_group(cx, a);
        }
        self.expire(cx, Rest::Dropped, SliceEnd::NothingQueued);
        self.serve_first(cx)
    }

    fn hold_for_group(&mut self, cx: &mut Cx<'_>, a: Qid) -> Option<Qid> {
        cx.explain(Reason::GroupKeepsDisk { group: self.groups[self.queues[a].group].id });
        None
    }

    fn serve_first(&mut self, cx: &mut Cx<'_>) -> Option<Qid> {
        let q = match self.rules.trees {
            _ if self.service.busy() == 0 => None,
            Trees::Single => {
                let group = self.due_group();
                self.service.first(group)
            }
            Trees::ByWorkload | Trees::InGroups => self.first_of_workload(cx),
        }?;
        self.activate(cx, q, SliceStart::InOrder);
        Some(q)
    }

    fn activate(&mut self, cx: &mut Cx<'_>, q: Qid, why: SliceStart) {
        let now = self.now(cx);
        let queue = &mut self.queues[q];
        queue.slice.activate(now);
        if self.rules.cooperation == Cooperation::Jump {
            if why == SliceStart::InOrder && !queue.sharing.preempted {
                queue.sharing.cooperates = false;
            }
            queue.sharing.preempted = false;
        }
        let (owner, waiter) = (queue.owner, queue.waiter);
        self.cancel_timer(cx);
        self.active = Some(q);
        cx.explain(Reason::SliceBegan { owner, waiter, why });
    }

    /// The turn of the queue being served ends.
    pub(super) fn expire(&mut self, cx: &mut Cx<'_>, rest: Rest, why: SliceEnd) {
        let Some(q) = self.active else { return };
        if self.queues[q].slice.waits_for_request {
            self.cancel_timer(cx);
        }
        self.mark_split(q);
        let queue = &mut self.queues[q];
        queue.slice.waits_for_request = false;
        queue.slice.waits_while_alone = false;
        cx.explain(Reason::SliceEnded { owner: queue.owner, waiter: queue.waiter, why });
        if let Some(left) = (rest == Rest::Kept).then(|| self.rest_of_turn(cx, q)).flatten() {
            self.queues[q].slice.residual = left;
        }
        self.pay(cx, q);
        self.save_workload(cx, q);
        if self.queues[q].is_empty() {
            self.leave(q);
        } else {
            self.resort(cx, q);
        }
        self.active = None;
        if let Some(pid) = self.active_process.take() {
            self.forget_if_unused(pid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVED: DecisionInputs = DecisionInputs {
        trees: Trees::ByWorkload,
        any_queued: true,
        empty: false,
        in_flight: false,
        used: false,
        waits_while_alone: false,
        alone: false,
        should_idle: true,
        group_waits: false,
        yields_to_real_time: false,
    };

    #[test]
    fn a_queue_with_requests_and_time_keeps_the_disk() {
        assert_eq!(choose(SERVED), Decision::Keep);
        assert_eq!(choose(DecisionInputs { empty: true, ..SERVED }), Decision::Cooperate);
    }

    #[test]
    fn a_queue_whose_time_is_up_gives_the_disk_away_unless_it_is_the_last_and_still_reads() {
        let used = DecisionInputs { used: true, ..SERVED };
        assert_eq!(choose(used), Decision::Expire(Rest::Dropped, SliceEnd::Used));
        let last = DecisionInputs { alone: true, empty: true, in_flight: true, ..used };
        assert_eq!(choose(last), Decision::Hold);
        assert_eq!(
            choose(DecisionInputs { trees: Trees::Single, ..last }),
            Decision::Expire(Rest::Dropped, SliceEnd::Used)
        );
    }

    #[test]
    fn a_groups_last_queue_keeps_the_disk_while_more_may_come_of_what_is_in_flight() {
        let last = DecisionInputs { group_waits: true, used: true, ..SERVED };
        assert_eq!(choose(last), Decision::HoldForGroup);
        assert_eq!(choose(DecisionInputs { used: false, ..last }), Decision::Keep);
    }

    #[test]
    fn a_queue_the_disk_waited_for_while_alone_begins_a_new_turn() {
        let waited = DecisionInputs { waits_while_alone: true, ..SERVED };
        assert_eq!(choose(waited), Decision::Expire(Rest::Dropped, SliceEnd::WaitedBusy));
    }
}
