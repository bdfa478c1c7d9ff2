//! A request arrives: into its queue's orders, into the estimates, and past the queue being served if it may.
//!
//! **Rule** If the disk idles for this very queue: run at once if the request is larger than 4 KiB or others wait, else
//! let the timer run out for more to merge. If another queue is served: `preempt`.
//! **Origin** notes C4, C5, C7 and S4; [`WhileIdling`] says what differs.

use super::Cfq;
use super::queue::Qid;
use crate::elevator::{Cx, Run};
use crate::explain::Reason;
use crate::request::RequestId;

/// When a queue that was idled for is marked to survive the end of its slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhileIdling {
    /// Also after the run that the request set off, when it has gone already (2.6.31, 2.6.32).
    MarkAfterRun,
    /// Only if the request set off no run (2.6.33).
    MarkOrRun,
}

/// Up to so many bytes wait for more to merge.
const SMALL_BYTES: u64 = 4096;

impl Cfq {
    /// Into the queue's order by sector; whoever starts at the same sector is forced out first.
    pub(super) fn sort_in(&mut self, cx: &mut Cx<'_>, q: Qid, rq: RequestId) {
        let start = cx.rq(rq).start;
        while let Some(alias) = self.sorted.find(self.queues[q].sorted, start).0 {
            let alias = RequestId::from_index(alias);
            cx.explain(Reason::AliasForced { rq: alias });
            self.move_to_chosen(cx, alias);
            cx.seal(alias);
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

    /// What an arrival says about its process and its queue.
    pub(super) fn learn(&mut self, cx: &Cx<'_>, q: Qid, rq: RequestId) {
        let (now, idle) = (self.now(cx), self.ticks().slice_idle);
        let request = cx.rq(rq);
        let (pid, start, end) = (request.submitter, request.start, request.end());
        let process = self.process_mut(pid);
        process.think.add(now - process.last_end, idle);
        process.seeks.add(start);
        self.queues[q].seeks.add(start);
        self.look_at_habits(pid, q);
        self.process_mut(pid).seeks.ended(end);
        self.queues[q].seeks.ended(end);
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
