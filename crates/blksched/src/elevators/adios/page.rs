//! A batch: the requests selected together, in four lists.
//!
//! **Rule** Two pages; one is served while the other is filled. Lists by kind (`batch_order` 0), or those due at once,
//! then the others in sector order (`batch_order` 1), up or down from where the head is.
//! **Origin** docs/behaviour/adios-3.1.md#a2 and #a6.

use alloc::collections::VecDeque;

use super::kind::{Kind, PerKind};
use crate::request::{RequestId, Sector};

/// How a page's requests are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum BatchOrder {
    /// Reads, writes, discards, others, each by deadline.
    #[default]
    ByKind,
    /// Those due at once, then the others by sector, then those of kind `Other`.
    BySector,
}

/// The direction in which the sorted list is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Direction {
    #[default]
    Up,
    Down,
}

/// A request on a page.
#[derive(Clone, Copy, Debug)]
struct PagedRequest {
    start: Sector,
    nth: u32,
    rq: RequestId,
}

/// The list that `BySector` sorts.
const SORTED: usize = 1;

/// One of the two pages.
#[derive(Debug, Default)]
pub(super) struct Page {
    lists: [VecDeque<PagedRequest>; 4],
    order: BatchOrder,
    /// The number of requests of each kind with which it was filled.
    pub(super) filled: PerKind<u32>,
}

impl Page {
    pub(super) fn begin(&mut self, order: BatchOrder) {
        assert!(self.is_empty(), "a page is filled that is not empty");
        self.order = order;
        self.filled = PerKind::default();
    }

    /// Adds a request. `due_at_once`: its deadline is the time of its creation.
    pub(super) fn put(&mut self, rq: RequestId, start: Sector, kind: Kind, due_at_once: bool) {
        let list = match (self.order, kind) {
            (BatchOrder::ByKind, _) => kind as usize,
            (BatchOrder::BySector, Kind::Other) => 3,
            (BatchOrder::BySector, _) if due_at_once => 0,
            (BatchOrder::BySector, _) => SORTED,
        };
        let list = &mut self.lists[list];
        list.push_back(PagedRequest { start, nth: list.len() as u32, rq });
        self.filled[kind] += 1;
    }

    /// Ends the filling. Whether the list is sorted depends on the number of all writes of the page, including those
    /// due at once.
    pub(super) fn end(&mut self) {
        if self.order == BatchOrder::BySector && self.filled[Kind::Write] > 1 {
            self.lists[SORTED].make_contiguous().sort_unstable_by_key(|place| (place.start, place.nth));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lists.iter().all(VecDeque::is_empty)
    }

    /// Up or down, depending on which end of the sorted list is nearer.
    pub(super) fn direction(&self, head: Sector) -> Direction {
        let sorted = &self.lists[SORTED];
        match (self.order, sorted.front(), sorted.back()) {
            (BatchOrder::BySector, Some(first), Some(last)) if head.0 > middle(first.start.0, last.start.0) => {
                Direction::Down
            }
            _ => Direction::Up,
        }
    }

    /// The next request.
    pub(super) fn take(&mut self, direction: Direction) -> Option<RequestId> {
        let list = self.lists.iter().position(|list| !list.is_empty())?;
        let from_behind = self.order == BatchOrder::BySector && list == SORTED && direction == Direction::Down;
        let list = &mut self.lists[list];
        let place = if from_behind { list.pop_back() } else { list.pop_front() };
        place.map(|place| place.rq)
    }

    pub(super) fn len(&self) -> usize {
        self.lists.iter().map(VecDeque::len).sum()
    }
}

fn middle(first: u64, last: u64) -> u64 {
    first.wrapping_add(last) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(starts: &[u64]) -> Page {
        let mut page = Page::default();
        page.begin(BatchOrder::BySector);
        for (nth, &start) in (0..).zip(starts) {
            page.put(RequestId::from_index(nth), Sector(start), Kind::Write, false);
        }
        page.end();
        page
    }

    #[test]
    fn the_sorted_list_is_served_from_its_nearer_end() {
        let mut up = page(&[80, 10, 40]);
        assert_eq!(up.direction(Sector(45)), Direction::Up);
        assert_eq!(up.take(Direction::Up), Some(RequestId::from_index(1)));
        let mut down = page(&[80, 10, 40]);
        assert_eq!(down.direction(Sector(46)), Direction::Down);
        assert_eq!(down.take(Direction::Down), Some(RequestId::from_index(0)));
        assert_eq!(down.len(), 2);
    }

    #[test]
    fn by_kind_all_reads_go_first_wherever_they_lie() {
        let mut page = Page::default();
        page.begin(BatchOrder::ByKind);
        page.put(RequestId::from_index(0), Sector(0), Kind::Write, true);
        page.put(RequestId::from_index(1), Sector(900), Kind::Read, false);
        page.end();
        assert_eq!(page.take(Direction::Down), Some(RequestId::from_index(1)));
        assert_eq!(page.direction(Sector(1)), Direction::Up);
    }
}
