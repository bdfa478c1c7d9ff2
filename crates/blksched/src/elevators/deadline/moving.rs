//! deadline of 2.5: a batch is moved as a whole to the dispatch list.
//!
//! **Rule** When that list is empty: choose a direction; begin at the oldest read if it has expired, otherwise at the
//! first request in order; move requests in order until the batch's points are used up. Everything moved is issued in
//! that order. Requests stay mergeable until they are issued. Writes have no age.
//! **Origin** the mail of 2002-09-26 (2.5.38: its context lines show the loop), docs/behaviour/elevators-2.5-2.6.md#d25
//! and #d25rb.
//! **Shown by** the horror test: a read that arrives behind a batch of 49 writes waits for all of them, whatever
//! `read_expire` says.
//! **In the kernel** `deadline_move_requests`, `deadline_move_to_dispatch`.

use super::batch::{Budget, Cost};
use super::direction::Starved;
use super::expiry::{Expiry, Fifo};
use super::order::{Order, Sorted, scan};
use super::tunables::DeadlineTunables;
use crate::elevator::{Admits, Cx, Dispatch, Elevator, Grouped, Insert, Lookup, Merges, Neighbours, Run, Tuned};
use crate::explain::{BatchEnd, BatchStart, End, Index, Reason};
use crate::index::List;
use crate::mechanism;
use crate::queue::merge::Merging;
use crate::request::{Bio, Dir, RequestId, Requests, Sector};
use crate::time::Jiffies;
use crate::tunables::Tunables;

mechanism! {
    /// the assumed position of the disk's arm when a new request is inserted (2.5)
    pub enum Arm = "arm" {
        /// the end of the last request issued: 2.5.38
        LastIssued = "last_issued",
        /// the end of the last request on the dispatch list: 2.5.45
        LastChosen = "last_chosen",
    }
}

/// deadline of 2.5.
#[derive(Debug)]
pub struct Moving {
    tunables: DeadlineTunables,
    jiffies: Jiffies,
    cost: Cost,
    arm: Arm,
    sorted: Sorted,
    /// Reads by age.
    reads: Fifo,
    /// The dispatch list: requests moved and not yet issued.
    dispatch_list: List,
    /// The end of the last request issued.
    last: Sector,
    starved: Starved,
}

impl Moving {
    pub(super) fn new(tunables: DeadlineTunables, hz: u32, order: Order, cost: Cost, arm: Arm) -> Moving {
        Moving {
            tunables,
            jiffies: Jiffies::new(hz),
            cost,
            arm,
            sorted: Sorted::new(order),
            reads: Fifo::default(),
            dispatch_list: List::new(),
            last: Sector(0),
            starved: Starved::default(),
        }
    }

    fn arm(&self, cx: &Cx<'_>) -> Sector {
        match (self.arm, self.dispatch_list.tail()) {
            (Arm::LastChosen, Some(tail)) => cx.rq(tail).end(),
            _ => self.last,
        }
    }

    /// Chooses the next batch, once the dispatch list is empty.
    fn choose_batch(&mut self, cx: &mut Cx<'_>) {
        let (reads, writes) = (!self.sorted.is_empty(Dir::Read), !self.sorted.is_empty(Dir::Write));
        let Some(dir) = self.starved.choose(cx, reads, writes, self.tunables.writes_starved) else { return };
        let late = self.reads.late(cx.now, self.jiffies, Expiry::After).filter(|_| dir == Dir::Read);
        let (first, why) = match late {
            Some(late) => (self.reads.head(), BatchStart::Expired { late }),
            None => (self.sorted.first(dir), BatchStart::Lowest),
        };
        let rq = first.expect("this direction waits");
        cx.explain(Reason::BatchBegan { dir, rq, why });
        self.move_batch(cx, dir, rq);
    }

    /// Moves requests in order, from `first`, until the batch's points are used up.
    fn move_batch(&mut self, cx: &mut Cx<'_>, dir: Dir, first: RequestId) {
        let mut budget = Budget::new(self.tunables.fifo_batch);
        let mut arm = self.last;
        let mut next = Some(first);
        let mut requests = 0;
        while let Some(rq) = next.filter(|_| requests == 0 || !budget.is_spent()) {
            next = self.sorted.behind(dir, rq);
            let (start, sectors, end) = (cx.rq(rq).start, cx.rq(rq).sectors, cx.rq(rq).end());
            self.sorted.discard(dir, rq);
            self.reads.discard(rq);
            self.dispatch_list.push_back(rq);
            budget.charge(self.cost, start == arm, sectors, self.tunables.seek_cost);
            arm = end;
            requests += 1;
        }
        let end = if next.is_some() { BatchEnd::Full } else { BatchEnd::EndOfOrder };
        cx.explain(Reason::BatchMoved { dir, requests, end });
    }

    /// Inserts a request by sector; if the patch's tree already has that sector, it goes directly to the dispatch list.
    fn sort(&mut self, cx: &mut Cx<'_>, rq: RequestId, at: Insert) {
        let (dir, start, end) = (cx.rq(rq).dir(), cx.rq(rq).start, cx.rq(rq).end());
        let arm = self.arm(cx);
        match &mut self.sorted {
            Sorted::Tree(trees) => {
                if trees[dir].find(start).0.is_some() {
                    cx.explain(Reason::AliasForced { rq });
                    self.dispatch_list.push_back(rq);
                } else {
                    let steps = trees[dir].insert(rq.index() as u32, start);
                    cx.explain_search(Index::Tree, steps);
                }
            }
            Sorted::List(lists) => {
                let at = match at {
                    // Inserted without a search: it comes from a switch of elevators or a submitter's plug, or may not
                    // merge.
                    Insert::Sorted => match scan(cx, &lists[dir], (start, end), arm) {
                        Lookup::Place(place) => place,
                        Lookup::Front(behind) => Insert::Before(behind),
                        Lookup::Back(_) | Lookup::Nothing => Insert::Last,
                    },
                    found => found,
                };
                let neighbour_is_dispatched =
                    matches!(at, Insert::After(beside) | Insert::Before(beside) if self.dispatch_list.contains(beside));
                let list = if neighbour_is_dispatched { &mut self.dispatch_list } else { &mut lists[dir] };
                match at {
                    Insert::First => list.push_front(rq),
                    Insert::Sorted | Insert::Last => list.push_back(rq),
                    Insert::After(beside) => list.insert_after(beside, rq),
                    Insert::Before(beside) => list.insert_before(beside, rq),
                }
            }
        }
    }
}

impl Elevator for Moving {
    fn announces_deadline(&self) -> bool {
        true
    }

    fn insert(&mut self, cx: &mut Cx<'_>, rq: RequestId, at: Insert) -> Run {
        self.sort(cx, rq, at);
        if cx.rq(rq).dir() == Dir::Read {
            self.reads.push(rq, self.jiffies.tick(cx.now) + self.jiffies.ticks(self.tunables.read_expire));
        }
        Run::No
    }

    fn dispatch(&mut self, cx: &mut Cx<'_>) -> Dispatch {
        if self.dispatch_list.is_empty() {
            self.choose_batch(cx);
        }
        let Some(rq) = self.dispatch_list.pop_front() else { return Dispatch::Empty };
        self.reads.discard(rq);
        self.last = cx.rq(rq).end();
        Dispatch::Issue(rq)
    }

    fn complete(&mut self, _cx: &mut Cx<'_>, _rq: RequestId) -> Run {
        Run::No
    }

    fn has_work(&self) -> bool {
        !self.dispatch_list.is_empty() || Dir::BOTH.iter().any(|&dir| !self.sorted.is_empty(dir))
    }

    fn absorbed(&mut self, cx: &mut Cx<'_>, into: RequestId, victim: RequestId) {
        if self.reads.contains(into) && self.reads.contains(victim) {
            self.reads.inherit(into, victim);
        }
        self.sorted.discard(cx.rq(victim).dir(), victim);
        self.dispatch_list.discard(victim);
        self.reads.discard(victim);
    }

    fn requeue(&mut self, _cx: &mut Cx<'_>, rq: RequestId) {
        self.dispatch_list.push_front(rq);
    }

    fn check(&self, requests: &Requests) {
        self.sorted.check(requests);
        self.reads.check(requests);
        self.dispatch_list.check(requests);
    }
}

impl Merges for Moving {
    fn merging(&self) -> Merging {
        match self.sorted {
            Sorted::List(_) => Merging::LINUX_2_5,
            Sorted::Tree(_) => Merging::LINUX_2_5_TREE,
        }
    }

    fn asking_changes(&mut self, _bio: &Bio) -> bool {
        false
    }

    fn look_up(&mut self, cx: &mut Cx<'_>, bio: &Bio) -> Lookup {
        let arm = self.arm(cx);
        match &mut self.sorted {
            Sorted::List(lists) => scan(cx, &lists[bio.dir()], (bio.start, bio.end()), arm),
            Sorted::Tree(trees) => {
                let (found, steps) = trees[bio.dir()].find(bio.end());
                cx.explain_search(Index::Tree, steps);
                found.map_or(Lookup::Nothing, |index| Lookup::Front(RequestId::from_index(index)))
            }
        }
    }

    fn neighbours(&self, rq: RequestId) -> Neighbours {
        let beside = |list: &List| Neighbours { before: list.before(rq), behind: list.behind(rq) };
        if self.dispatch_list.contains(rq) {
            return beside(&self.dispatch_list);
        }
        match &self.sorted {
            Sorted::List(lists) => {
                let list = Dir::BOTH.iter().map(|&dir| &lists[dir]).find(|list| list.contains(rq));
                list.map(beside).unwrap_or_default()
            }
            // In the patch's tree, requests have no neighbours.
            Sorted::Tree(_) => Neighbours::default(),
        }
    }

    fn grown(&mut self, cx: &mut Cx<'_>, rq: RequestId, end: End) {
        let dir = cx.rq(rq).dir();
        if end == End::Front && matches!(self.sorted, Sorted::Tree(_)) && self.sorted.discard(dir, rq) {
            self.sort(cx, rq, Insert::Sorted);
        }
    }
}

impl Admits for Moving {}
impl Grouped for Moving {}

impl Tuned for Moving {
    fn tunables(&self) -> &dyn Tunables {
        &self.tunables
    }

    fn tunables_mut(&mut self) -> Option<&mut dyn Tunables> {
        Some(&mut self.tunables)
    }
}
