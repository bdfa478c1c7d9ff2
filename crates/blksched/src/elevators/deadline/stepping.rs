//! deadline of 2.6 to 4.20: a batch is a count of requests taken one at a time.
//!
//! **Rule** While the batch may continue and there is a request behind the last one in its direction, take that.
//! Otherwise choose a direction; begin at its oldest request if that one has expired or nothing lies behind the last,
//! otherwise continue behind the last.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#d26 and docs/behaviour/elevators-4.20.md#d420.
//! **In the kernel** `deadline_dispatch_requests`, `deadline_move_request`, `next_rq`, `deadline_merge`,
//! `deadline_merged_requests`, `deadline_remove_request`, `last_sector`, `deadline_add_rq_rb`, `deadline_del_rq_rb`.

use super::batch;
use super::direction::Starved;
use super::expiry::{Expiry, Fifo, InTicks, LastTick};
use super::tunables::DeadlineTunables;
use crate::elevator::{Admits, Cx, Dispatch, Elevator, Grouped, Insert, Lookup, Merges, Neighbours, Run, Tuned};
use crate::explain::{BatchStart, End, Index, Reason};
use crate::index::{List, Steps, Tree};
use crate::mechanism;
use crate::queue::merge::Merging;
use crate::request::{Bio, Dir, PerDir, RequestId, Requests, Sector};
use crate::time::Jiffies;
use crate::tunables::Tunables;

mechanism! {
    /// what happens to two requests with the same first sector
    pub enum Alias = "alias" {
        /// the older is dispatched at once: 2.6
        Force = "force",
        /// the newer is queued behind it: 4.20
        Behind = "behind",
    }
}

/// One direction's requests, by sector and by age.
#[derive(Debug, Default)]
struct Lane {
    sorted: Tree<Sector>,
    aged: Fifo,
    expire: InTicks,
}

impl Lane {
    /// Removes `rq` from both orders; returns the request that was behind it.
    #[inline(always)]
    fn remove(&mut self, rq: RequestId) -> Option<RequestId> {
        let behind = self.sorted.remove(rq.index() as u32);
        self.aged.remove(rq);
        behind.map(RequestId::from_index)
    }
}

/// deadline of 2.6 to 4.20.
#[derive(Debug)]
pub struct Stepping {
    tunables: DeadlineTunables,
    jiffies: Jiffies,
    tick: LastTick,
    expiry: Expiry,
    alias: Alias,
    lanes: PerDir<Lane>,
    /// Requests forced out, or returned by the device: these are dispatched first.
    dispatch_list: List,
    /// The request after the last one taken, in its direction.
    next: Option<(Dir, RequestId)>,
    /// The number of requests taken in the batch.
    taken: u32,
    starved: Starved,
}

impl Stepping {
    pub(super) fn new(tunables: DeadlineTunables, hz: u32, expiry: Expiry, alias: Alias) -> Stepping {
        Stepping {
            tunables,
            jiffies: Jiffies::new(hz),
            tick: LastTick::default(),
            expiry,
            alias,
            lanes: PerDir::default(),
            dispatch_list: List::new(),
            next: None,
            taken: 0,
            starved: Starved::default(),
        }
    }

    /// The request with which the batch continues, or with which a new batch begins, and its direction.
    #[inline(always)]
    fn choose(&mut self, cx: &mut Cx<'_>) -> Option<(Dir, RequestId)> {
        if let Some((dir, rq)) = self.next.filter(|_| batch::goes_on(self.taken, self.tunables.fifo_batch)) {
            self.taken += 1;
            cx.explain(Reason::BatchContinued { rq, nth: self.taken });
            return Some((dir, rq));
        }
        let (reads, writes) = (self.lanes.read.aged.head().is_some(), self.lanes.write.aged.head().is_some());
        let dir = self.starved.choose(cx, reads, writes, self.tunables.writes_starved)?;
        let (rq, why) = self.begin(&cx.apart(), dir);
        self.taken = 1;
        cx.explain(Reason::BatchBegan { dir, rq, why });
        Some((dir, rq))
    }

    #[inline(never)]
    fn begin(&self, cx: &Cx<'_>, dir: Dir) -> (RequestId, BatchStart) {
        let aged = &self.lanes[dir].aged;
        let oldest = aged.head().expect("this direction waits");
        // Only here: within a batch an expired request waits.
        if let Some(late) = aged.late(cx.now, self.jiffies, self.expiry) {
            return (oldest, BatchStart::Expired { late });
        }
        match self.next {
            Some((next_dir, next)) if next_dir == dir => (next, BatchStart::NextInOrder),
            _ => (oldest, BatchStart::Oldest),
        }
    }

    /// Removes `rq` from both orders; the batch would continue after it.
    #[inline(always)]
    fn take(&mut self, dir: Dir, rq: RequestId) {
        // The position of the other direction is forgotten. Beyond the highest sector there is none: a batch ends
        // there.
        self.next = self.lanes[dir].remove(rq).map(|behind| (dir, behind));
    }

    /// Inserts `rq` into both orders.
    #[inline(always)]
    fn enter(&mut self, cx: &mut Cx<'_>, dir: Dir, rq: RequestId, start: Sector) {
        self.sort(cx, dir, rq, start);
        let expire = match dir {
            Dir::Read => self.tunables.read_expire,
            Dir::Write => self.tunables.write_expire,
        };
        let lane = &mut self.lanes[dir];
        let expires = self.tick.of(cx.now, self.jiffies) + lane.expire.of(expire, self.jiffies);
        lane.aged.push(rq, expires);
    }

    /// Inserts `rq` by sector; in 2.6 every older request with the same first sector is forced out.
    #[inline(always)]
    fn sort(&mut self, cx: &mut Cx<'_>, dir: Dir, rq: RequestId, start: Sector) {
        while self.alias == Alias::Force
            && let Some(older) = self.lanes[dir].sorted.find_counting(start, Steps::Uncounted).0
        {
            let older = RequestId::from_index(older);
            cx.explain(Reason::AliasForced { rq: older });
            self.take(dir, older);
            self.dispatch_list.push_back(older);
            cx.apart().seal(older);
        }
        let steps = self.lanes[dir].sorted.insert_counting(rq.index() as u32, start, cx.steps());
        cx.explain_search(Index::Tree, steps);
    }
}

impl Elevator for Stepping {
    fn announces_deadline(&self) -> bool {
        true
    }

    #[inline(always)]
    fn insert(&mut self, cx: &mut Cx<'_>, rq: RequestId, at: Insert) -> Run {
        if at == Insert::First {
            self.dispatch_list.push_front(rq);
            return Run::No;
        }
        let (dir, start) = (cx.rq(rq).dir(), cx.rq(rq).start);
        self.enter(cx, dir, rq, start);
        Run::No
    }

    #[inline(always)]
    fn dispatch(&mut self, cx: &mut Cx<'_>) -> Dispatch {
        if let Some(rq) = self.dispatch_list.pop_front() {
            return Dispatch::Issue(rq);
        }
        let Some((dir, rq)) = self.choose(cx) else { return Dispatch::Empty };
        self.take(dir, rq);
        Dispatch::Issue(rq)
    }

    fn complete(&mut self, _cx: &mut Cx<'_>, _rq: RequestId) -> Run {
        Run::No
    }

    fn has_work(&self) -> bool {
        !self.dispatch_list.is_empty()
            || self.lanes.read.aged.head().is_some()
            || self.lanes.write.aged.head().is_some()
    }

    fn absorbed(&mut self, cx: &mut Cx<'_>, into: RequestId, victim: RequestId) {
        let dir = cx.rq(victim).dir();
        let lane = &mut self.lanes[dir];
        lane.aged.inherit(into, victim);
        let behind = lane.remove(victim);
        if self.next == Some((dir, victim)) {
            self.next = behind.map(|behind| (dir, behind));
        }
    }

    fn requeue(&mut self, _cx: &mut Cx<'_>, rq: RequestId) {
        self.dispatch_list.push_front(rq);
    }

    fn check(&self, requests: &Requests) {
        self.dispatch_list.check(requests);
        for dir in Dir::BOTH {
            let Lane { sorted, aged, .. } = &self.lanes[dir];
            sorted.check();
            aged.check(requests);
            assert_eq!(sorted.len(), aged.len());
        }
        if let Some((dir, next)) = self.next {
            assert!(
                self.lanes[dir].sorted.contains(next.index() as u32),
                "the batch would go on with a request that is gone"
            );
        }
    }
}

impl Merges for Stepping {
    fn merging(&self) -> Merging {
        match self.alias {
            Alias::Force => Merging::LINUX_2_6,
            Alias::Behind => Merging::LINUX_4_20,
        }
    }

    fn asking_changes(&mut self, _bio: &Bio) -> bool {
        false
    }

    #[inline(always)]
    fn look_up(&mut self, cx: &mut Cx<'_>, bio: &Bio) -> Lookup {
        // Bios still join the front of the request merged last, which is not looked up here.
        if !self.tunables.front_merges {
            return Lookup::Nothing;
        }
        let (found, steps) = self.lanes[bio.dir()].sorted.find_counting(bio.end(), cx.steps());
        cx.explain_search(Index::Tree, steps);
        found.map_or(Lookup::Nothing, |index| Lookup::Front(RequestId::from_index(index)))
    }

    fn neighbours(&self, rq: RequestId) -> Neighbours {
        let index = rq.index() as u32;
        let tree = Dir::BOTH.iter().map(|&dir| &self.lanes[dir].sorted).find(|tree| tree.contains(index));
        tree.map_or(Neighbours::default(), |tree| Neighbours {
            before: tree.previous(index).map(RequestId::from_index),
            behind: tree.next(index).map(RequestId::from_index),
        })
    }

    fn grown(&mut self, cx: &mut Cx<'_>, rq: RequestId, end: End) {
        if end == End::Front {
            let (dir, start) = (cx.rq(rq).dir(), cx.rq(rq).start);
            self.lanes[dir].sorted.remove(rq.index() as u32);
            self.sort(cx, dir, rq, start);
        }
    }
}

impl Admits for Stepping {}
impl Grouped for Stepping {}

impl Tuned for Stepping {
    fn tunables(&self) -> &dyn Tunables {
        &self.tunables
    }

    fn tunables_mut(&mut self) -> Option<&mut dyn Tunables> {
        Some(&mut self.tunables)
    }
}
