//! A request comes: what it says about its queue, where it stands in it, and whether the disk was waiting for it.
//!
//! **Rule** A single small request of the queue that the disk idles for does not end the idling while that is faster:
//! more may follow and merge.
//! **Origin** docs/behaviour/elevators-6.1.md#b2.5 to #b2.7.
//! **In the kernel** `bfq_insert_request`, `bfq_add_request`, `bfq_rq_enqueued`, `bfq_update_io_seektime`.

#![doc(alias = "bfq_insert_request")]
#![doc(alias = "bfq_add_request")]
#![doc(alias = "bfq_rq_enqueued")]
#![doc(alias = "bfq_update_io_seektime")]

use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::ids::{Cid, Qid};
use crate::elevators::bfq::state::turn_end::{Until, Why};
use crate::elevators::bfq::terms::Call;
use crate::explain::{Raised, Reason};
use crate::request::{RequestId, Waiter};

/// Smaller than this and alone, a request may wait for company \[sectors\].
const SMALL: u32 = 32;

impl Bfq {
    /// A prepared request is inserted.
    pub(in crate::elevators::bfq) fn arrived(&mut self, call: &mut Call<'_, '_>, rq: RequestId) {
        let row = self.rows[rq];
        // A bio was asked the same before it became a request (`may_merge`); the answer may be another one by now.
        let mut q = row.queue;
        if let Some(into) = self.cooperator(call, row.context, q, call.rq(rq).start) {
            self.move_request(call, rq, q, into);
            q = into;
        }
        self.note_think_time(call, q);
        self.judge_think_time(call, q, self.contexts[row.context].is_gone);
        self.note_seek(call, q, rq);
        self.add(call, row.context, q, rq);
        self.queue_by_age(call, q, rq);
        self.note_position(call, q, rq);
        self.meet_idling(call, q, rq);
    }

    fn add(&mut self, call: &mut Call<'_, '_>, context: Cid, q: Qid, rq: RequestId) {
        self.queued += 1;
        // A process with other requests under way did not wait for another process with this one, and its service time
        // would be that of several.
        let sync_requests = self.contexts[context].requests;
        if self.queues[q].is_sync() && sync_requests <= 1 {
            self.look_for_waker(call, q);
            self.prepare_sample(call, q);
        }
        if self.queues[q].is_sync() {
            self.watch_intensity(call, q);
        }
        self.sort_in(call, q, rq);
        let is_next = self.reconsider(call, q, rq);
        if is_next {
            self.position_add(call, q);
        }
        let was_raised = self.queues[q].is_raised();
        let interactive = if self.queues[q].busy {
            self.raise_write_back(call, q, rq);
            if is_next {
                self.fit_budget(call, q);
            }
            false
        } else {
            self.awaken(call, q)
        };
        let queue = &mut self.queues[q];
        // From when its raising, or its lack of it, counts. A queue that stays raised must not begin anew with each
        // request, or it would be raised for ever.
        if self.knobs.low_latency && (!was_raised || !queue.is_raised() || interactive) {
            queue.raising.since = call.now;
        }
    }

    fn sort_in(&mut self, call: &mut Call<'_, '_>, q: Qid, rq: RequestId) {
        let start = call.rq(rq).start;
        let sorted = &mut self.queues[q].sorted;
        if call.cx.is_heard() {
            let steps = self.sorted.comparisons(*sorted, start);
            call.explain(Reason::Searched { index: crate::explain::Index::Tree, steps });
        }
        self.sorted.insert(sorted, rq.index() as u32, start);
    }

    /// Write-back that comes to a busy queue after a pause gets going.
    fn raise_write_back(&mut self, call: &mut Call<'_, '_>, q: Qid, rq: RequestId) {
        let raising = self.queues[q].raising;
        let paused = call.now > raising.since + self.terms.write_back;
        if !self.knobs.low_latency || raising.is_raised() || call.rq(rq).waiter == Waiter::Sync || !paused {
            return;
        }
        let mut raised = raising;
        raised.make_interactive(self.interactive_lasts());
        self.set_raising(q, raised);
        self.entity_mut(q).is_changing = true;
        self.say_raised(call, q, Raised::WriteBack);
    }

    /// Was the disk being left idle for it?
    fn meet_idling(&mut self, call: &mut Call<'_, '_>, q: Qid, rq: RequestId) {
        if self.hierarchy.in_service != Some(q) || !self.queues[q].slice.waits {
            return;
        }
        let waiter = call.rq(rq).waiter;
        let queue = &self.queues[q];
        let of_its_kind = |&slot: &u32| call.rq(RequestId::from_index(slot)).waiter == waiter;
        let small = call.rq(rq).sectors < SMALL;
        let alone = small && self.sorted.iter(queue.sorted).filter(of_its_kind).nth(1).is_none();
        let out_of_time = self.is_out_of_time(call, q);
        // Sent at once, it would be a small request that the next one can no longer merge with.
        if alone && !out_of_time && self.idling_is_faster(q) {
            return;
        }
        self.end_idling(call, q);
        if out_of_time {
            self.expire(call, q, Why::OutOfTime, Until::Now);
        }
    }

    /// A bio joined a request in front. It is put in anew only if it has passed another one.
    pub(in crate::elevators::bfq) fn begins_earlier(&mut self, call: &mut Call<'_, '_>, rq: RequestId) {
        let (q, slot, start): (Qid, u32, _) = (self.rows[rq].queue, rq.index() as u32, call.rq(rq).start);
        if self.queues[q].next == Some(rq) {
            self.position_moved(q, start);
        }
        if self.sorted.previous(slot).is_none_or(|before| start >= self.sorted.key(before)) {
            return self.sorted.rekey(slot, start);
        }
        self.sorted.remove(&mut self.queues[q].sorted, slot);
        self.sort_in(call, q, rq);
        if self.reconsider(call, q, rq) {
            self.fit_budget(call, q);
            self.position_add(call, q);
        }
    }
}
