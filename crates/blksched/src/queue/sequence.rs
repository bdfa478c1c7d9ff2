//! blk-mq's flush machine: writes that must be stable, by version.
//!
//! **Rule** Each such request holds its slot from start to end and takes up to three steps: a flush before it, its
//! data, a flush after it (if the device cannot write through). One flush is in flight at a time; it serves all that
//! wait when it is sent, goes ahead of everything, and is not sent while data of a sequence is in flight, unless one
//! has waited five seconds. It is sent by a worker (kblockd), so that a bio submitted before the worker runs is ahead
//! of it. In 6.1 the data bypasses the elevator: written through, it goes to the tail of the dispatch list, otherwise
//! to its head. Since 6.12 it goes through the elevator; after a flush it is inserted at the head.
//! **Origin** docs/behaviour/blk-mq-6.x.md#f; not recorded.
//! **In the kernel** `blk_flush_queue`, `blk_flush_complete_seq`, `blk_kick_flush`, `flush_pending_idx`,
//! `flush_data_in_flight`.

use alloc::vec::Vec;

use crate::request::{RequestId, Table};
use crate::time::Instant;

/// The stage of a request in its sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SequenceStep {
    /// It is in no sequence.
    #[default]
    None,
    /// It waits for the flush before its data.
    Before,
    /// Its data is in flight. `Counted` data prevents flushes from being sent.
    Data(Counted, SequenceWay),
    /// It waits for the flush after its data.
    After,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    Yes,
    No,
}

/// Whether a sequence's data goes through the elevator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SequenceWay {
    Elevator,
    Bypass,
}

/// The sequences of a queue.
#[derive(Debug, Default)]
pub(super) struct Sequences {
    pub(super) steps: Table<SequenceStep>,
    /// The requests that wait for the next flush, and since when.
    pub(super) pending: Vec<(Instant, RequestId)>,
    /// The flush in flight, and the requests that it serves.
    pub(super) running: Option<RequestId>,
    pub(super) served: Vec<RequestId>,
    /// The flush, until the kernel's worker has put it on the dispatch list.
    pub(super) left_to_worker: Option<RequestId>,
    pub(super) data_in_flight: u32,
}

impl Sequences {
    /// Whether `rq` went to the device without the elevator.
    pub(super) fn passed_by(&self, rq: RequestId) -> bool {
        matches!(self.steps.get(rq), Some(SequenceStep::Data(_, SequenceWay::Bypass)))
    }
}
