//! Switching the elevator under load: nothing is lost, and no request crosses a flush that it did not cross before.
//!
//! **Rule** The old elevator's requests are handed to the new one in order of age; a request that absorbed an older one
//! has the older one's age. The plug stays as it is. Requests in the device stay there; only their submitters are told
//! of their completion. Flushes belong to the queue and continue.
//! **In the kernel** `elevator_switch`, `elv_iosched_store`, `elevator_init_mq`, `elv_quiesce_start`, `elevator_init`.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::merge::MergeIndex;
use super::slot_pools::SlotPools;
use super::{BlockQueue, Listener};
use crate::elevator::{Due, Elevator, Insert};
use crate::explain::Reason;
use crate::request::{Op, Stage};
use crate::time::Instant;

impl<L: Listener> BlockQueue<L> {
    /// The elevator limits requests to another smallest depth, as a new one or because a knob was written: tasks that
    /// sleep for a tag are let through, and wake-up batches are sized anew.
    pub(super) fn change_over(&mut self) {
        let shallowest = self.elevator.shallowest(&self.core.state.device);
        if let SlotPools::Tags(tasks) = &mut self.core.state.slots {
            tasks.change_over(shallowest, &mut self.core.state.woke);
            self.core.state.woken();
        }
    }

    /// Replaces the elevator; returns the old one, which holds nothing of importance any more.
    pub fn switch(&mut self, now: Instant, elevator: Box<dyn Elevator>) -> Box<dyn Elevator> {
        self.catch_up(now);
        let mut queued = self.core.state.requests.at_stage(Stage::Queued);
        queued.sort_by_key(|&rq| self.core.state.requests[rq].queued_at);
        let old = core::mem::replace(&mut self.elevator, elevator);
        self.core.state.hooks = self.elevator.hooks();
        self.core.state.due = Due::of(self.core.state.hooks);
        self.of_old_elevator = self.core.state.requests.at_stage(Stage::InFlight);
        self.of_old_elevator.extend(self.list.of_elevator());
        let requests = &self.core.state.requests;
        let sequences = &self.sequences;
        self.of_old_elevator.retain(|&rq| requests[rq].op != Op::Flush && !sequences.passed_by(rq));
        self.elevator.attach(&mut self.core.cx(now));
        self.introduce_groups(now);
        self.core.state.requests.unchain_all();
        self.core.state.merges = MergeIndex::new(self.elevator.merging(), self.core.state.config.slots.capacity());
        self.change_over();
        let own = self.elevator.own_throttling();
        self.tell_policies(now, |policy, cx| policy.elevator(cx, own));
        let listed: Vec<_> = self.list.data(&self.core.state.requests).collect();
        self.core.state.queued = 0;
        if old.deadline().is_some() {
            self.core.explain(now, |_| Reason::Cancelled);
        }
        self.core.explain(now, |_| Reason::Switched { requests: (queued.len() + listed.len()) as u32 });
        // What was on the dispatch list remains there.
        for rq in listed {
            self.core.state.queued += 1;
            self.explain_inserted(now, rq);
        }
        for rq in queued {
            self.prepare(now, rq);
            self.enlist(now, rq);
            self.insert(now, rq, Insert::Sorted);
        }
        self.changed();
        old
    }
}
