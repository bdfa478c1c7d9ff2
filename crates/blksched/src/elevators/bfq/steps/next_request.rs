//! The choice of a queue's next request: the nearest ahead, unless one a little behind is nearer still; once per slice
//! the oldest, if it has expired.
//!
//! **Rule** As in CFQ, without metadata (`elevators/next_request`). After a dispatch, the one after that request or the
//! one before it, judged from its start.
//! **Origin** docs/behaviour/elevators-6.1.md#b4.
//! **In the kernel** `bfq_find_next_rq`, `bfq_check_fifo`, `next_rq`, `bfq_remove_request`.

use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::hierarchy::wf2q::Service;
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::timeouts::Call;
use crate::elevators::by_sector;
use crate::elevators::nearer::TurningBack;
use crate::elevators::next_request::{Choice, Metadata};
use crate::explain::Reason;
use crate::request::{RequestId, Sector, Waiter};
use crate::time::Span;

impl Bfq {
    /// The rule for choosing one of two requests of a queue.
    #[inline(always)]
    pub(super) fn choice(&self, from: Sector) -> Choice {
        let turning_back = TurningBack {
            reach_sectors: 2 * u64::from(self.knobs.back_seek_max),
            penalty: u64::from(self.knobs.back_seek_penalty),
        };
        Choice { turning_back, metadata: Metadata::AsData, from }
    }

    /// How long after its arrival a request expires \[ns\].
    #[inline(always)]
    pub(super) fn fifo_expire(&self, waiter: Waiter) -> u64 {
        let expire = match waiter {
            Waiter::Sync => self.knobs.fifo_expire_sync,
            Waiter::Async => self.knobs.fifo_expire_async,
        };
        expire.as_ns()
    }

    /// The oldest request, if it has expired.
    #[inline(never)]
    fn oldest_if_late(&mut self, call: &mut Call<'_>, q: Qid, leaving: RequestId) -> Option<RequestId> {
        let oldest = self.queues[q].fifo.head().filter(|&oldest| oldest != leaving)?;
        let late = Span::from_ns(call.ns.checked_sub(self.rows[oldest].expires_ns)?);
        call.explain(Reason::TookOldest { rq: oldest, late });
        Some(oldest)
    }

    /// Removes a request from its queue.
    pub(in crate::elevators::bfq) fn remove(&mut self, call: &mut Call<'_>, rq: RequestId) {
        let start = call.rq(rq).start;
        self.leave_orders(call, self.rows[rq].queue, rq, start);
    }

    /// The same for a request with known queue and start.
    #[inline(always)]
    pub(super) fn leave_orders(&mut self, call: &mut Call<'_>, q: Qid, rq: RequestId, start: Sector) {
        let choice = self.choice(start);
        let mut queue = &mut self.queues[q];
        if queue.next == Some(rq) {
            let mut oldest = None;
            // Once per slice: if this were checked for each request, a queue that has fallen behind would be served by
            // age alone, with a seek for each request.
            if queue.slice.claim_check_of_oldest() {
                oldest = self.oldest_if_late(&mut call.apart(), q, rq);
                queue = &mut self.queues[q];
            }
            queue.next = match oldest {
                Some(_) => oldest,
                None => {
                    let (behind, before) = by_sector::candidates_after(&self.sorted, queue.sorted, rq);
                    choice.better(&self.sorted, |rq| call.rq(rq), behind, before)
                }
            };
            if self.hierarchy.in_service() != Some(q) {
                self.fit_waiting_budget(&mut call.apart(), q);
                queue = &mut self.queues[q];
            }
        }
        self.sorted.remove(&mut queue.sorted, rq.index() as u32);
        self.rows.remove(&mut queue.fifo, rq);
        self.queued -= 1;
        if queue.is_empty() {
            self.ran_empty(&mut call.apart(), q);
        } else {
            self.position_put(call, q);
        }
    }

    /// Called when a queue has run empty.
    #[inline(never)]
    fn ran_empty(&mut self, call: &mut Call<'_>, q: Qid) {
        let queue = &mut self.queues[q];
        queue.next = None;
        if queue.is_busy() && self.hierarchy.in_service() != Some(q) {
            self.leave_service_trees(call, q, Service::GoesOn);
            let entity = self.entity_mut(q);
            // It ran empty outside of a slice (its last request was injected, or merged into another), so no budget is
            // kept for its return.
            entity.set_budget(0);
            entity.clear_service();
        }
        self.position_remove(q);
    }

    /// `into` takes the FIFO place of `victim`, which it absorbs, if `victim` is older.
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
