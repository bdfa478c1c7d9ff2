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
use crate::time::{Instant, Span};

/// A flush that has waited this long is sent, whatever is in flight.
const PATIENCE: Span = Span::from_secs(5);

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
    steps: Table<SequenceStep>,
    /// The requests that wait for the next flush, and since when.
    pending: Vec<(Instant, RequestId)>,
    /// The flush in flight, and the requests that it serves.
    running: Option<RequestId>,
    served: Vec<RequestId>,
    /// The flush, until the kernel's worker has put it on the dispatch list.
    left_to_worker: Option<RequestId>,
    data_in_flight: u32,
}

impl Sequences {
    /// Whether a flush is left to the kernel's worker.
    pub(super) fn need_worker(&self) -> bool {
        self.left_to_worker.is_some()
    }

    /// The flush is left to the kernel's worker.
    pub(super) fn leave_to_worker(&mut self, flush: RequestId) {
        self.left_to_worker = Some(flush);
    }

    /// The worker takes the flush that was left to it.
    pub(super) fn taken_by_worker(&mut self) -> Option<RequestId> {
        self.left_to_worker.take()
    }

    /// `rq`'s data is sent.
    pub(super) fn data_begins(&mut self, rq: RequestId, counted: Counted, way: SequenceWay) {
        self.data_in_flight += u32::from(counted == Counted::Yes);
        *self.steps.row(rq) = SequenceStep::Data(counted, way);
    }

    /// Whether it is the data of a sequence that `rq` has just ended.
    pub(super) fn data_ended(&mut self, rq: RequestId) -> bool {
        let SequenceStep::Data(counted, _) = self.step_ended(rq) else { return false };
        self.data_in_flight -= u32::from(counted == Counted::Yes);
        true
    }

    /// The step that `rq` has ended; it is in none now.
    pub(super) fn step_ended(&mut self, rq: RequestId) -> SequenceStep {
        core::mem::take(self.steps.row(rq))
    }

    /// `rq` waits for the next flush.
    pub(super) fn wait(&mut self, rq: RequestId, step: SequenceStep, now: Instant) {
        *self.steps.row(rq) = step;
        self.pending.push((now, rq));
    }

    /// Whether a flush is to be sent now.
    pub(super) fn is_flush_due(&self, now: Instant) -> bool {
        let Some(&(oldest, _)) = self.pending.first() else { return false };
        // Data that is about to complete would need another flush; but a stream of such data must not put the flush
        // off for ever.
        self.running.is_none() && (self.data_in_flight == 0 || now.since(oldest) >= PATIENCE)
    }

    /// One flush serves all that wait; returns how many. Those that arrive while it runs wait for the next, because
    /// their data may have completed after it was sent.
    pub(super) fn serve(&mut self) -> u32 {
        self.served.extend(self.pending.drain(..).map(|(_, rq)| rq));
        self.served.len() as u32
    }

    /// `flush` is sent for what is served.
    pub(super) fn flush_begins(&mut self, flush: RequestId) {
        self.running = Some(flush);
    }

    /// The flush has completed: what it served, to be [returned](Self::keep) empty.
    pub(super) fn flush_ended(&mut self, flush: RequestId) -> Vec<RequestId> {
        assert_eq!(self.running.take(), Some(flush));
        core::mem::take(&mut self.served)
    }

    /// Keeps the allocation for the next flush.
    pub(super) fn keep(&mut self, emptied: Vec<RequestId>) {
        self.served = emptied;
    }

    /// Whether `rq` went to the device without the elevator.
    pub(super) fn passed_by(&self, rq: RequestId) -> bool {
        matches!(self.steps.get(rq), Some(SequenceStep::Data(_, SequenceWay::Bypass)))
    }
}
