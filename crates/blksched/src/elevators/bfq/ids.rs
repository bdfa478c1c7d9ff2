//! The numbers by which BFQ identifies queues, processes and groups (their levels); they are reused.

/// A queue's number.
pub(crate) type Qid = u32;

/// A process's number here.
pub(crate) type Cid = u32;

/// The level of the root group.
pub(crate) const ROOT: usize = 0;
