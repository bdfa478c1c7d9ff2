//! The dispatch list: requests already dispatched by the elevator but not yet issued, as a one-way elevator from the
//! arm's position.
//!
//! **Rule** A new entry goes behind the last one of its direction that the arm passes earlier: first those at or beyond
//! the end of the request taken last, then those before it, each group upward. Entries of the other direction are never
//! passed. A request that the device returned goes before all of them.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#e9: CFQ and the anticipatory scheduler of 2.6 (deadline appends
//! instead). It holds more than one request only after aliases were forced out.
//! **In the kernel** `elv_dispatch_sort`, `elv_dispatch_add_tail`, `elv_next_request`.

use crate::elevator::Cx;
use crate::index::List;
use crate::request::{RequestId, Requests, Sector};

/// Requests on their way to the device.
#[derive(Debug, Default)]
pub(super) struct SortedDispatch {
    handed_back: List,
    sorted: List,
    /// The end of the request taken last.
    arm: Sector,
}

impl SortedDispatch {
    /// Reserves room for requests up to this slot.
    pub(super) fn reserve(&mut self, slots: usize) {
        self.handed_back.reserve(slots);
        self.sorted.reserve(slots);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.handed_back.is_empty() && self.sorted.is_empty()
    }

    /// Inserts `rq`.
    pub(super) fn insert(&mut self, cx: &Cx<'_>, rq: RequestId) {
        let (dir, start) = (cx.rq(rq).dir(), cx.rq(rq).start);
        let mut at = self.sorted.tail();
        while let Some(entry) = at.filter(|&entry| cx.rq(entry).dir() == dir) {
            if goes_behind(start, cx.rq(entry).start, self.arm) {
                break;
            }
            at = self.sorted.before(entry);
        }
        match at {
            Some(entry) => self.sorted.insert_after(entry, rq),
            None => self.sorted.push_front(rq),
        }
    }

    /// Notes that a request that ends there goes to the device: the one taken last, or one dispatched directly while
    /// this list was empty.
    #[inline]
    pub(super) fn arm_is_at(&mut self, end: Sector) {
        self.arm = end;
    }

    /// Puts back `rq`, which the device returned untried.
    pub(super) fn hand_back(&mut self, rq: RequestId) {
        self.handed_back.push_front(rq);
    }

    /// The next request for the device.
    pub(super) fn take(&mut self, cx: &Cx<'_>) -> Option<RequestId> {
        let rq = self.handed_back.pop_front().or_else(|| self.sorted.pop_front())?;
        self.arm = cx.rq(rq).end();
        Some(rq)
    }

    pub(super) fn check(&self, requests: &Requests) {
        self.handed_back.check(requests);
        self.sorted.check(requests);
    }
}

/// Whether the arm, moving upward from `arm` and then from 0, passes `entry` before `start`.
fn goes_behind(start: Sector, entry: Sector, arm: Sector) -> bool {
    match (start >= arm, entry >= arm) {
        (true, false) => false,
        (false, true) => true,
        _ => start >= entry,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_ahead_of_the_arm_goes_before_what_lies_behind_it() {
        let behind = |start, entry| goes_behind(Sector(start), Sector(entry), Sector(100));
        assert!(behind(50, 150) && !behind(150, 50));
    }

    #[test]
    fn on_one_side_of_the_arm_lower_sectors_go_first_and_equals_in_order_of_arrival() {
        let behind = |start, entry| goes_behind(Sector(start), Sector(entry), Sector(100));
        assert!(behind(160, 150) && !behind(140, 150) && behind(150, 150));
        assert!(behind(60, 50) && !behind(40, 50));
    }
}
