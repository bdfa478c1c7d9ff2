//! Selects the queue that has the disk: carries out the decision, ends a slice and begins the next.
//!
//! **Rule** `decide/select.rs`. Decision and action are separate: `decide/select.rs` only decides; here cooperators are
//! searched for if it says so, and slices end and begin.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#s2 and #c33.7; docs/behaviour/elevators-4.20.md#x.13.
//! **In the kernel** `cfq_select_queue`, `cfq_get_next_queue`, `cfq_set_active_queue`.

use crate::elevator::Cx;
use crate::elevators::cfq::data::Cfq;
use crate::elevators::cfq::decide::select;
use crate::elevators::cfq::decide::select::{Decision, DecisionInputs};
use crate::elevators::cfq::ids::Qid;
use crate::elevators::cfq::rules::{Preemption, Trees};
use crate::elevators::cfq::state::slice::{Duty, Rest};
use crate::elevators::cfq::steps::cooperator::CooperatorSearch;
use crate::elevators::ioprio::IoprioClass;
use crate::explain::{Reason, SliceEnd, SliceStart};

impl Cfq {
    /// The queue that may dispatch a request, if any.
    pub(super) fn select(&mut self, cx: &mut Cx<'_>) -> Option<Qid> {
        let Some(a) = self.active.queue() else { return self.serve_first(cx) };
        if select::simply_goes_on(self.rules.preemption, &self.queues[a], self.now) {
            debug_assert_eq!(select::choose(self.inputs(cx, a)), Decision::Keep);
            return Some(a);
        }
        self.look(cx, a)
    }

    /// The decision by all tests.
    #[inline(never)]
    fn look(&mut self, cx: &mut Cx<'_>, a: Qid) -> Option<Qid> {
        match select::choose(self.inputs(cx, a)) {
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

    fn inputs(&self, cx: &Cx<'_>, a: Qid) -> DecisionInputs {
        let queue = &self.queues[a];
        let first = self.service.first(queue.group).filter(|_| self.rules.trees == Trees::Single);
        let real_time_waits = first.is_some_and(|first| self.queues[first].is_real_time());
        DecisionInputs {
            trees: self.rules.trees,
            any_queued: self.queued > 0,
            empty: queue.is_empty(),
            in_flight: queue.dispatched > 0,
            used: queue.slice.is_used(self.now) && queue.slice.duty() == Duty::None,
            progress: queue.slice.progress(),
            alone: self.service.in_group(queue.group) == 1,
            should_idle: self.should_idle(cx, a),
            group_waits: self.group_waits(a),
            yields_to_real_time: self.rules.preemption == Preemption::Close
                && queue.ioprio.class != IoprioClass::RealTime
                && real_time_waits,
        }
    }

    fn cooperate(&mut self, cx: &mut Cx<'_>, a: Qid) -> Option<Qid> {
        if let Some(found) = self.cooperator(cx, a, CooperatorSearch::Serve) {
            self.plan_merge(cx, a, found);
            self.expire(cx, Rest::Dropped, SliceEnd::Cooperator);
            // Activated directly, bypassing trees, kinds of load and groups: the two queues share a position on the
            // disk, and a search of the trees would find another queue.
            self.activate(cx, found, SliceStart::Cooperator);
            return Some(found);
        }
        // The disk idles for this queue.
        if self.timer.until().is_some() {
            return None;
        }
        self.give_up_deep_seeker(a);
        // The completion of the requests in flight decides whether the disk idles.
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
}
