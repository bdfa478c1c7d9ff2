//! The end of requests, processes and queues: objects without references are released.
//!
//! **Rule** A queue lives while a process, a planned or a stable merge holds it, one of its requests exists, its weight
//! is counted, or it is on a service tree or in service.
//! **Origin** docs/behaviour/elevators-6.1.md#b1.
//! **In the kernel** `bfq_put_queue`, `bfq_exit_icq`, `bfq_exit_bfqq`, `bfq_put_cooperator`.

use crate::elevator::Run;
use crate::elevators::bfq::data::{Bfq, RequestData};
use crate::elevators::bfq::hierarchy::entity::EntityPlace;
use crate::elevators::bfq::hierarchy::wf2q::Service;
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::rules::EmptyPreempted;
use crate::elevators::bfq::state::queue::References;
use crate::elevators::bfq::state::slice_end::Why;
use crate::elevators::bfq::timeouts::Call;
use crate::request::{PerWaiter, RequestId, SubmitterId};

impl Bfq {
    /// Counts a request of a queue.
    pub(super) fn hold_request(&mut self, q: Qid) {
        self.queues[q].held_by.requests += 1;
        self.hierarchy.count_allocated(q, 1);
    }

    /// Uncounts a request of a queue.
    #[inline]
    pub(super) fn drop_request(&mut self, q: Qid) {
        self.queues[q].held_by.requests -= 1;
        self.hierarchy.count_allocated(q, -1);
        self.release_if_unused(q);
    }

    /// The last step in a request's life: uncounts it in its process and queue.
    #[inline(always)]
    pub(in crate::elevators::bfq) fn finished(&mut self, rq: RequestId) {
        let RequestData { context, queue, .. } = self.rows[rq];
        self.contexts[context].requests -= 1;
        self.contexts.forget_if_unused(context);
        self.drop_request(queue);
    }

    /// Drops a process's reference to a queue.
    pub(super) fn drop_process(&mut self, call: &mut Call<'_>, q: Qid) {
        // It is busy although empty only if it was preempted while it needed idling (`expire`); no request will arrive
        // for it now.
        let may_stay = self.rules.empty_preempted == EmptyPreempted::Stays;
        if may_stay && self.queues[q].busy && self.queues[q].is_empty() && self.hierarchy.in_service != Some(q) {
            self.leave_service_trees(call, q, Service::GoesOn);
        }
        self.forget_last_made(q);
        self.queues[q].held_by.processes -= 1;
        self.release_if_unused(q);
    }

    /// Drops one process's references of merges planned along the chain from a queue.
    pub(super) fn drop_plans(&mut self, q: Qid) {
        let mut at = self.queues[q].sharing.target;
        while let Some(target) = at {
            at = self.queues[target].sharing.target;
            self.queues[target].held_by.processes -= 1;
            self.release_if_unused(target);
        }
    }

    /// Releases a queue if its last reference is gone.
    #[inline]
    pub(super) fn release_if_unused(&mut self, q: Qid) {
        let References { processes, requests, stable } = self.queues[q].held_by;
        if processes + requests + stable == 0 {
            self.release(q);
        }
    }

    /// Releases a queue that no process or request holds, unless its weight is counted or it is on a tree.
    #[inline(never)]
    fn release(&mut self, q: Qid) {
        let held = self.entity(q).counted.is_some();
        let placed = self.entity(q).place != EntityPlace::Out || self.hierarchy.in_service == Some(q);
        if held || placed || !self.queues.is_live(q) {
            return;
        }
        if self.burst.has(q) {
            self.burst.leave(q);
            // A short-lived queue of one process is uncounted, so that processes that start and exit one after another
            // do not form a burst. No source says why a shared one is not.
            if self.queues[q].sharing.sole.is_some() {
                self.burst.uncount();
            }
        }
        self.forget_waking(q);
        if self.last_completed == Some(q) {
            self.last_completed = None;
        }
        self.position_remove(q);
        self.queues.release(q);
    }

    /// Handles the exit of a process.
    pub(in crate::elevators::bfq) fn process_gone(&mut self, call: &mut Call<'_>, submitter: SubmitterId) -> Run {
        let Some(context) = self.contexts.find(submitter) else { return Run::No };
        self.contexts[context].is_gone = true;
        if let Some(target) = self.contexts[context].stable_target.take() {
            self.drop_stable(target);
        }
        let PerWaiter { sync, async_ } = core::mem::take(&mut self.contexts[context].queues);
        let runs = [sync, async_].map(|q| q.map_or(Run::No, |q| self.leave_queue(call, q)));
        self.contexts.forget_if_unused(context);
        runs[0].max(runs[1])
    }

    /// Detaches an exited process from a queue, whose slice ends if it is in service.
    fn leave_queue(&mut self, call: &mut Call<'_>, q: Qid) -> Run {
        let served = self.hierarchy.in_service == Some(q);
        if served {
            self.take_out_of_service(call, q, Why::Gone);
        }
        let run = if served { self.wish_if_queued() } else { Run::No };
        self.drop_plans(q);
        self.drop_process(call, q);
        run
    }
}
