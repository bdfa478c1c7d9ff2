//! A request arrives: it enters its queue's orders and the estimates, and may preempt the active queue.
//!
//! **Rule** If the disk idles for this very queue: run at once if the request is larger than 4 KiB or other queues
//! wait, otherwise let the timer run so that more can merge. If another queue is active: `preempt`.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c4, #c5, #c7, #e10 and #s4; docs/behaviour/elevators-4.20.md#x.18 and
//! #e420.2; `WhileIdling` and `Alias` say what differs.
//! **In the kernel** `cfq_insert_request`, `cfq_rq_enqueued`, `cfq_add_rq_rb`, `cfq_merged_request`,
//! `cfq_merged_requests`, `cfq_reposition_rq_rb`.

use crate::elevator::{Cx, Run};
use crate::elevators::cfq::data::{Cfq, RequestData};
use crate::elevators::cfq::ids::Qid;
use crate::elevators::cfq::rules::{Alias, NextRequest, WhileIdling};
use crate::elevators::cfq::state::queue::Reading;
use crate::elevators::cfq::state::slice::Idle;
use crate::elevators::cfq::steps::learning::Learning;
use crate::elevators::ioprio::Ioprio;
use crate::elevators::next_request::Choice;
use crate::explain::Reason;
use crate::request::{Bio, RequestId, Sector};

/// Requests up to this size \[bytes\] wait for others to merge with them.
const SMALL_BYTES: u64 = 4096;

impl Cfq {
    /// Inserts a request, which consists of this bio, into its queue.
    #[inline(always)]
    pub(in crate::elevators::cfq) fn arrived(&mut self, cx: &mut Cx<'_>, rq: RequestId, bio: &Bio) -> Run {
        let RequestData { queue: q, process: pid, .. } = self.rows[rq];
        let queue = &self.queues[q];
        if queue.reading == Reading::Stale || queue.served_in.is_none() || self.rules.alias == Alias::Forced {
            self.prepare_queue(&mut cx.apart(), q, bio);
        }
        let Bio { start, waiter, hints, .. } = *bio;
        let queue = &mut self.queues[q];
        self.sorted.insert(&mut queue.sorted, rq.index() as u32, start);
        self.rows.push_back(&mut queue.fifo, rq).expires = self.now + self.ticks.fifo_expire[waiter];
        self.queued += 1;
        queue.meta += u32::from(hints.meta);
        // Chosen from the disk's position, since the arm has not yet moved for this request; after a dispatch, `choose`
        // says from which position.
        let choice = Choice::of(self.turning_back, queue.meta, self.head);
        let next = choice.better(&self.sorted, |rq| cx.rq(rq), queue.next, Some(rq));
        let is_next = next != queue.next;
        queue.next = next;
        Learning { rules: &self.rules, ticks: &self.ticks, knobs: &self.knobs, ncq: self.ncq.queues(), now: self.now }
            .learn(cx, bio, queue, &mut self.processes[pid], &mut self.groups);
        let idle = queue.slice.idle();
        if is_next {
            self.position_add(&cx.apart(), q);
        }
        let run = if self.active.is(q) { self.meet_own(cx, q, bio, idle) } else { self.meet_other(cx, q, bio) };
        // The slice of the queue served may have ended when its last process left it (`prepare`).
        run.max(self.take_run())
    }

    /// Makes a queue wait for a slice, by its process's current priority.
    #[inline(never)]
    fn prepare_queue(&mut self, cx: &mut Cx<'_>, q: Qid, bio: &Bio) {
        if self.queues[q].reading == Reading::Stale {
            self.queues[q].take(Ioprio::of(bio.priority));
        }
        self.make_way(cx, q, bio.start);
    }

    /// Re-sorts a request after a front merge.
    pub(in crate::elevators::cfq) fn begins_earlier(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        let q = self.rows[rq].queue;
        self.sorted.remove(&mut self.queues[q].sorted, rq.index() as u32);
        self.position_moved(cx, q);
        self.sort_in(cx, q, rq);
    }

    /// `into` has absorbed `victim`.
    pub(in crate::elevators::cfq) fn replaced(&mut self, cx: &mut Cx<'_>, into: RequestId, victim: RequestId) {
        let q = self.rows[victim].queue;
        self.inherit_age(q, into, victim);
        // Earlier kernels choose again from the victim's position, and may choose a request other than the coalesced
        // one.
        if self.rules.next_request == NextRequest::FromTaken && self.queues[q].next == Some(victim) {
            self.set_next(cx, q, Some(into));
        }
        self.take_out(cx, q, victim);
        self.drop_unserved(cx, victim);
    }

    /// Inserts a request into the queue's order by sector again.
    fn sort_in(&mut self, cx: &mut Cx<'_>, q: Qid, rq: RequestId) {
        let start = cx.rq(rq).start;
        self.make_way(cx, q, start);
        let queue = &mut self.queues[q];
        self.sorted.insert(&mut queue.sorted, rq.index() as u32, start);
        let choice = Choice::of(self.turning_back, queue.meta, self.head);
        let next = choice.better(&self.sorted, |rq| cx.rq(rq), queue.next, Some(rq));
        if next != queue.next {
            queue.next = next;
            self.position_add(cx, q);
        }
    }

    /// Prepares for inserting a request that starts here: no other request has this start (until 2.6.33), and the queue
    /// waits for a slice.
    fn make_way(&mut self, cx: &mut Cx<'_>, q: Qid, start: Sector) {
        // Until 2.6.33 the order has one place for each first sector, so the older request must leave it.
        if self.rules.alias == Alias::Forced {
            self.force_aliases_out(cx, q, start);
        }
        if self.queues[q].served_in.is_none() {
            self.join(cx, q);
        }
    }

    fn force_aliases_out(&mut self, cx: &mut Cx<'_>, q: Qid, start: Sector) {
        while let Some(alias) = self.sorted.find(self.queues[q].sorted, start) {
            let alias = RequestId::from_index(alias);
            cx.explain(Reason::AliasForced { rq: alias });
            self.move_to_dispatch_list(cx, q, alias);
            cx.seal(alias);
        }
    }

    /// Handles an arrival while another queue is active.
    #[inline(always)]
    fn meet_other(&mut self, cx: &mut Cx<'_>, q: Qid, bio: &Bio) -> Run {
        let Some(why) = self.should_preempt(cx, q, bio) else { return Run::No };
        self.preempt(&mut cx.apart(), q, why);
        Run::Now
    }

    /// Handles an arrival for the active queue, for which the disk may be idling.
    #[inline(always)]
    fn meet_own(&mut self, cx: &mut Cx<'_>, q: Qid, bio: &Bio, idle: Idle) -> Run {
        match idle {
            Idle::No => Run::No,
            Idle::WaitsForRequest => self.was_waited_for(&mut cx.apart(), q, bio),
        }
    }

    #[inline(never)]
    fn was_waited_for(&mut self, cx: &mut Cx<'_>, q: Qid, bio: &Bio) -> Run {
        // A small request may still grow by merging if no other queue waits; if others wait, there is no time for that.
        let large = u64::from(bio.sectors) * 512 > SMALL_BYTES;
        if !large && self.service.busy() <= 1 {
            self.queues[q].slice.must_dispatch();
            return Run::No;
        }
        self.timer.cancel(cx);
        match self.rules.while_idling {
            // Until 2.6.32 the mark is made after the run, when the request has already been dispatched, and the queue
            // still counts as waiting; so the next test of the slice's end is skipped needlessly. Recordings show it,
            // so it is kept.
            WhileIdling::MarkAfterRun => self.pending = Some(q),
            WhileIdling::MarkOrRun => self.queues[q].slice.set_idle(Idle::No),
        }
        Run::Now
    }

    /// Called after the run that an arrival triggered.
    pub(in crate::elevators::cfq) fn settle(&mut self) {
        if self.pending.is_some() {
            self.mark_pending();
        }
    }

    #[cold]
    #[inline(never)]
    fn mark_pending(&mut self) {
        if let Some(q) = self.pending.take() {
            self.queues[q].slice.must_dispatch();
        }
    }
}
