//! A queue of CFQ by its number, in a file of its own: nearly every other one needs it, and a queue needs theirs.

/// A queue's number.
pub(super) type Qid = u32;
