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
use crate::index::{Steps, Tree};
use crate::request::{Dir, PerDir, RequestId, Sector};
use crate::time::Tick;

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

/// One direction's requests of a class, in their two orders.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) sorted: Tree<Sector>,
    pub(super) aged: Fifo,
    /// Where it goes on.
    pub(super) position: Position,
    /// What that comes to at this moment, and where that request begins.
    first: First,
    first_at: Sector,
}

/// One class's requests.
#[derive(Debug)]
pub(super) struct ClassQueue {
    pub(super) lanes: PerDir<Lane>,
    /// Requests queued or in flight.
    pub(super) unfinished: u32,
}

impl ClassQueue {
    /// Nothing queued; `position`: what is remembered before anything was taken.
    pub(super) fn new(position: Position) -> ClassQueue {
        let lane = |_| Lane {
            sorted: Tree::new(),
            aged: Fifo::default(),
            position,
            first: First::Unknown,
            first_at: Sector(0),
        };
        ClassQueue { lanes: PerDir::from_fn(lane), unfinished: 0 }
    }

    /// How many are queued.
    pub(super) fn len(&self) -> u32 {
        self.lanes.read.sorted.len() + self.lanes.write.sorted.len()
    }

    pub(super) fn is_busy(&self) -> bool {
        self.unfinished > 0
    }

    pub(super) fn check(&self, requests: &crate::request::Requests) {
        for dir in Dir::BOTH {
            let Lane { sorted, aged, position, first, first_at } = &self.lanes[dir];
            sorted.check();
            aged.check(requests);
            assert_eq!(sorted.len(), aged.len());
            position.check(sorted);
            if let First::Known(first) = *first {
                assert_eq!(first, position.request(sorted));
                assert!(first.is_none_or(|first| sorted.key(first.index() as u32) == *first_at));
            }
        }
        assert!(self.unfinished >= self.len());
    }
}

impl Lane {
    /// The request with which the direction goes on.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<RequestId> {
        match self.first {
            First::Known(first) => first,
            First::Unknown => self.look_up_next(),
        }
    }

    #[inline(never)]
    fn look_up_next(&mut self) -> Option<RequestId> {
        let first = self.position.request(&self.sorted);
        self.knows(first);
        first
    }

    #[inline(always)]
    fn knows(&mut self, first: Option<RequestId>) {
        self.first = First::Known(first);
        if let Some(first) = first {
            self.first_at = self.sorted.key(first.index() as u32);
        }
    }

    /// The direction goes on from there.
    pub(super) fn goes_on_from(&mut self, start: Sector) {
        self.position.goes_on_from(start);
        self.first = First::Unknown;
    }

    /// `rq` comes into both orders.
    #[inline(always)]
    pub(super) fn insert(&mut self, rq: RequestId, start: Sector, expires: Tick) {
        self.aged.push(rq, expires);
        self.sorted.insert_counting(rq.index() as u32, start, Steps::Uncounted);
        let First::Known(first) = self.first else { return };
        // Equals stand in the order in which they came.
        let is_first = first.is_none() || start < self.first_at;
        if is_first && self.position.admits(start) {
            (self.first, self.first_at) = (First::Known(Some(rq)), start);
        }
    }

    #[inline(always)]
    pub(super) fn has_any(&self) -> bool {
        self.aged.head().is_some()
    }

    /// `rq` is chosen: the direction would go on behind it.
    #[inline(always)]
    pub(super) fn take(&mut self, rq: RequestId) {
        // A request that begins at the same sector as the first of all does not stand before it.
        let was_first = self.first == First::Known(Some(rq));
        let behind = self.position.took(&self.sorted, rq);
        self.drop(rq);
        if was_first {
            self.knows(behind);
        }
    }

    /// `rq` leaves both orders.
    #[inline(always)]
    pub(super) fn drop(&mut self, rq: RequestId) {
        self.first = First::Unknown;
        self.sorted.remove(rq.index() as u32);
        self.aged.remove(rq);
    }

    /// `rq` starts at `start` now.
    pub(super) fn move_in_order(&mut self, rq: RequestId, start: Sector) {
        self.first = First::Unknown;
        self.sorted.remove(rq.index() as u32);
        self.sorted.insert_counting(rq.index() as u32, start, Steps::Uncounted);
    }
}
