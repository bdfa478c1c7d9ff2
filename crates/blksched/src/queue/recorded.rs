//! Insertions that recordings contain but drivers do not need: at the head, and as lists kept outside the queue.
//!
//! **In the kernel** `BLK_MQ_INSERT_AT_HEAD`, `blk_mq_sched_insert_requests`.

use super::merge::Attempt;
use super::split::SplitPiece;
use super::{BlockQueue, Listener, Submitted};
use crate::elevator::Insert;
use crate::explain::{End, Reason};
use crate::request::{Bio, RequestId};
use crate::time::Instant;

/// A whole bio.
const WHOLE: SplitPiece = SplitPiece { of: None, last: true };

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
        self.catch_up(now);
        self.meet_group(now, &bio);
        let rq = self.make_anyway(now, &bio);
        self.elevator.prepare(&mut self.core.cx(now), rq);
        self.hand_over(now, rq, Insert::First);
        rq
    }

    /// As [`BlockQueue::submit`], but a bio that does not merge becomes a request in a list that the caller keeps.
    pub fn keep(&mut self, now: Instant, bio: Bio) -> ListedBio {
        self.catch_up(now);
        self.meet_group(now, &bio);
        match self.merge_bio(now, &bio, WHOLE) {
            Attempt::Joined { into, end } => ListedBio::Merged { into, end },
            Attempt::Insert(_) => ListedBio::Outside(self.make_anyway(now, &bio)),
        }
    }

    /// Inserts a request of the caller's list; it may merge on the way.
    pub fn insert_from_list(&mut self, now: Instant, rq: RequestId) -> Submitted {
        self.catch_up(now);
        self.elevator.prepare(&mut self.core.cx(now), rq);
        match self.merge_on_insert(now, rq) {
            Some(into) => Submitted::MergedOnInsert { into },
            None => {
                self.hand_over(now, rq, Insert::Sorted);
                Submitted::Inserted(rq)
            }
        }
    }

    fn make_anyway(&mut self, now: Instant, bio: &Bio) -> RequestId {
        let admission = self.elevator.admit(&mut self.core.cx(now), bio);
        if let crate::elevator::Admission::Shallow(shallow) | crate::elevator::Admission::AtMost(shallow) = admission {
            self.core.explain(now, |_| Reason::Limited { shallow });
        }
        self.pools().take_anyway(bio.dir());
        let carried = self.core.state.bios.carry(bio.tag, None);
        self.make(now, bio, carried)
    }
}
