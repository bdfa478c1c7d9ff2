//! The transitions of a queue to busy and back.
//!
//! **Origin** docs/behaviour/elevators-6.1.md#b5, "Busy count per class", with its trap: a class that changes in
//! between makes the counts wrap.
//! **In the kernel** `bfq_add_bfqq_busy`, `bfq_del_bfqq_busy`, `busy_queues`, `bfq_tot_busy_queues`.

use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::hierarchy::wf2q::{Afterwards, Return, Service};
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::rules::EmptyPreempted;
use crate::elevators::bfq::timeouts::Call;

impl Bfq {
    /// Makes a queue busy: it wants service from now on.
    pub(super) fn join_service_trees(&mut self, call: &mut Call<'_>, q: Qid) {
        let kept = self.queues[q].slice.take_kept_budget();
        self.activate_queue(call, q, if kept { Return::WaitedFor } else { Return::Now }, Service::GoesOn);
        let class = self.entity(q).class();
        self.busy.join(&mut self.queues[q], class);
        self.hierarchy.begin_pending(q);
        let queue = &self.queues[q];
        if !queue.is_raised() && queue.in_device() == 0 {
            self.hierarchy.count_weight(q);
        }
        self.wakers.woke(q);
    }

    /// Makes a queue non-busy.
    pub(super) fn leave_service_trees(&mut self, call: &mut Call<'_>, q: Qid, service: Service) {
        let class = self.entity(q).class();
        self.busy.leave(&mut self.queues[q], class);
        let (rests, first) = (self.queues[q].in_device() == 0, self.rules.empty_preempted == EmptyPreempted::Leaves);
        if rests && first {
            self.come_to_rest(q);
        }
        self.deactivate_queue(call, q, Afterwards::Remembered, service);
        if rests && !first {
            self.come_to_rest(q);
        }
    }
}
