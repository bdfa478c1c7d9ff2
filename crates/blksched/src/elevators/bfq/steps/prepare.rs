//! Processes: the state of each, and the queues it uses.
//!
//! **Rule** A process has one queue for requests it waits for, and shares one for write-back with all processes of its
//! class, level and group. Requests carry priority and group; a change is noticed at the next one.
//! **Origin** docs/behaviour/elevators-6.1.md#b1.
//! **In the kernel** `bfq_io_cq`, `bfq_get_bfqq_handle_split`, `bic_to_bfqq`, `bfq_init_rq`,
//! `bfq_prepare_request`, `bfq_check_ioprio_change`.

use crate::elevator::Cx;
use crate::elevators::bfq::data::{Bfq, Met};
use crate::elevators::bfq::ids::{Cid, Qid};
use crate::elevators::bfq::priority::weight;
use crate::elevators::bfq::rules::BurstOf;
use crate::elevators::bfq::timeouts::Call;
use crate::elevators::ioprio::Ioprio;
use crate::request::{Bio, Priority, RequestId, SubmitterId, Waiter};

impl Bfq {
    /// Finds the queue for a new request, creating, merging or splitting queues as needed.
    #[inline(always)]
    pub(in crate::elevators::bfq) fn prepared(&mut self, cx: &mut Cx<'_>, rq: RequestId, bio: &Bio) {
        let Bio { submitter, waiter, priority, group, .. } = *bio;
        let context = self.contexts.meet(submitter);
        let settled = self.contexts.is_settled_in(group);
        let process = &mut self.contexts[context];
        // The usual case: nothing has changed for its process, and its queue is unshared and not new.
        if process.priority() == priority
            && settled
            && let Some(q) = process.queue(waiter)
        {
            let queue = &mut self.queues[q];
            if !queue.sharing.is_shared() && !queue.birth.is_new() {
                if queue.sharing.is_of_one(self.rules.chains) {
                    queue.sharing.belongs_to(submitter);
                }
                return self.request_belongs_to(rq, context, q);
            }
        }
        self.met = Met::Unknown;
        let level = self.hierarchy.level_of(group);
        let mut call = self.call(cx);
        self.notice_priority(&mut call, context, priority, level);
        // If this requests a run, it is done after the insertion that follows.
        self.notice_group(&mut call, context, level);
        self.contexts.settle_in(group);
        self.find_queue(&mut call, context, level, rq);
    }

    /// The request is its process's, and in this queue.
    #[inline(always)]
    fn request_belongs_to(&mut self, rq: RequestId, context: Cid, q: Qid) {
        self.contexts[context].hold_request();
        self.hold_request(q);
        let row = self.rows.value(rq);
        (row.queue, row.context) = (q, context);
    }

    /// Finds the queue for a request if it must be created, may be new, or is shared.
    #[inline(never)]
    fn find_queue(&mut self, call: &mut Call<'_>, context: Cid, level: usize, rq: RequestId) {
        let (submitter, waiter) = (call.rq(rq).submitter, call.rq(rq).waiter);
        let present = self.contexts[context].queue(waiter);
        let parts = present.filter(|&q| self.queues[q].sharing.splits() && !self.contexts[context].is_stably_merged());
        let q = match (parts, present, waiter) {
            (Some(shared), _, _) => self.split(call, context, shared, level),
            (None, Some(q), _) => q,
            (None, None, Waiter::Sync) => {
                let q = self.make_own_queue(call, context, level);
                self.merge_with_last_made(call, context, q)
            }
            (None, None, Waiter::Async) => self.join_write_back(call, context, level),
        };
        self.request_belongs_to(rq, context, q);
        if self.queues[q].sharing.is_of_one(self.rules.chains) {
            self.queues[q].sharing.belongs_to(submitter);
            // Only now: the state is restored to a queue that belongs to the process alone.
            if parts.is_some() {
                self.restore(call, context, q);
            }
        }
        // Before it has its first request: a burst consists of created queues, whatever they send.
        let may_join = self.rules.burst_of == BurstOf::AllNew || self.burst.has_begun() || self.busy.count() == 0;
        if self.queues[q].birth.is_new() && may_join {
            let lone = self.busy.count() == 0;
            self.burst.handle(call, &mut self.queues, q, (self.rules.burst_of, lone), &self.timeouts);
        }
    }

    /// Notices a change of priority. `level`: the group of the bio that carries it.
    fn notice_priority(&mut self, call: &mut Call<'_>, context: Cid, priority: Priority, level: usize) {
        if self.contexts[context].priority() == priority {
            return;
        }
        self.contexts[context].set_priority(priority);
        if let Some(old) = self.contexts[context].queue(Waiter::Async) {
            self.drop_process(call, old);
            // At once, as this only changes the queue of the next request. The synchronous queue's class and weight
            // change when it next enters a tree, since its timestamps there depend on them.
            self.join_write_back(call, context, level);
        }
        if let Some(q) = self.contexts[context].queue(Waiter::Sync) {
            let ioprio = Ioprio::of(priority);
            self.queues[q].set_level(ioprio.level);
            self.entity_mut(q).want(ioprio.class, weight(ioprio));
        }
    }

    /// The queue into which a process's next request would be inserted.
    #[inline(always)]
    pub(in crate::elevators::bfq) fn queue_of(&mut self, submitter: SubmitterId, waiter: Waiter) -> Option<(Cid, Qid)> {
        let context = self.contexts.find_often(submitter)?;
        self.contexts[context].queue(waiter).map(|q| (context, q))
    }
}
