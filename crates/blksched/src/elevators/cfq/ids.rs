//! The numbers by which CFQ identifies queues, processes and groups; they are reused.

/// A queue's number.
pub(crate) type Qid = u32;

/// A process's place in the table; reused.
pub(crate) type Pid = u32;

/// A group's place in the table; the root's is 0. Reused once both the group and its last queue are gone.
pub(crate) type Gid = u32;

pub(crate) const ROOT: Gid = 0;
