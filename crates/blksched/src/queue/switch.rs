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
use super::step::Step;
use super::{BlockQueue, Listener};
use crate::elevator::{Due, Elevator, Insert};
use crate::explain::Reason;
use crate::request::{Op, RequestId, Stage};
use crate::time::Instant;

impl Step<'_, dyn Elevator> {
    /// The elevator limits requests to another smallest depth, as a new one or because a knob was written: tasks that
    /// sleep for a tag are let through, and wake-up batches are sized anew.
    pub(super) fn change_over(&mut self) {
        let shallowest = self.elevator.shallowest(&self.cx.state.device);
        if let SlotPools::Tags(tasks) = &mut self.cx.state.slots {
            tasks.change_over(shallowest, &mut self.cx.state.woke);
            self.cx.state.woken();
        }
    }

    /// A new elevator comes: it is told what it must know before the first request.
    fn adopt(&mut self) {
        let state = &mut *self.cx.state;
        state.due = Due::of(self.elevator.announces_deadline());
        state.wake_by(Instant::ZERO);
        state.of_old_elevator = state.requests.at_stage(Stage::InFlight);
        state.of_old_elevator.extend(state.list.of_elevator());
        let (requests, sequences) = (&state.requests, &state.sequences);
        state.of_old_elevator.retain(|&rq| requests[rq].op != Op::Flush && !sequences.passed_by(rq));
        self.elevator.attach(&mut self.cx);
        self.introduce_groups();
        let state = &mut *self.cx.state;
        if let SlotPools::Tags(tasks) = &state.slots {
            tasks.places().for_each(|(submitter, queue)| self.elevator.place(submitter, queue));
        }
        state.requests.unchain_all();
        state.merges = MergeIndex::new(self.elevator.merging(), state.config.slots.capacity());
        self.change_over();
        let own = self.elevator.own_throttling();
        self.tell_policies(|policy, cx| policy.elevator(cx, own));
    }

    /// They are inserted anew.
    fn insert_all(&mut self, queued: Vec<RequestId>) {
        let listed: Vec<_> = self.cx.state.list.data(&self.cx.state.requests).collect();
        self.cx.state.queued = 0;
        self.cx.tell(|_| Reason::Switched { requests: (queued.len() + listed.len()) as u32 });
        // What was on the dispatch list remains there.
        for rq in listed {
            self.cx.state.queued += 1;
            self.explain_inserted(rq);
        }
        for rq in queued {
            self.elevator.prepare(&mut self.cx, rq);
            self.enlist(rq);
            self.insert(rq, Insert::Sorted);
        }
        self.changed();
    }
}

impl<L: Listener> BlockQueue<L> {
    /// Replaces the elevator; returns the old one, which holds nothing of importance any more.
    pub fn switch(&mut self, now: Instant, elevator: Box<dyn Elevator>) -> Box<dyn Elevator> {
        let requests = &self.at(now).cx.state.requests;
        let mut queued = requests.at_stage(Stage::Queued);
        queued.sort_by_key(|&rq| requests[rq].queued_at);
        let old = core::mem::replace(&mut self.elevator, elevator);
        let mut step = self.step(now);
        step.adopt();
        if old.deadline().is_some() {
            step.cx.tell(|_| Reason::Cancelled);
        }
        step.insert_all(queued);
        old
    }
}
