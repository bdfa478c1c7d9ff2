//! A process leaves a queue, or exits.
//!
//! **Origin** docs/behaviour/elevators-6.1.md#b1.
//! **In the kernel** `bfq_exit_icq`, `bfq_exit_bfqq`.

use crate::elevator::Run;
use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::hierarchy::wf2q::Service;
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::rules::EmptyPreempted;
use crate::elevators::bfq::state::slice_end::Why;
use crate::elevators::bfq::timeouts::Call;
use crate::request::{PerWaiter, SubmitterId};

impl Bfq {
    /// Drops a process's reference to a queue.
    pub(super) fn drop_process(&mut self, call: &mut Call<'_>, q: Qid) {
        // It is busy although empty only if it was preempted while it needed idling (`expire`); no request will arrive
        // for it now.
        let may_stay = self.rules.empty_preempted == EmptyPreempted::Stays;
        if may_stay && self.queues[q].is_busy() && self.queues[q].is_empty() && self.hierarchy.in_service() != Some(q) {
            self.leave_service_trees(call, q, Service::GoesOn);
        }
        self.hierarchy.forget_last_made(q);
        self.queues[q].sharing.drop_process();
        self.release_if_unused(q);
    }

    /// Handles the exit of a process.
    pub(in crate::elevators::bfq) fn process_gone(&mut self, call: &mut Call<'_>, submitter: SubmitterId) -> Run {
        let Some(context) = self.contexts.find(submitter) else { return Run::No };
        if let Some(target) = self.contexts[context].take_stable_target() {
            self.drop_stable(target);
        }
        let PerWaiter { sync, async_ } = self.contexts[context].exit();
        let runs = [sync, async_].map(|q| q.map_or(Run::No, |q| self.leave_queue(call, q)));
        self.contexts.forget_if_unused(context);
        runs[0].max(runs[1])
    }

    /// Detaches an exited process from a queue, whose slice ends if it is in service.
    fn leave_queue(&mut self, call: &mut Call<'_>, q: Qid) -> Run {
        let served = self.hierarchy.in_service() == Some(q);
        if served {
            self.take_out_of_service(call, q, Why::Gone);
        }
        let run = if served { self.run_if_queued() } else { Run::No };
        self.drop_plans(q);
        self.drop_process(call, q);
        run
    }
}
