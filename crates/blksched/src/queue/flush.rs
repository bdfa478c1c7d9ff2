//! Flushes: durability requirements on completions.
//!
//! **Rule** A flush makes everything stable that *completed* before it was sent; it waits for nothing else. A write
//! with `preflush` is sent after a flush; one with `fua` is written through, or followed by a flush if the device
//! cannot do that. One flush is in flight at a time; flush requests that arrive meanwhile share the next. A device
//! without a volatile cache needs none of this.
//! **Origin** 2.6.37 to blk-mq, whose flushes are in `sequence.rs`; before that, barriers drained the queue (not
//! implemented: no mail or recording needs them).
//! **In the kernel** `blk_insert_flush`, `blk_kick_flush`, `flush_end_io`, `flush_data_in_flight`.

use alloc::vec::Vec;

use crate::request::{Bio, Fragment, RequestId, Tag};

/// Something that waits for a flush.
#[derive(Clone, Copy, Debug)]
pub(super) enum FlushWaiter {
    /// A bare flush.
    Bare(Tag),
    /// A bio whose data is sent when the flush has completed.
    Before(Bio),
    /// Bios whose data is written, and which complete when the flush has completed.
    After(Fragment),
}

/// Requested flushes and the one in flight.
#[derive(Debug, Default)]
pub(super) struct Flushes {
    pending: Vec<FlushWaiter>,
    running: Option<RequestId>,
    covered: Vec<FlushWaiter>,
}

impl Flushes {
    /// Whether a flush is to be sent, unless one is in flight.
    #[inline(always)]
    pub(super) fn are_asked(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Whether a flush is to be sent now.
    pub(super) fn are_due(&self) -> bool {
        self.are_asked() && self.running.is_none()
    }

    /// Something waits for the next flush.
    pub(super) fn ask(&mut self, waiter: FlushWaiter) {
        self.pending.push(waiter);
    }

    pub(super) fn after(&mut self, bios: Fragment) {
        self.ask(FlushWaiter::After(bios));
    }

    /// One flush covers all that wait; returns how many. What comes meanwhile waits for the next.
    pub(super) fn cover(&mut self) -> u32 {
        core::mem::swap(&mut self.pending, &mut self.covered);
        self.covered.len() as u32
    }

    /// `rq` is the flush for what is covered.
    pub(super) fn begin(&mut self, rq: RequestId) {
        self.running = Some(rq);
    }

    /// The flush has completed: what it covered, to be [returned](Self::keep) empty.
    pub(super) fn end(&mut self, rq: RequestId) -> Vec<FlushWaiter> {
        assert_eq!(self.running.take(), Some(rq));
        core::mem::take(&mut self.covered)
    }

    /// Keeps the allocation for the next flush.
    pub(super) fn keep(&mut self, emptied: Vec<FlushWaiter>) {
        self.covered = emptied;
    }

    /// The device returned the flush untried.
    pub(super) fn try_again(&mut self, rq: RequestId) {
        assert_eq!(self.running.take(), Some(rq));
        self.covered.append(&mut self.pending);
        core::mem::swap(&mut self.covered, &mut self.pending);
    }
}
