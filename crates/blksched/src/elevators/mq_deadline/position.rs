//! Where a direction goes on: what is remembered of the last request taken.
//!
//! **Rule** 6.1 remembers, when it takes a request, the one then behind it. Later kernels remember where it began, and
//! go on with whatever is first there when they come to choose: a request that came in between, close behind the last
//! one, is not left for the next sweep. The place is kept while there is nothing behind it, and is 0 at first.
//! **Origin** docs/behaviour/elevators-6.1.md#mq-deadline "State" and "pick"; docs/behaviour/elevators-6.12-6.18.md#m1.
//! The change came between 6.1 and 6.6.
//! **Costs when wrong** A direction that had nothing queued behind its last request starts again with the oldest one
//! instead of going on.
//! **In the kernel** `next_rq`, `deadline_next_request`, `latest_pos`, `deadline_from_pos`.

#![doc(alias = "next_rq")]
#![doc(alias = "deadline_next_request")]
#![doc(alias = "latest_pos")]
#![doc(alias = "deadline_from_pos")]

use crate::index::Tree;
use crate::mechanism;
use crate::request::{RequestId, Sector};

mechanism! {
    /// with which request a direction goes on
    pub(super) enum PositionRule = "position" {
        /// with the request that was behind the last one when that was taken: 6.1
        NextRq = "next_rq",
        /// with whatever is first at or behind the start of the last one: 6.6 and later
        LatestPos = "latest_pos",
    }
}

/// What is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// The request that was behind the last one (6.1).
    NextRq(Option<RequestId>),
    /// Where the last one began (6.6 and later).
    LatestPos(Sector),
}

impl Position {
    /// Before anything was taken.
    pub(super) fn of(rule: PositionRule) -> Position {
        match rule {
            PositionRule::NextRq => Position::NextRq(None),
            PositionRule::LatestPos => Position::LatestPos(Sector(0)),
        }
    }

    /// The request with which the direction goes on.
    pub(super) fn request(self, sorted: &Tree<Sector>) -> Option<RequestId> {
        match self {
            Position::NextRq(next) => next,
            Position::LatestPos(place) => sorted.at_or_behind(place).map(RequestId::from_index),
        }
    }

    /// `rq` is taken; it is still in the order. Answers the one behind it.
    #[inline(always)]
    pub(super) fn took(&mut self, sorted: &Tree<Sector>, rq: RequestId) -> Option<RequestId> {
        let behind = behind(sorted, rq);
        match self {
            Position::NextRq(next) => *next = behind,
            Position::LatestPos(place) => *place = sorted.key(rq.index() as u32),
        }
        behind
    }

    /// May a request that comes, and begins there, be the one with which the direction goes on?
    pub(super) fn admits(self, start: Sector) -> bool {
        matches!(self, Position::LatestPos(place) if start >= place)
    }

    /// A request that begins there went without having been in the order.
    pub(super) fn goes_on_from(&mut self, start: Sector) {
        if let Position::LatestPos(place) = self {
            *place = start;
        }
    }

    /// `rq` is absorbed by another; it is still in the order.
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

/// The request behind `rq` in sector order.
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
        for position in [&mut request, &mut place] {
            position.took(&sorted, RequestId::from_index(0));
        }
        sorted.remove(0);
        sorted.insert(2, Sector(16));
        assert_eq!(request.request(&sorted), Some(RequestId::from_index(1)));
        assert_eq!(place.request(&sorted), Some(RequestId::from_index(2)));
    }
}
