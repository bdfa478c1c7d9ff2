//! Types for reasons of schedulers that send batches in sector order.

use crate::time::Span;

/// Why a batch began where it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchStart {
    /// The oldest request's time was up.
    Expired {
        /// By how much.
        late: Span,
    },
    /// The last batch went on from where it stopped.
    NextInOrder,
    /// No position to go on from: the oldest request.
    Oldest,
    /// The lowest sector queued.
    Lowest,
}

/// Why a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchEnd {
    /// `fifo_batch` is used up.
    Full,
    /// Nothing lies beyond in sector order.
    EndOfOrder,
}
