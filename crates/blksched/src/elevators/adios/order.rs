//! The orders by deadline: one for reads, one for the rest.
//!
//! **Rule** A request with REQ_SYNC is due at once, another after its kind's target and its predicted cost. Deadlines
//! count in groups of 2^20 ns; within a group first come, first served.
//! **Origin** docs/behaviour/adios-3.1.md#a4, #a5 and #a13, trap 1: the flag decides, not the direction, and an
//! ordinary read does not carry it.

use super::kind::{Kind, PerKind, Side};
use super::tunables::AdiosTunables;
use crate::index::Tree;
use crate::request::{Request, RequestId};

/// The data kept for each request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row {
    pub(super) kind: Kind,
    /// Its length when it was inserted.
    pub(super) bytes: u32,
    /// Its predicted cost at that time \[ns\].
    pub(super) predicted: u64,
    /// When it is due \[ns\].
    pub(super) deadline: u64,
    /// When the device got it \[ns\].
    pub(super) started: u64,
}

/// The two orders.
#[derive(Debug, Default)]
pub(super) struct TwoOrders {
    reads: Tree<u64>,
    others: Tree<u64>,
}

/// The group of deadlines, which count as equal, that this one belongs to.
fn group(deadline: u64) -> u64 {
    deadline & !((1 << 20) - 1)
}

/// The latency target of each kind \[ns\].
pub(super) fn targets(tunables: &AdiosTunables) -> PerKind<u64> {
    PerKind::from_fn(|kind| match kind {
        Kind::Read => tunables.lat_target_read.as_ns(),
        Kind::Write => tunables.lat_target_write.as_ns(),
        Kind::Discard => tunables.lat_target_discard.as_ns(),
        Kind::Other => 0,
    })
}

/// When a request is due \[ns\].
pub(super) fn deadline(request: &Request, row: &Row, tunables: &AdiosTunables) -> u64 {
    let start = request.queued_at.as_ns();
    if request.hints.req_sync {
        return start;
    }
    let predicted = if tunables.counts_predictions() { row.predicted } else { 0 };
    start.wrapping_add(targets(tunables)[row.kind]).wrapping_add(predicted)
}

impl TwoOrders {
    fn tree(&self, side: Side) -> &Tree<u64> {
        match side {
            Side::Reads => &self.reads,
            Side::Others => &self.others,
        }
    }

    fn tree_mut(&mut self, side: Side) -> &mut Tree<u64> {
        match side {
            Side::Reads => &mut self.reads,
            Side::Others => &mut self.others,
        }
    }

    pub(super) fn put(&mut self, rq: RequestId, row: &Row) {
        self.tree_mut(row.kind.side()).insert(rq.index() as u32, group(row.deadline));
    }

    pub(super) fn remove(&mut self, rq: RequestId, kind: Kind) {
        self.tree_mut(kind.side()).remove(rq.index() as u32);
    }

    /// The request that is due first.
    pub(super) fn first(&self, side: Side) -> Option<RequestId> {
        self.tree(side).first().map(RequestId::from_index)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.others.is_empty()
    }

    pub(super) fn check(&self) {
        self.reads.check();
        self.others.check();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_of_one_group_are_first_come_first_served() {
        let mut order = TwoOrders::default();
        let row = |deadline| Row { deadline, ..Row::default() };
        order.put(RequestId::from_index(1), &row((1 << 20) + 900));
        order.put(RequestId::from_index(2), &row((1 << 20) + 5));
        order.put(RequestId::from_index(3), &row((1 << 20) - 1));
        let first = [3, 1, 2].map(|expected| {
            let first = order.first(Side::Reads).unwrap();
            order.remove(first, Kind::Read);
            (first, RequestId::from_index(expected))
        });
        assert!(first.iter().all(|(first, expected)| first == expected), "{first:?}");
        assert!(order.is_empty());
    }
}
