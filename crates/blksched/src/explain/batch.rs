//! Types for reasons of schedulers that send batches in sector order.

use crate::time::Span;

/// Why a batch began where it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum BatchStart {
    /// The oldest request had expired.
    Expired {
        /// By how much.
        late: Span,
    },
    /// It continues where the last batch stopped.
    NextInOrder,
    /// There is no position to continue from, so it begins with the oldest request.
    Oldest,
    /// It begins at the lowest queued sector.
    Lowest,
}

/// Why a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum BatchEnd {
    /// `fifo_batch` is used up.
    Full,
    /// There is nothing beyond in sector order.
    EndOfOrder,
}
