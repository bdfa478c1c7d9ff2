//! The requests already chosen, in a one-way sweep from where the driver stands.
//!
//! **Rule** From the tail, stop at a request of the other direction; otherwise keep requests ahead of the driver before
//! those behind it, each sorted by sector. It holds more than one request only after aliases were forced out and after
//! the device handed some back; those go first.
//! **Origin** note E9.

use crate::elevator::Cx;
use crate::index::List;
use crate::request::{RequestId, Sector};

/// What the driver takes next.
#[derive(Clone, Debug, Default)]
pub(super) struct ChosenList {
    list: List,
    /// Behind the last request that the driver took.
    boundary: Sector,
}

impl ChosenList {
    pub(super) fn reserve(&mut self, slots: usize) {
        self.list.reserve(slots);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn sort_in(&mut self, cx: &Cx<'_>, rq: RequestId) {
        let (start, dir) = (cx.rq(rq).start, cx.rq(rq).dir());
        let goes_before = |other: RequestId| {
            let theirs = cx.rq(other).start;
            if cx.rq(other).dir() != dir {
                return false;
            }
            match (start >= self.boundary, theirs >= self.boundary) {
                (true, false) => true,
                (false, true) => false,
                _ => start < theirs,
            }
        };
        let mut at = self.list.tail();
        while let Some(other) = at.filter(|&other| goes_before(other)) {
            at = self.list.before(other);
        }
        match at {
            Some(at) => self.list.insert_after(at, rq),
            None => self.list.push_front(rq),
        }
    }

    pub(super) fn pop(&mut self, cx: &Cx<'_>) -> Option<RequestId> {
        let rq = self.list.pop_front()?;
        self.boundary = cx.rq(rq).end();
        Some(rq)
    }

    /// The device handed it back: it goes first.
    pub(super) fn push_front(&mut self, rq: RequestId) {
        self.list.push_front(rq);
    }
}
