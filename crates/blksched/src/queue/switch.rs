//! Switching the elevator under load: nothing is lost, and nothing crosses a flush that did not before.
//!
//! **Rule** What the old elevator holds is handed to the new one in order of age; a request that absorbed an older one
//! has the older one's. The plug stays as it is. What the device has stays there; its completion is news to nobody but
//! its submitter. Flushes belong to the queue and go on.

use super::merge::MergeIndex;
use super::{BlockQueue, Listener};
use crate::elevator::{Elevator, Insert};
use crate::explain::Reason;
use crate::request::{Op, Stage};
use crate::time::Instant;

impl<L: Listener> BlockQueue<L> {
    /// Replace the elevator; returns the old one, which holds nothing that matters any more.
    pub fn switch(&mut self, now: Instant, elevator: Box<dyn Elevator>) -> Box<dyn Elevator> {
        self.catch_up(now);
        let mut queued = self.core.books.requests.at_stage(Stage::Queued);
        queued.sort_by_key(|&rq| self.core.books.requests[rq].queued_at);
        let old = core::mem::replace(&mut self.elevator, elevator);
        self.orphans = self.core.books.requests.at_stage(Stage::InFlight);
        let requests = &self.core.books.requests;
        self.orphans.retain(|&rq| requests[rq].op != Op::Flush);
        self.elevator.attach(&mut self.core.cx(now));
        self.introduce_groups(now);
        self.core.books.merges = MergeIndex::new(self.elevator.merging(), self.core.config.slots.capacity());
        self.core.queued = 0;
        if old.deadline().is_some() {
            self.core.explain(now, |_| Reason::Cancelled);
        }
        self.core.explain(now, |_| Reason::Switched { requests: queued.len() as u32 });
        for rq in queued {
            self.elevator.prepare(&mut self.core.cx(now), rq);
            self.enlist(now, rq);
            self.insert(now, rq, Insert::Sorted);
        }
        self.changed();
        old
    }
}
