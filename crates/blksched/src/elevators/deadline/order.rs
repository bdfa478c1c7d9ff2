//! Requests in sector order, as 2.5 kept them: a list that is scanned from its tail, or the tree that replaced it.
//!
//! **Rule, list** Searching from the tail, a new request is inserted after the first request that lies before it and
//! whose successor lies behind it. If there is none, it is inserted at the front if it lies before the first request
//! and ahead of the disk's arm, otherwise at the end. So the list need not be sorted: requests behind the arm form a
//! second run.
//! **Rule, tree** By sector. A second request with the same first sector cannot be inserted and is dispatched.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#d25.2 and #d25rb; the mail of 2002-11-01: the scan is linear, and at
//! 4096 requests the second largest consumer of CPU in the kernel.
//! **In the kernel** `sort_list`, `deadline_add_drq_rb`, `deadline_find_drq_rb`, `deadline_add_request`,
//! `deadline_latter_request`, `deadline_merged_request`.

use crate::elevator::{Cx, Insert, Lookup};
use crate::explain::{Index, Reason};
use crate::index::{List, Tree};
use crate::mechanism;
use crate::request::{Dir, PerDir, RequestId, Requests, Sector};

mechanism! {
    /// how requests are kept in sector order (2.5)
    pub enum Order = "order" {
        /// a list scanned from its tail: 2.5.38, 2.5.45
        List = "list",
        /// a red-black tree: the patch of 2002-10-31 (mail of 2002-11-01)
        Tree = "tree",
    }
}

/// The requests that are not yet on the dispatch list.
#[derive(Debug)]
pub(super) enum Sorted {
    List(PerDir<List>),
    Tree(PerDir<Tree<Sector>>),
}

impl Sorted {
    pub(super) fn new(order: Order) -> Sorted {
        match order {
            Order::List => Sorted::List(PerDir::default()),
            Order::Tree => Sorted::Tree(PerDir::default()),
        }
    }

    pub(super) fn is_empty(&self, dir: Dir) -> bool {
        self.first(dir).is_none()
    }

    /// The first request of a batch that does not begin elsewhere: the list's head, or the tree's lowest sector.
    pub(super) fn first(&self, dir: Dir) -> Option<RequestId> {
        match self {
            Sorted::List(lists) => lists[dir].head(),
            Sorted::Tree(trees) => trees[dir].first().map(RequestId::from_index),
        }
    }

    /// The request after `rq` in order.
    pub(super) fn behind(&self, dir: Dir, rq: RequestId) -> Option<RequestId> {
        match self {
            Sorted::List(lists) => lists[dir].behind(rq),
            Sorted::Tree(trees) => trees[dir].next(rq.index() as u32).map(RequestId::from_index),
        }
    }

    /// Removes `rq`, if it is here.
    pub(super) fn discard(&mut self, dir: Dir, rq: RequestId) -> bool {
        match self {
            Sorted::List(lists) => lists[dir].discard(rq),
            Sorted::Tree(trees) => {
                let member = trees[dir].contains(rq.index() as u32);
                if member {
                    trees[dir].remove(rq.index() as u32);
                }
                member
            }
        }
    }

    pub(super) fn check(&self, requests: &Requests) {
        for dir in Dir::BOTH {
            match self {
                Sorted::List(lists) => lists[dir].check(requests),
                Sorted::Tree(trees) => trees[dir].check(),
            }
        }
    }
}

/// The list's merge search: a request that starts at `end`, or the place where `from` belongs, whichever the scan from
/// the tail meets first; so a front merge below that place is missed. `arm`: the assumed position of the arm.
pub(super) fn scan(cx: &mut Cx<'_>, list: &List, (from, end): (Sector, Sector), arm: Sector) -> Lookup {
    let Some(first) = list.head() else { return Lookup::Nothing };
    let mut steps = 0;
    let mut at = list.tail();
    let mut found = None;
    while let (Some(rq), None) = (at, found) {
        steps += 1;
        let start = cx.rq(rq).start;
        let behind = list.behind(rq).map(|behind| cx.rq(behind).start);
        // The place is tested first, as in 2.5: a request that this bio would adjoin in front, but which lies before
        // that place, is never reached.
        if behind.is_some_and(|behind| lies_between(start, from, behind)) {
            found = Some(Lookup::Place(Insert::After(rq)));
        } else if start == end && cx.rq(rq).is_mergeable() {
            found = Some(Lookup::Front(rq));
        }
        at = list.before(rq);
    }
    cx.explain(Reason::Searched { index: Index::List, steps });
    // The list is in the order of the sweep: the head comes next. Only what the arm has not passed yet goes before
    // it; anything else waits for the next sweep, behind the tail.
    let ahead_of_all = end < cx.rq(first).start && from > arm;
    found.unwrap_or(Lookup::Place(if ahead_of_all { Insert::First } else { Insert::Last }))
}

/// Whether `at` belongs between two neighbours. Where the list wraps to a lower sector, everything above the one or
/// below the other does.
fn lies_between(before: Sector, at: Sector, behind: Sector) -> bool {
    if before < at && at < behind {
        return true;
    }
    behind <= before && (at > before || at < behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_neighbours_means_strictly_between_and_at_the_wrap_on_either_side() {
        let between = |a, b, c| lies_between(Sector(a), Sector(b), Sector(c));
        assert!(between(10, 15, 20) && !between(10, 10, 20) && !between(10, 20, 20));
        assert!(between(100, 150, 20) && between(100, 10, 20) && !between(100, 50, 20));
    }
}
