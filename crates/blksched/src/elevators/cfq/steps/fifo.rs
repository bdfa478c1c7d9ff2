//! Age: when a queue's slice begins, its oldest request goes first if it has expired.
//!
//! **Rule** This is checked once per slice, at its first dispatch. The time is `fifo_expire_sync` or
//! `fifo_expire_async`; [`Fifo`] says from when it counts.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c13; docs/behaviour/elevators-4.20.md#x.15.
//! **Costs when wrong** a request at the far end of a busy queue waits for ever.
//! **In the kernel** `cfq_check_fifo`, `fifo_expire`, `rq_fifo_time`.

use crate::elevator::Cx;
use crate::elevators::cfq::data::Cfq;
use crate::elevators::cfq::ids::Qid;
use crate::elevators::cfq::rules::Fifo;
use crate::elevators::cfq::state::slice::AgeCheck;
use crate::explain::Reason;
use crate::request::RequestId;

impl Cfq {
    /// `into` takes the place of `victim` in the FIFO if `victim` is older.
    pub(super) fn inherit_age(&mut self, q: Qid, into: RequestId, victim: RequestId) {
        let (older, own) = (self.rows[victim].expires, self.rows[into].expires);
        // 2.6.31 compares ages after coalescing has already made them equal, so it never moves the request, and a late
        // request can be hidden behind a younger one. 2.6.32 fixed this.
        if self.rules.fifo == Fifo::SinceMade || older >= own {
            return;
        }
        self.rows[into].expires = older;
        let fifo = &mut self.queues[q].fifo;
        self.rows.remove(fifo, into);
        self.rows.insert_after(fifo, victim, into);
    }

    /// The oldest request, if it has expired; checked before the limits, none of which may hold it back
    /// (`Fifo::PastLimits`).
    #[inline(never)]
    pub(super) fn overdue(&mut self, cx: &mut Cx<'_>, q: Qid) -> Option<RequestId> {
        let rq = self.expired(cx, q)?;
        self.queues[q].slice.must_dispatch();
        Some(rq)
    }

    /// The oldest request, if it has expired and this slice has not checked yet.
    #[inline(never)]
    pub(super) fn expired(&mut self, cx: &mut Cx<'_>, q: Qid) -> Option<RequestId> {
        // Only once: if this were checked for each request, a queue that has fallen behind would be served by age
        // alone, with a seek for each request.
        if self.queues[q].slice.check_age() == AgeCheck::Done {
            return None;
        }
        let rq = self.queues[q].fifo.head()?;
        let expires = match self.rules.fifo {
            Fifo::SinceMade => self.unit.tick(cx.rq(rq).queued_at) + self.ticks.fifo_expire[self.queues[q].waiter],
            Fifo::SinceInserted | Fifo::PastLimits => self.rows[rq].expires,
        };
        let late = self.now.checked_sub(expires)?;
        cx.explain(Reason::TookOldest { rq, late: self.unit.span(late) });
        Some(rq)
    }
}
