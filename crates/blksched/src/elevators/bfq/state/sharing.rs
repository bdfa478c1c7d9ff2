//! A queue's relations to other queues, and the processes that share it.
//!
//! **Origin** docs/behaviour/elevators-6.1.md#b9.
//! **In the kernel** `bfqq_data`, `bfq_put_cooperator`, `coop`, `split_coop`, `new_bfqq`.

use crate::elevators::bfq::ids::Qid;
use crate::request::SubmitterId;

/// A queue's relations to processes and other queues.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sharing {
    /// The only process that has it.
    pub(crate) sole: Option<SubmitterId>,
    /// The queue into which it is being merged, process by process.
    pub(crate) target: Option<Qid>,
    /// Whether several processes share it.
    pub(crate) is_shared: bool,
    /// Whether it is to be split because it seeks now: each of its processes gets its own queue again.
    pub(crate) splits: bool,
}
