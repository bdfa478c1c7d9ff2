//! A request arrives: into its queue's orders, into the estimates, and past the queue being served if it may.
//!
//! **Rule** If the disk idles for this very queue: run at once if the request is larger than 4 KiB or others wait, else
//! let the timer run out for more to merge. If another queue is served: `preempt`.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c4, #c5, #c7, #e10 and #s4; docs/behaviour/elevators-4.20.md#x.18 and
//! #e420.2; `WhileIdling` and `Alias` say what differs.
//! **In the kernel** `cfq_insert_request`, `cfq_rq_enqueued`, `cfq_add_rq_rb`.

#![doc(alias = "cfq_insert_request")]
#![doc(alias = "cfq_rq_enqueued")]
#![doc(alias = "cfq_add_rq_rb")]
#![doc(alias = "cfq_merged_request")]
#![doc(alias = "cfq_merged_requests")]
#![doc(alias = "cfq_reposition_rq_rb")]

use crate::elevator::{Cx, Run};
use crate::elevators::cfq::data::{Cfq, Row};
use crate::elevators::cfq::decide::idle_window::{Habits, window};
use crate::elevators::cfq::ids::{Pid, Qid};
use crate::elevators::cfq::rules::{Alias, Idling, NextRequest, Seeks, Think, WhileIdling};
use crate::elevators::cfq::state::idle_window::{IdleWindow, QueueDepth};
use crate::elevators::cfq::state::queue::Reading;
use crate::elevators::cfq::state::seeks::seekiness;
use crate::elevators::cfq::state::slice::{Duty, Idle};
use crate::elevators::ioprio::Ioprio;
use crate::explain::Reason;
use crate::request::{Dir, RequestId, Sector};

/// Up to this many bytes wait for more to merge.
const SMALL_BYTES: u64 = 4096;

impl Cfq {
    /// A request enters its queue.
    pub(in crate::elevators::cfq) fn arrived(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run {
        let Row { queue: q, process: pid, .. } = self.rows[rq];
        let queue = &mut self.queues[q];
        if queue.reading == Reading::Stale {
            queue.take(Ioprio::of(cx.rq(rq).priority));
        }
        self.sort_in(cx, q, rq);
        self.queue_by_age(cx, q, rq);
        self.queued += 1;
        self.learn(cx, q, pid, rq);
        let run = self.meet_active(cx, q, rq);
        // The queue that was served may have ended when its last process left it (`prepare`).
        run.max(self.take_wish())
    }

    /// A bio joined a request in front.
    pub(in crate::elevators::cfq) fn begins_earlier(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        let q = self.rows[rq].queue;
        self.sorted.remove(&mut self.queues[q].sorted, rq.index() as u32);
        self.position_moved(cx, q);
        self.sort_in(cx, q, rq);
    }

    /// `into` has what `victim` was to do.
    pub(in crate::elevators::cfq) fn replaced(&mut self, cx: &mut Cx<'_>, into: RequestId, victim: RequestId) {
        let q = self.rows[victim].queue;
        self.inherit_age(q, into, victim);
        // Earlier kernels choose anew from where the victim was, and may turn to another request than the one that the
        // two became.
        if self.rules.next_request == NextRequest::FromTaken && self.queues[q].next == Some(victim) {
            self.set_next(cx, q, Some(into));
        }
        self.take_out(cx, q, victim);
        self.drop_unserved(cx, victim);
    }

    /// Into the queue's order by sector.
    fn sort_in(&mut self, cx: &mut Cx<'_>, q: Qid, rq: RequestId) {
        let start = cx.rq(rq).start;
        // Until 2.6.33 the order has one place for each first sector, so the older request has to leave it.
        if self.rules.alias == Alias::Forced {
            self.force_aliases_out(cx, q, start);
        }
        let queue = &mut self.queues[q];
        self.sorted.insert(&mut queue.sorted, rq.index() as u32, start);
        if queue.served_in.is_none() {
            self.join(cx, q);
        }
        let before = self.queues[q].next;
        // From where the disk is, since the arm has not moved for this request yet; after a dispatch `find_next` says
        // from where.
        let next = self.preference.better(|rq| cx.rq(rq), self.head, before, Some(rq));
        if next != before {
            self.set_next(cx, q, next);
            self.position_add(cx, q);
        }
    }

    fn force_aliases_out(&mut self, cx: &mut Cx<'_>, q: Qid, start: Sector) {
        while let Some(alias) = self.sorted.find(self.queues[q].sorted, start).0 {
            let alias = RequestId::from_index(alias);
            cx.explain(Reason::AliasForced { rq: alias });
            self.move_to_chosen(cx, q, alias);
            cx.seal(alias);
        }
    }

    /// What an arrival says about its process and its queue.
    #[inline(always)]
    fn learn(&mut self, cx: &Cx<'_>, q: Qid, pid: Pid, rq: RequestId) {
        let (rules, ticks, request) = (&self.rules, &self.ticks, cx.rq(rq));
        let (queue, process) = (&mut self.queues[q], &mut self.processes[pid]);
        queue.meta += u32::from(request.hints.meta);
        // Its pauses are over. Until 2.6.33 write-back ends a pause, too: a process that writes in between seems to
        // think less than it does.
        if queue.is_sync() || rules.think == Think::PerProcess {
            process.pauses.end(self.now, ticks.slice_idle);
        }
        if rules.think != Think::PerProcess {
            self.groups.pauses_end(queue, self.now, ticks, rules.groups);
        }
        match rules.seeks {
            Seeks::PerProcess => rules.first_seek.add(&mut process.seeks, request.start),
            Seeks::PerQueue => rules.first_seek.add(&mut queue.seeks, request.start),
            Seeks::History => queue.history.add(request.start, request.sectors, cx.device().rotational),
        }
        // Is it worth idling for now?
        if queue.is_sync() && !queue.is_idle_class() {
            let depth = if queue.sorted.len() >= 4 { QueueDepth::Deep } else { queue.window.depth };
            let is_last = |next: RequestId| cx.rq(next).dir() == Dir::Write && cx.rq(next).hints.no_idle;
            let habits = Habits {
                gone: process.gone,
                idle: ticks.slice_idle,
                seeky_idle: ticks.seeky_idle,
                think: process.pauses.believed(),
                seeks: seekiness(rules.seeks, queue, Some(process)),
                ends: rules.idling == Idling::TreeThinks && queue.next.is_some_and(is_last),
                depth,
                ncq: self.ncq.queues(),
                fairness: self.knobs.fairness,
                low_latency: self.knobs.low_latency,
                window: queue.window.window,
            };
            queue.window = IdleWindow { window: window(rules.idling, habits), depth };
        }
        match rules.seeks {
            Seeks::PerProcess => process.seeks.ended(request.end()),
            Seeks::PerQueue => queue.seeks.ended(request.end()),
            Seeks::History => queue.history.ended(request.end()),
        }
    }

    /// An arrival and the queue being served.
    fn meet_active(&mut self, cx: &mut Cx<'_>, q: Qid, rq: RequestId) -> Run {
        if self.active != Some(q) {
            let Some(why) = self.should_preempt(cx, q, rq) else { return Run::No };
            self.preempt(cx, q, why);
            return Run::Now;
        }
        if self.queues[q].slice.idle == Idle::No {
            return Run::No;
        }
        // A small request alone may still grow by what follows it; if others wait there is no time for that.
        let large = u64::from(cx.rq(rq).sectors) * 512 > SMALL_BYTES;
        if !large && self.service.busy() <= 1 {
            self.queues[q].slice.duty = Duty::MustDispatch;
            return Run::No;
        }
        self.cancel_timer(cx);
        match self.rules.while_idling {
            // Until 2.6.32 the mark is made behind the run, when the request has gone already, and the queue still
            // counts as waiting: the next look at the clock is skipped for nothing. Recordings show it, so it is kept.
            WhileIdling::MarkAfterRun => self.pending = Some(q),
            WhileIdling::MarkOrRun => self.queues[q].slice.idle = Idle::No,
        }
        Run::Now
    }

    /// The run that an arrival set off is over.
    pub(in crate::elevators::cfq) fn settle(&mut self) {
        if let Some(q) = self.pending.take() {
            self.queues[q].slice.duty = Duty::MustDispatch;
        }
    }
}
