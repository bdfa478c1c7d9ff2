//! The end of requests and queues: objects without references are released.
//!
//! **Rule** A queue lives while a process, a planned or a stable merge holds it, one of its requests exists, its weight
//! is counted, or it is on a service tree or in service.
//! **Origin** docs/behaviour/elevators-6.1.md#b1.
//! **In the kernel** `bfq_put_queue`, `bfq_put_cooperator`.

use crate::elevators::bfq::data::{Bfq, RequestData};
use crate::elevators::bfq::hierarchy::entity::EntityPlace;
use crate::elevators::bfq::ids::Qid;
use crate::request::RequestId;

impl Bfq {
    /// Counts a request of a queue.
    pub(super) fn hold_request(&mut self, q: Qid) {
        self.queues[q].sharing.hold_request();
        self.hierarchy.count_allocated(q, 1);
    }

    /// Uncounts a request of a queue.
    #[inline]
    pub(super) fn drop_request(&mut self, q: Qid) {
        self.queues[q].sharing.drop_request();
        self.hierarchy.count_allocated(q, -1);
        self.release_if_unused(q);
    }

    /// The last step in a request's life: uncounts it in its process and queue.
    #[inline(always)]
    pub(in crate::elevators::bfq) fn finished(&mut self, rq: RequestId) {
        let RequestData { context, queue, .. } = self.rows[rq];
        self.contexts[context].drop_request();
        self.contexts.forget_if_unused(context);
        self.drop_request(queue);
    }

    /// Drops one process's references of merges planned along the chain from a queue.
    pub(super) fn drop_plans(&mut self, q: Qid) {
        let mut at = self.queues[q].sharing.target();
        while let Some(target) = at {
            at = self.queues[target].sharing.target();
            self.queues[target].sharing.drop_process();
            self.release_if_unused(target);
        }
    }

    /// Releases a queue if its last reference is gone.
    #[inline]
    pub(super) fn release_if_unused(&mut self, q: Qid) {
        if self.queues[q].sharing.is_unused() {
            self.release(q);
        }
    }

    /// Releases a queue that no process or request holds, unless its weight is counted or it is on a tree.
    #[inline(never)]
    fn release(&mut self, q: Qid) {
        let held = self.entity(q).counted().is_some();
        let placed = self.entity(q).place() != EntityPlace::Out || self.hierarchy.in_service() == Some(q);
        if held || placed || !self.queues.is_live(q) {
            return;
        }
        self.burst.released(q, self.queues[q].sharing.sole().is_some());
        self.wakers.released(q);
        self.position_remove(q);
        self.queues.release(q);
    }
}
