//! Which request of a queue goes next: the nearest ahead, unless one a little behind is nearer still; and once a slice
//! the oldest, if its time is up.
//!
//! **Rule** As in CFQ, without metadata (`elevators/next_request`). Once a request is taken, from its own start: the
//! one behind it, or the one before it.
//! **Origin** docs/behaviour/elevators-6.1.md#b4.
//! **In the kernel** `bfq_find_next_rq`, `bfq_check_fifo`, `next_rq`.

#![doc(alias = "bfq_find_next_rq")]
#![doc(alias = "bfq_check_fifo")]
#![doc(alias = "next_rq")]
#![doc(alias = "bfq_remove_request")]

use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::hierarchy::wf2q::Service;
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::terms::Call;
use crate::elevators::by_sector;
use crate::elevators::nearer::TurningBack;
use crate::elevators::next_request::{Choice, Metadata};
use crate::explain::Reason;
use crate::request::{RequestId, Sector, Waiter};
use crate::time::Span;

impl Bfq {
    fn better(
        &self,
        call: &Call<'_, '_>,
        a: Option<RequestId>,
        b: Option<RequestId>,
        from: Sector,
    ) -> Option<RequestId> {
        let turning_back = TurningBack {
            reach_sectors: 2 * u64::from(self.knobs.back_seek_max),
            penalty: u64::from(self.knobs.back_seek_penalty),
        };
        Choice { turning_back, metadata: Metadata::AsData, from }.better(&self.sorted, |rq| call.rq(rq), a, b)
    }

    /// A request has come, or begins earlier now: is it next? True if the next one changed.
    pub(super) fn reconsider(&mut self, call: &Call<'_, '_>, q: Qid, rq: RequestId) -> bool {
        let present = self.queues[q].next;
        let next = self.better(call, present, Some(rq), self.device.last_position);
        self.queues[q].next = next;
        next != present
    }

    /// The next request leaves: which one follows?
    fn next_after(&mut self, call: &mut Call<'_, '_>, q: Qid, leaving: RequestId) -> Option<RequestId> {
        if let Some(oldest) = self.oldest_if_late(call, q).filter(|&oldest| oldest != leaving) {
            let late = Span::from_ns(call.ns - self.rows[oldest].expires_ns);
            call.explain(Reason::TookOldest { rq: oldest, late });
            return Some(oldest);
        }
        let (behind, before) = by_sector::candidates_after(&self.sorted, self.queues[q].sorted, leaving);
        self.better(call, behind, before, call.rq(leaving).start)
    }

    /// Once a slice: the oldest request, if its time is up.
    fn oldest_if_late(&mut self, call: &Call<'_, '_>, q: Qid) -> Option<RequestId> {
        let queue = &mut self.queues[q];
        // Once: were it asked for each request, a queue that is behind would be served by age alone, with a seek each.
        if core::mem::replace(&mut queue.slice.looked_for_oldest, true) {
            return None;
        }
        queue.fifo.head().filter(|&oldest| call.ns >= self.rows[oldest].expires_ns)
    }

    /// A request leaves its queue.
    pub(in crate::elevators::bfq) fn remove(&mut self, call: &mut Call<'_, '_>, rq: RequestId) {
        let q = self.rows[rq].queue;
        if self.queues[q].next == Some(rq) {
            self.queues[q].next = self.next_after(call, q, rq);
            self.fit_budget(call, q);
        }
        let queue = &mut self.queues[q];
        self.sorted.remove(&mut queue.sorted, rq.index() as u32);
        self.rows.remove(&mut queue.fifo, rq);
        self.queued -= 1;
        if !queue.is_empty() {
            return self.position_add(call, q);
        }
        queue.next = None;
        if queue.busy && self.hierarchy.in_service != Some(q) {
            self.leave_service_trees(call, q, Service::GoesOn);
            let entity = self.entity_mut(q);
            // It ran empty outside of a slice (its last request was injected, or merged into another): nothing is left
            // to keep for its return.
            (entity.budget, entity.service) = (0, 0);
        }
        self.position_remove(q);
    }

    /// A request's age: at the end of its queue's line.
    pub(super) fn queue_by_age(&mut self, call: &Call<'_, '_>, q: Qid, rq: RequestId) {
        let expire = match call.rq(rq).waiter {
            Waiter::Sync => self.knobs.fifo_expire_sync,
            Waiter::Async => self.knobs.fifo_expire_async,
        };
        self.rows.push_back(&mut self.queues[q].fifo, rq).expires_ns = call.ns + expire.as_ns();
    }

    /// `victim` is about to leave for `into`, which takes its place if it is the older.
    pub(in crate::elevators::bfq) fn inherit_age(&mut self, into: RequestId, victim: RequestId) {
        let (row, gone) = (self.rows[into], self.rows[victim]);
        if row.queue == gone.queue && gone.expires_ns < row.expires_ns {
            let fifo = &mut self.queues[row.queue].fifo;
            self.rows.remove(fifo, into);
            self.rows.insert_after(fifo, victim, into);
            self.rows[into].expires_ns = gone.expires_ns;
        }
    }
}
