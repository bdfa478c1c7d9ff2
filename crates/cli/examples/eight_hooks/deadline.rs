//! A scheduler in eight hooks: batches in sector order that begin with the oldest request, reads before writes.
//!
//! Where deadline asks the clock (has the oldest request waited too long?), this cannot: no hook is told the time, and
//! none is called when a time has come. So every batch begins with the oldest.

use blksched::author::index::{List, Tree};
use blksched::author::{PerDir, RequestId, Requests};
use blksched::reasons::End;
use blksched::{Bio, Dir, Sector};

use super::hooks::{EightHooks, MergeBio, View};

/// The requests of a batch.
pub const BATCH: u32 = 16;
/// How many batches of reads may come before one of writes, if writes wait.
pub const STARVED: u32 = 2;

#[derive(Default)]
pub struct HookedDeadline {
    sorted: PerDir<Tree<Sector>>,
    aged: PerDir<List>,
    /// Requests handed back, which go first.
    first: List,
    /// The batch's next request, and how many it has had.
    next: Option<(Dir, RequestId)>,
    taken: u32,
    starved: u32,
}

impl HookedDeadline {
    fn leave(&mut self, dir: Dir, rq: RequestId) {
        let index = rq.index() as u32;
        if self.next == Some((dir, rq)) {
            self.next = self.sorted[dir].next(index).map(|behind| (dir, RequestId::from_index(behind)));
        }
        self.sorted[dir].remove(index);
        self.aged[dir].remove(rq);
    }

    fn direction(&mut self) -> Option<Dir> {
        match (self.aged.read.is_empty(), self.aged.write.is_empty()) {
            (true, true) => None,
            (false, true) => Some(Dir::Read),
            (false, false) if self.starved < STARVED => {
                self.starved += 1;
                Some(Dir::Read)
            }
            _ => {
                self.starved = 0;
                Some(Dir::Write)
            }
        }
    }
}

impl EightHooks for HookedDeadline {
    fn has_req(&self) -> bool {
        !self.first.is_empty() || !self.aged.read.is_empty() || !self.aged.write.is_empty()
    }

    fn insert_req(&mut self, view: &View<'_>, rq: RequestId, at_head: bool) {
        if at_head {
            return self.first.push_front(rq);
        }
        let dir = view.rq(rq).dir();
        self.sorted[dir].insert(rq.index() as u32, view.place(rq).0);
        self.aged[dir].push_back(rq);
    }

    fn merge_req(&mut self, view: &View<'_>, _into: RequestId, victim: RequestId) {
        self.leave(view.rq(victim).dir(), victim);
    }

    fn merge_bio(&mut self, _view: &View<'_>, bio: &Bio) -> MergeBio {
        let (found, _) = self.sorted[bio.dir()].find(bio.end());
        found.map_or(MergeBio::No, |index| MergeBio::Into(RequestId::from_index(index), End::Front))
    }

    fn dispatch_req(&mut self, _view: &View<'_>) -> Option<RequestId> {
        if let Some(rq) = self.first.pop_front() {
            return Some(rq);
        }
        let (dir, rq) = match self.next.filter(|_| self.taken < BATCH) {
            Some(next) => next,
            None => {
                let dir = self.direction()?;
                self.taken = 0;
                (dir, self.aged[dir].head()?)
            }
        };
        self.next = Some((dir, rq));
        self.leave(dir, rq);
        self.taken += 1;
        Some(rq)
    }

    fn check(&self, requests: &Requests) {
        for dir in Dir::BOTH {
            self.sorted[dir].check();
            self.aged[dir].check(requests);
            assert_eq!(self.sorted[dir].len(), self.aged[dir].len());
        }
    }
}
