//! New queues: a process's own, and the one for write-back that it shares.
//!
//! **Origin** docs/behaviour/elevators-6.1.md#b1.
//! **In the kernel** `bfq_get_queue`, `bfq_init_bfqq`, `bfq_async_queue_prio`.

use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::hierarchy::entity::Entity;
use crate::elevators::bfq::ids::{Cid, Qid};
use crate::elevators::bfq::priority::weight;
use crate::elevators::bfq::rules::Newcomer;
use crate::elevators::bfq::timeouts::Call;
use crate::elevators::ioprio::Ioprio;
use crate::request::Waiter;

impl Bfq {
    fn ioprio(&self, context: Cid) -> Ioprio {
        Ioprio::of(self.contexts[context].priority())
    }

    fn make_queue(&mut self, call: &Call<'_>, context: Cid, waiter: Waiter, level: usize) -> Qid {
        let (ioprio, owner) = (self.ioprio(context), self.contexts[context].submitter());
        let assigned = self.device.first_budget();
        let q = self.queues.make(call, owner, waiter, ioprio, assigned);
        self.queues[q].sharing.hold_processes(1);
        if self.rules.newcomer == Newcomer::IsNew {
            self.queues[q].injection.begin(call.now);
        }
        self.hierarchy.made(q, Entity::new(level, ioprio.class, weight(ioprio)));
        self.wakers.made(q);
        q
    }

    pub(super) fn make_own_queue(&mut self, call: &Call<'_>, context: Cid, level: usize) -> Qid {
        let q = self.make_queue(call, context, Waiter::Sync, level);
        self.contexts[context].use_queue(Waiter::Sync, Some(q));
        q
    }

    /// Lets a process use the write-back queue of its class and level in a group; that queue lives as long as the
    /// group.
    pub(super) fn join_write_back(&mut self, call: &Call<'_>, context: Cid, level: usize) -> Qid {
        let ioprio = self.ioprio(context);
        let q = self.write_back.find(level, ioprio).unwrap_or_else(|| {
            let q = self.make_queue(call, context, Waiter::Async, level);
            self.write_back.add(level, ioprio, q);
            q
        });
        self.queues[q].sharing.hold_processes(1);
        self.contexts[context].use_queue(Waiter::Async, Some(q));
        q
    }
}
