//! The priority classes: which one a request belongs to, and the state of each.
//!
//! **Rule** Real time, best effort and idle. A process that never set a class counts as best effort (but does not merge
//! with it). The level within a class has no effect. A class is *busy* from the arrival of a request until its last one
//! completes: requests in flight count. In 5.15 the first class with a request *queued* is served. Until 5.10 nothing
//! reads the class, and all requests are of one.
//! **Origin** docs/behaviour/elevators-6.1.md#mq-deadline "State"; docs/behaviour/elevators-4.19-5.15.md#m1 and #m3.
//! **Costs when wrong** If only queued requests counted, a lower class would be served whenever the higher one waits
//! for the device.
//! **In the kernel** `dd_per_prio`, `ioprio_class_to_prio`, `io_stats_per_prio`, `dd_queued`, `deadline_fifo_request`,
//! `dd_rq_ioclass`.

use core::ops::{Index, IndexMut};

use super::position::Position;
use crate::elevators::deadline::Fifo;
use crate::elevators::ioprio::IoprioClass;
use crate::index::{Steps, Tree};
use crate::mechanism;
use crate::request::{Dir, PerDir, Priority, RequestId, Sector};
use crate::time::Tick;

mechanism! {
    /// which classes hold lower ones back
    pub enum Classes = "classes" {
        /// there are none: 5.10 and earlier
        One = "one",
        /// those with a request queued: 5.15
        Queued = "queued",
        /// those with a request unfinished, if only in the device: 6.1 and later
        Unfinished = "unfinished",
    }
}

impl Classes {
    /// The class of a request with this priority.
    #[inline(always)]
    pub(super) fn of(self, priority: Priority) -> IoprioClass {
        if self == Classes::One { IoprioClass::BestEffort } else { IoprioClass::of(priority) }
    }
}

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

/// The request with which a direction continues, cached while the order changes, so that it need not be looked up for
/// each request of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum First {
    /// To be looked up.
    #[default]
    Unknown,
    /// This one, if any.
    Known(Option<RequestId>),
}

/// One direction's requests of a class, by sector and by age.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) sorted: Tree<Sector>,
    pub(super) aged: Fifo,
    /// Where it continues.
    pub(super) position: Position,
    /// What that comes to at this moment.
    first: First,
}

/// One class's requests.
#[derive(Debug)]
pub(super) struct ClassQueue {
    pub(super) lanes: PerDir<Lane>,
    /// The number of requests queued or in flight.
    pub(super) unfinished: u32,
}

impl ClassQueue {
    /// An empty class; `position`: the position before anything was taken.
    pub(super) fn new(position: Position) -> ClassQueue {
        let lane = |_| Lane { sorted: Tree::new(), aged: Fifo::default(), position, first: First::Unknown };
        ClassQueue { lanes: PerDir::from_fn(lane), unfinished: 0 }
    }

    /// The number of queued requests.
    pub(super) fn len(&self) -> u32 {
        self.lanes.read.sorted.len() + self.lanes.write.sorted.len()
    }

    pub(super) fn is_busy(&self) -> bool {
        self.unfinished > 0
    }

    pub(super) fn check(&self, requests: &crate::request::Requests) {
        for dir in Dir::BOTH {
            let Lane { sorted, aged, position, first } = &self.lanes[dir];
            sorted.check();
            aged.check(requests);
            assert_eq!(sorted.len(), aged.len());
            position.check(sorted);
            if let First::Known(first) = *first {
                assert_eq!(first, position.request(sorted));
            }
        }
        assert!(self.unfinished >= self.len());
    }
}

impl Lane {
    /// The request with which the direction continues.
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
        self.first = First::Known(first);
        first
    }

    /// Lets the direction continue with its oldest request.
    pub(super) fn forgets_next(&mut self) {
        self.position.forget();
        self.first = First::Unknown;
    }

    /// Lets the direction continue from `start`.
    pub(super) fn goes_on_from(&mut self, start: Sector) {
        self.position.goes_on_from(start);
        self.first = First::Unknown;
    }

    /// Inserts `rq` into both orders.
    #[inline(always)]
    pub(super) fn insert(&mut self, rq: RequestId, start: Sector, expires: Tick) {
        self.aged.push(rq, expires);
        self.sorted.insert_counting(rq.index() as u32, start, Steps::Uncounted);
        let First::Known(first) = self.first else { return };
        // Requests with equal starts keep their order of arrival.
        let is_first = first.is_none_or(|first| start < self.sorted.key(first.index() as u32));
        if is_first && self.position.admits(start) {
            self.first = First::Known(Some(rq));
        }
    }

    #[inline(always)]
    pub(super) fn has_any(&self) -> bool {
        self.aged.head().is_some()
    }

    /// Takes `rq`: the direction would continue after it.
    #[inline(always)]
    pub(super) fn take(&mut self, rq: RequestId) {
        // If `rq` was the first of all, the one after it is now; another with the same start is never before it.
        let was_first = self.first == First::Known(Some(rq));
        let start = self.sorted.key(rq.index() as u32);
        let behind = self.drop(rq);
        self.position.took(start, behind);
        if was_first {
            self.first = First::Known(behind);
        }
    }

    /// Removes `rq` from both orders; returns the request that was behind it.
    #[inline(always)]
    pub(super) fn drop(&mut self, rq: RequestId) -> Option<RequestId> {
        self.first = First::Unknown;
        let behind = self.sorted.remove(rq.index() as u32);
        self.aged.remove(rq);
        behind.map(RequestId::from_index)
    }

    /// Moves `rq`, which now starts at `start`, in sector order.
    pub(super) fn move_in_order(&mut self, rq: RequestId, start: Sector) {
        self.first = First::Unknown;
        self.sorted.remove(rq.index() as u32);
        self.sorted.insert_counting(rq.index() as u32, start, Steps::Uncounted);
    }
}
