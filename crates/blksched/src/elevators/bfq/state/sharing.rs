//! A queue's relations to other queues, and the processes that share it.
//!
//! **In the kernel** `bfqq_data`, `bfq_put_cooperator`.

#![doc(alias = "bfqq_data")]
#![doc(alias = "bfq_put_cooperator")]

use crate::elevators::bfq::ids::Qid;
use crate::request::SubmitterId;

/// A queue's ties.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sharing {
    /// The one process that has it.
    pub(crate) sole: Option<SubmitterId>,
    /// Its processes change to this queue.
    pub(crate) target: Option<Qid>,
    /// Several processes have been brought together in it.
    pub(crate) is_shared: bool,
    /// It seeks now, so each of them gets its own again.
    pub(crate) splits: bool,
}
