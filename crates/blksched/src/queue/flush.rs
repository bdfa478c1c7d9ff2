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
    pub(super) pending: Vec<FlushWaiter>,
    pub(super) running: Option<RequestId>,
    pub(super) covered: Vec<FlushWaiter>,
}

impl Flushes {
    /// Whether a flush is to be sent, unless one is in flight.
    #[inline(always)]
    pub(super) fn are_asked(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(super) fn after(&mut self, bios: Fragment) {
        self.pending.push(FlushWaiter::After(bios));
    }

    /// The device returned the flush untried.
    pub(super) fn try_again(&mut self, rq: RequestId) {
        assert_eq!(self.running.take(), Some(rq));
        self.covered.append(&mut self.pending);
        core::mem::swap(&mut self.covered, &mut self.pending);
    }
}
