//! 6.1's insert merge: a new request that found nothing as a bio is tried once more as it is inserted.
//!
//! **Rule** If the request merged last ends where the new one starts, append it there and stop. Otherwise append it to
//! the request that the hash has for that end, and continue with the grown request.
//! **Origin** docs/formats/transcripts-6.1.md "Merging".
//! **In the kernel** `elv_attempt_insert_merge`, `blk_mq_sched_try_insert_merge`.

use super::fits;
use crate::elevator::{Cx, Elevator};
use crate::explain::{End, Reason};
use crate::request::{RequestId, Stage};

/// One append.
pub(in crate::queue) struct Append {
    pub(in crate::queue) into: RequestId,
    pub(in crate::queue) victim: RequestId,
    /// Whether the grown request may be appended in turn.
    pub(in crate::queue) cascades: bool,
}

impl Cx<'_> {
    /// One step: `rq` is the new request, `grown` the queued one of which it is already a part, if there is one.
    pub(in crate::queue) fn insert_merge(
        &mut self,
        elevator: &mut dyn Elevator,
        rq: RequestId,
        grown: Option<RequestId>,
    ) -> Option<Append> {
        let victim = grown.unwrap_or(rq);
        if !self.state.requests[victim].is_mergeable() {
            return None;
        }
        let last = self.state.merges.last_merged().filter(|&last| grown.is_none() && self.continues(last, victim));
        let into = match last {
            Some(last) => last,
            None => {
                let start = self.state.requests[victim].start;
                self.state.merges.find(&self.state.requests, start).0.filter(|&into| self.continues(into, victim))?
            }
        };
        match grown {
            None => {
                self.take_over(into, victim);
                elevator.unprepare(self, victim);
                let was_queued = self.state.requests[victim].stage == Stage::Queued;
                self.tell(|_| match was_queued {
                    true => Reason::Coalesced { into, victim },
                    false => Reason::Merged { into, end: End::Back },
                });
                self.settle(into, victim);
            }
            Some(_) => self.coalesce(elevator, into, victim),
        }
        Some(Append { into, victim, cascades: last.is_none() })
    }

    fn continues(&self, into: RequestId, victim: RequestId) -> bool {
        let (a, b) = (&self.state.requests[into], &self.state.requests[victim]);
        into != victim
            && a.end() == b.start
            && self.state.merges.rules().kin.accept_each_other(a, b)
            && fits(a, b.sectors, b.segments, &self.state.config.limits)
    }
}
