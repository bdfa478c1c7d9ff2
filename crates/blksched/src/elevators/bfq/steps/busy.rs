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
    pub(in crate::elevators::bfq) fn busy_queues(&self) -> i64 {
        self.busy.iter().sum()
    }

    /// Makes a queue busy: it wants service from now on.
    pub(super) fn join_service_trees(&mut self, call: &mut Call<'_>, q: Qid) {
        let kept = core::mem::take(&mut self.queues[q].slice.keeps_budget);
        self.activate_queue(call, q, if kept { Return::WaitedFor } else { Return::Now }, Service::GoesOn);
        self.queues[q].busy = true;
        let class = self.entity(q).class;
        self.busy[class as usize] += 1;
        self.hierarchy.begin_pending(q);
        let queue = &self.queues[q];
        if queue.is_raised() {
            self.raised_busy += 1;
        } else if queue.in_device == 0 {
            self.hierarchy.count_weight(q);
        }
        self.was_woken(q);
    }

    /// Makes a queue non-busy.
    pub(super) fn leave_service_trees(&mut self, call: &mut Call<'_>, q: Qid, service: Service) {
        self.queues[q].busy = false;
        let class = self.entity(q).class;
        // Uncounted in its present class: a change of class while busy leaves the counts of both classes wrong, as in
        // the kernel. Only their sum is used, and whether a count is 0.
        self.busy[class as usize] -= 1;
        self.raised_busy -= i64::from(self.queues[q].is_raised());
        let (rests, first) = (self.queues[q].in_device == 0, self.rules.empty_preempted == EmptyPreempted::Leaves);
        if rests && first {
            self.come_to_rest(q);
        }
        self.deactivate_queue(call, q, Afterwards::Remembered, service);
        if rests && !first {
            self.come_to_rest(q);
        }
    }
}
