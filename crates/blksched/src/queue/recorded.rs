//! Insertions that recordings contain but drivers do not need: at the head, and as lists kept outside the queue.
//!
//! **In the kernel** `BLK_MQ_INSERT_AT_HEAD`, `blk_mq_sched_insert_requests`.

use super::merge::Attempt;
use super::split::SplitPiece;
use super::step::Step;
use super::{BlockQueue, Listener, Submitted};
use crate::elevator::{Elevator, Insert};
use crate::explain::End;
use crate::request::{Bio, NONE, RequestId};
use crate::time::Instant;

/// The result for a bio that becomes a request in a list of the caller's unless it merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum ListedBio {
    /// It joined a queued request.
    Merged {
        /// The request.
        into: RequestId,
        /// The end that it joined.
        end: End,
    },
    /// It is a new request, which [`BlockQueue::insert_from_list`] inserts later.
    Outside(RequestId),
}

impl<L: Listener> BlockQueue<L> {
    /// Inserts a bio ahead of everything queued, without a merge attempt or a plug: what drivers insert at the head. It
    /// takes a slot without waiting.
    pub fn submit_at_head(&mut self, now: Instant, bio: Bio) -> RequestId {
        let mut step = self.at(now);
        step.meet_group(&bio);
        let rq = step.make_anyway(&bio);
        step.elevator.prepare(&mut step.cx, rq);
        step.hand_over(rq, Insert::First);
        rq
    }

    /// As [`BlockQueue::submit`], but a bio that does not merge becomes a request in a list that the caller keeps.
    pub fn keep(&mut self, now: Instant, bio: Bio) -> ListedBio {
        let mut step = self.at(now);
        step.meet_group(&bio);
        match step.merge_bio(&bio, SplitPiece::WHOLE) {
            Attempt::Joined { into, end } => ListedBio::Merged { into, end },
            Attempt::Insert(_) => ListedBio::Outside(step.make_anyway(&bio)),
        }
    }

    /// Inserts a request of the caller's list; it may merge on the way.
    pub fn insert_from_list(&mut self, now: Instant, rq: RequestId) -> Submitted {
        let mut step = self.at(now);
        step.elevator.prepare(&mut step.cx, rq);
        match step.merge_on_insert(rq) {
            Some(into) => Submitted::MergedOnInsert { into },
            None => {
                step.hand_over(rq, Insert::Sorted);
                Submitted::Inserted(rq)
            }
        }
    }
}

impl Step<'_, dyn Elevator> {
    fn make_anyway(&mut self, bio: &Bio) -> RequestId {
        let admission = self.elevator.admit(&mut self.cx, bio);
        self.cx.search_of(admission);
        self.cx.state.slots.pools().take_anyway(bio.dir());
        self.cx.state.make(bio, SplitPiece::WHOLE, NONE)
    }
}
