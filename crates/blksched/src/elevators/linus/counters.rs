//! How often each request may still be passed.
//!
//! **Rule** A counter is only ever lowered, and may become negative. At 0 or below the request is a wall: no new
//! request is inserted before it. When one request absorbs another, the smaller counter is kept.
//! **Origin** docs/behaviour/elevator-linus.md#k1, #k2 and #k6.
//! **In the kernel** `elevator_sequence`.

use crate::index::List;
use crate::request::{RequestId, Table};

/// A counter per queued request.
#[derive(Debug, Default)]
pub(super) struct Counters {
    left: Table<i32>,
}

impl Counters {
    /// Sets the counter of a new request.
    pub(super) fn start(&mut self, rq: RequestId, left: i32) {
        *self.left.row(rq) = left;
    }

    pub(super) fn left(&self, rq: RequestId) -> i32 {
        self.left[rq]
    }

    /// Whether no request may pass it any more.
    pub(super) fn is_wall(&self, rq: RequestId) -> bool {
        self.left[rq] <= 0
    }

    pub(super) fn lower(&mut self, rq: RequestId, by: i32) {
        self.left[rq] = self.left[rq].saturating_sub(by);
    }

    /// Lowers the counters of all requests behind `rq`.
    pub(super) fn lower_behind(&mut self, list: &List, rq: RequestId, by: i32) {
        let mut at = list.behind(rq);
        while let Some(behind) = at {
            self.lower(behind, by);
            at = list.behind(behind);
        }
    }

    /// Lowers the counters of all requests from the last up to `rq`.
    pub(super) fn lower_from_tail(&mut self, list: &List, rq: RequestId, by: i32) {
        self.lower(rq, by);
        self.lower_behind(list, rq, by);
    }

    /// Gives `into`, which absorbs `victim`, the smaller of their counters.
    pub(super) fn inherit(&mut self, into: RequestId, victim: RequestId) {
        self.left[into] = self.left[into].min(self.left[victim]);
    }

    /// The smallest counter on the list.
    pub(super) fn least(&self, list: &List) -> Option<i32> {
        list.iter().map(|rq| self.left[rq]).min()
    }
}
