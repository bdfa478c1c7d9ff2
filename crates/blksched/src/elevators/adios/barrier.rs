//! Barriers: a discard, and everything behind it, waits until all earlier requests have been dispatched.
//!
//! **Rule** The barrier is meant for flushes, which never reach the scheduler; the test checks a bit of the operation's
//! number that discards also have. It waits for dispatch, not for completion; nothing merges meanwhile.
//! **Origin** docs/behaviour/adios-3.1.md#a4, #a6 and #a13, traps 4 and 5. Version 3.2 has fixed it; here it is kept.

use crate::index::List;
use crate::request::{Op, RequestId};

/// The requests held back, and the state of the barrier.
#[derive(Debug, Default)]
pub(super) struct Barrier {
    list: List,
    state: BarrierState,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum BarrierState {
    /// Nothing holds requests back.
    #[default]
    Open,
    /// Requests wait here.
    Pending,
    /// A barrier was dispatched; the requests behind it are being inserted into the order.
    Releasing,
}

/// Whether an operation holds back everything behind it.
pub(super) fn is_barrier(op: Op) -> bool {
    op == Op::Discard
}

impl Barrier {
    pub(super) fn is_pending(&self) -> bool {
        self.state == BarrierState::Pending
    }

    /// Whether a request of the list is being inserted again.
    pub(super) fn is_releasing(&self) -> bool {
        self.state == BarrierState::Releasing
    }

    pub(super) fn hold(&mut self, rq: RequestId) {
        self.list.push_back(rq);
        self.state = BarrierState::Pending;
    }

    /// Releases the barrier itself, once everything before it has been dispatched.
    pub(super) fn release(&mut self) -> Option<RequestId> {
        let barrier = self.list.pop_front()?;
        self.state = BarrierState::Releasing;
        Some(barrier)
    }

    /// The next request that the dispatched barrier held back, up to the next barrier.
    pub(super) fn next_released(&mut self, is_barrier: impl Fn(RequestId) -> bool) -> Option<RequestId> {
        let next = self.list.head().filter(|&rq| !is_barrier(rq));
        match next {
            Some(rq) => self.list.remove(rq),
            None => self.state = if self.list.is_empty() { BarrierState::Open } else { BarrierState::Pending },
        }
        next
    }

    pub(super) fn check(&self, requests: &crate::request::Requests) {
        self.list.check(requests);
        assert!(self.list.is_empty() || self.state != BarrierState::Open, "requests wait behind no barrier");
    }
}
