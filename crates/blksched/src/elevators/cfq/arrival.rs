//! A request arrives: into its queue's orders, into the estimates, and past the queue being served if it may.
//!
//! **Rule** If the disk idles for this very queue: run at once if the request is larger than 4 KiB or others wait, else
//! let the timer run out for more to merge. If another queue is served: `preempt`.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c4, #c5, #c7, #e10 and #s4; docs/behaviour/elevators-4.20.md#x.18 and
//! #e420.2; [`WhileIdling`] and [`Alias`] say what differs.
//! **In the kernel** `cfq_insert_request`, `cfq_rq_enqueued`, `cfq_add_rq_rb`.

#![doc(alias = "cfq_insert_request")]
#![doc(alias = "cfq_rq_enqueued")]
#![doc(alias = "cfq_add_rq_rb")]

use super::Cfq;
use super::cooperator::Seeks;
use super::qid::Qid;
use crate::elevator::{Cx, Run};
use crate::explain::Reason;
use crate::request::{RequestId, Sector};

/// When a queue that was idled for is marked to survive the end of its slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhileIdling {
    /// Also after the run that the request set off, when it has gone already (2.6.31, 2.6.32).
    MarkAfterRun,
    /// Only if the request set off no run (2.6.33).
    MarkOrRun,
}

/// What becomes of requests with one first sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alias {
    /// The older one is forced out, past all limits (2.6.31 to 2.6.33).
    Forced,
    /// The newer one goes behind it (4.20).
    Behind,
}

/// Up to this many bytes wait for more to merge.
const SMALL_BYTES: u64 = 4096;

impl Cfq {
    /// Into the queue's order by sector.
    pub(super) fn sort_in(&mut self, cx: &mut Cx<'_>, q: Qid, rq: RequestId) {
        let start = cx.rq(rq).start;
        if self.rules.alias == Alias::Forced {
            self.force_aliases_out(cx, q, start);
        }
        self.sorted.insert(&mut self.queues[q].sorted, rq.index() as u32, start);
        self.join(cx, q);
        let before = self.queues[q].next;
        let next = self.better(cx, before, Some(rq), self.head);
        self.set_next(cx, q, next);
        if next != before {
            self.position_add(cx, q);
        }
    }

    fn force_aliases_out(&mut self, cx: &mut Cx<'_>, q: Qid, start: Sector) {
        while let Some(alias) = self.sorted.find(self.queues[q].sorted, start).0 {
            let alias = RequestId::from_index(alias);
            cx.explain(Reason::AliasForced { rq: alias });
            self.move_to_chosen(cx, alias);
            cx.seal(alias);
        }
    }

    /// What an arrival says about its process and its queue.
    pub(super) fn learn(&mut self, cx: &Cx<'_>, q: Qid, rq: RequestId) {
        self.pauses_end(cx, q, rq);
        let (pid, request) = (self.rows[rq].process, cx.rq(rq));
        match self.rules.seeks {
            Seeks::PerProcess => self.rules.first_seek.add(&mut self.processes[pid].seeks, request.start),
            Seeks::PerQueue => self.rules.first_seek.add(&mut self.queues[q].seeks, request.start),
            Seeks::History => self.queues[q].history.add(request.start, request.sectors, cx.device().rotational),
        }
        self.look_at_habits(cx, pid, q);
        match self.rules.seeks {
            Seeks::PerProcess => self.processes[pid].seeks.ended(request.end()),
            Seeks::PerQueue => self.queues[q].seeks.ended(request.end()),
            Seeks::History => self.queues[q].history.ended(request.end()),
        }
    }

    /// An arrival and the queue being served.
    pub(super) fn meet_active(&mut self, cx: &mut Cx<'_>, q: Qid, rq: RequestId) -> Run {
        if self.active != Some(q) {
            let Some(why) = self.should_preempt(cx, q, rq) else { return Run::No };
            self.preempt(cx, q, why);
            return Run::Now;
        }
        if !self.queues[q].slice.waits_for_request {
            return Run::No;
        }
        let large = u64::from(cx.rq(rq).sectors) * 512 > SMALL_BYTES;
        if !large && self.service.busy() <= 1 {
            self.queues[q].slice.must_dispatch = true;
            return Run::No;
        }
        self.cancel_timer(cx);
        match self.rules.while_idling {
            WhileIdling::MarkAfterRun => self.pending = Some(q),
            WhileIdling::MarkOrRun => self.queues[q].slice.waits_for_request = false,
        }
        Run::Now
    }

    /// The run that an arrival set off is over.
    pub(super) fn settle(&mut self) {
        if let Some(q) = self.pending.take() {
            self.queues[q].slice.must_dispatch = true;
        }
    }
}
