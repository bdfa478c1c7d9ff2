//! Where a direction continues: what is remembered of the last request taken.
//!
//! **Rule** When 5.15 and 6.1 take a request, they remember the one then after it, for each direction. 4.19 and 5.10
//! have one such request for both directions: a batch in the other direction begins with the oldest request instead of
//! where that direction stopped. Later kernels remember where the request began, and continue with the first request
//! from there at the time of the choice, so a request that arrived meanwhile, close behind the last one, is not left
//! for the next sweep. The position is kept while there is nothing behind it, and is initially 0.
//! **Origin** docs/behaviour/elevators-6.1.md#mq-deadline "State" and "pick"; docs/behaviour/elevators-6.12-6.18.md#m1;
//! docs/behaviour/elevators-4.19-5.15.md#m3. The change to a place came between 6.1 and 6.6.
//! **Costs when wrong** A direction that had nothing queued behind its last request starts again with the oldest one
//! instead of continuing.
//! **In the kernel** `next_rq`, `deadline_next_request`, `latest_pos`, `deadline_from_pos`, `deadline_latter_request`.

use crate::index::Tree;
use crate::mechanism;
use crate::request::{RequestId, Sector};

mechanism! {
    /// with which request a direction continues
    pub(super) enum PositionRule = "position" {
        /// with the request after the last one of either direction: after a change of direction, with the oldest: 5.10
        NextRqOfBoth = "next_rq_of_both",
        /// with the request that was after the last one when that one was taken: 5.15 and 6.1
        NextRq = "next_rq",
        /// with the first request at or after the start of the last one: 6.6 and later
        LatestPos = "latest_pos",
    }
}

/// The remembered position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// The request that was after the last one (6.1).
    NextRq(Option<RequestId>),
    /// Where the last one began (6.6 and later).
    LatestPos(Sector),
}

impl Position {
    /// The position before anything was taken.
    pub(super) fn of(rule: PositionRule) -> Position {
        match rule {
            // What to forget of the other direction is decided where both are at hand.
            PositionRule::NextRqOfBoth | PositionRule::NextRq => Position::NextRq(None),
            PositionRule::LatestPos => Position::LatestPos(Sector(0)),
        }
    }

    /// The request with which the direction continues.
    pub(super) fn request(self, sorted: &Tree<Sector>) -> Option<RequestId> {
        match self {
            Position::NextRq(next) => next,
            Position::LatestPos(place) => sorted.at_or_behind(place).map(RequestId::from_index),
        }
    }

    /// Notes that a request that begins at `start` is taken, and the request that was behind it.
    #[inline(always)]
    pub(super) fn took(&mut self, start: Sector, behind: Option<RequestId>) {
        match self {
            Position::NextRq(next) => *next = behind,
            Position::LatestPos(place) => *place = start,
        }
    }

    /// Whether an arriving request that begins at `start` may be the one with which the direction continues.
    pub(super) fn admits(self, start: Sector) -> bool {
        matches!(self, Position::LatestPos(place) if start >= place)
    }

    /// Notes that a request that begins at `start` was dispatched without having been in the order.
    pub(super) fn goes_on_from(&mut self, start: Sector) {
        if let Position::LatestPos(place) = self {
            *place = start;
        }
    }

    /// Forgets the request.
    pub(super) fn forget(&mut self) {
        if let Position::NextRq(next) = self {
            *next = None;
        }
    }

    /// Notes that another request absorbs `rq`, which is still in the order.
    pub(super) fn lost(&mut self, sorted: &Tree<Sector>, rq: RequestId) {
        if *self == Position::NextRq(Some(rq)) {
            *self = Position::NextRq(behind(sorted, rq));
        }
    }

    pub(super) fn check(self, sorted: &Tree<Sector>) {
        if let Position::NextRq(Some(rq)) = self {
            assert!(sorted.contains(rq.index() as u32), "a batch would go on with what is gone");
        }
    }
}

/// The request after `rq` in sector order.
fn behind(sorted: &Tree<Sector>, rq: RequestId) -> Option<RequestId> {
    sorted.next(rq.index() as u32).map(RequestId::from_index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_place_sees_what_came_close_behind_the_last_one() {
        let mut sorted = Tree::new();
        sorted.insert(0, Sector(8));
        sorted.insert(1, Sector(80));
        let (mut request, mut place) = (Position::of(PositionRule::NextRq), Position::of(PositionRule::LatestPos));
        assert_eq!(request.request(&sorted), None);
        assert_eq!(place.request(&sorted), Some(RequestId::from_index(0)));
        let behind = sorted.remove(0).map(RequestId::from_index);
        for position in [&mut request, &mut place] {
            position.took(Sector(8), behind);
        }
        sorted.insert(2, Sector(16));
        assert_eq!(request.request(&sorted), Some(RequestId::from_index(1)));
        assert_eq!(place.request(&sorted), Some(RequestId::from_index(2)));
    }
}
