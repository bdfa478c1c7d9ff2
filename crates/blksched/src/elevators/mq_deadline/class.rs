//! The priority classes: which one a request belongs to, and what is kept for each.
//!
//! **Rule** Real time, best effort and idle. A process that never set a class counts as best effort (but does not merge
//! with it). The level within a class does nothing. A class is *busy* from the moment a request of it comes until the
//! last one is back from the device: requests in flight count.
//! **Origin** docs/behaviour/elevators-6.1.md#mq-deadline "State".
//! **Costs when wrong** Counting queued requests only would let a lower class in whenever the higher one waits for the
//! device.
//! **In the kernel** `dd_per_prio`, `ioprio_class_to_prio`, `io_stats_per_prio`, `dd_queued`, `deadline_fifo_request`.

#![doc(alias = "dd_per_prio")]
#![doc(alias = "ioprio_class_to_prio")]
#![doc(alias = "io_stats_per_prio")]
#![doc(alias = "dd_queued")]
#![doc(alias = "deadline_fifo_request")]

use core::ops::{Index, IndexMut};

use super::position::Position;
use crate::elevators::deadline::Fifo;
use crate::elevators::ioprio::IoprioClass;
use crate::index::Tree;
use crate::request::{Dir, PerDir, RequestId, Sector};

/// One `T` per class.
#[derive(Debug)]
pub(super) struct PerClass<T>([T; 3]);

impl<T> PerClass<T> {
    pub(super) fn from_fn(make: impl Fn() -> T) -> PerClass<T> {
        PerClass(core::array::from_fn(|_| make()))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }
}

impl<T> Index<IoprioClass> for PerClass<T> {
    type Output = T;
    fn index(&self, class: IoprioClass) -> &T {
        &self.0[class as usize]
    }
}

impl<T> IndexMut<IoprioClass> for PerClass<T> {
    fn index_mut(&mut self, class: IoprioClass) -> &mut T {
        &mut self.0[class as usize]
    }
}

/// The request with which a direction goes on, kept while the order changes, so that it is not looked up for each
/// request of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum First {
    /// To be looked up.
    #[default]
    Unknown,
    /// This one, if any.
    Known(Option<RequestId>),
}

/// One class's requests.
#[derive(Debug)]
pub(super) struct ClassQueue {
    pub(super) sorted: PerDir<Tree<Sector>>,
    pub(super) aged: PerDir<Fifo>,
    /// Where each direction goes on.
    pub(super) position: PerDir<Position>,
    /// What that comes to at this moment.
    pub(super) first: PerDir<First>,
    /// Requests queued or in flight.
    pub(super) unfinished: u32,
}

impl ClassQueue {
    /// Nothing queued; `position`: what is remembered before anything was taken.
    pub(super) fn new(position: Position) -> ClassQueue {
        ClassQueue {
            sorted: PerDir::default(),
            aged: PerDir::default(),
            position: PerDir { read: position, write: position },
            first: PerDir::default(),
            unfinished: 0,
        }
    }

    /// The request with which a direction goes on.
    #[inline(always)]
    pub(super) fn next(&mut self, dir: Dir) -> Option<RequestId> {
        if let First::Known(first) = self.first[dir] {
            return first;
        }
        let first = self.position[dir].request(&self.sorted[dir]);
        self.first[dir] = First::Known(first);
        first
    }

    /// The direction goes on from there.
    pub(super) fn goes_on_from(&mut self, dir: Dir, start: Sector) {
        self.position[dir].goes_on_from(start);
        self.first[dir] = First::Unknown;
    }

    /// `rq` comes into the order.
    #[inline(always)]
    pub(super) fn sort(&mut self, dir: Dir, rq: RequestId, start: Sector) {
        self.sorted[dir].insert(rq.index() as u32, start);
        let First::Known(first) = self.first[dir] else { return };
        // Equals stand in the order in which they came.
        let is_first = first.is_none_or(|first| start < self.sorted[dir].key(first.index() as u32));
        if is_first && self.position[dir].admits(start) {
            self.first[dir] = First::Known(Some(rq));
        }
    }

    pub(super) fn has(&self, dir: Dir) -> bool {
        self.aged[dir].head().is_some()
    }

    /// How many are queued.
    pub(super) fn len(&self) -> u32 {
        self.sorted.read.len() + self.sorted.write.len()
    }

    pub(super) fn is_busy(&self) -> bool {
        self.unfinished > 0
    }

    /// `rq` is chosen: the direction would go on behind it.
    #[inline(always)]
    pub(super) fn take(&mut self, dir: Dir, rq: RequestId) {
        // A request that begins at the same sector as the first of all does not stand before it.
        let was_first = self.first[dir] == First::Known(Some(rq));
        let behind = self.position[dir].took(&self.sorted[dir], rq);
        self.drop(dir, rq);
        self.first[dir] = if was_first { First::Known(behind) } else { First::Unknown };
    }

    /// `rq` leaves both orders.
    #[inline(always)]
    pub(super) fn drop(&mut self, dir: Dir, rq: RequestId) {
        self.first[dir] = First::Unknown;
        self.sorted[dir].remove(rq.index() as u32);
        self.aged[dir].list.remove(rq);
    }

    pub(super) fn check(&self, requests: &crate::request::Requests) {
        for dir in Dir::BOTH {
            self.sorted[dir].check();
            self.aged[dir].check(requests);
            assert_eq!(self.sorted[dir].len(), self.aged[dir].list.len());
            self.position[dir].check(&self.sorted[dir]);
            if let First::Known(first) = self.first[dir] {
                assert_eq!(first, self.position[dir].request(&self.sorted[dir]));
            }
        }
        assert!(self.unfinished >= self.sorted.read.len() + self.sorted.write.len());
    }
}
