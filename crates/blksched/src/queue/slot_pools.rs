//! A queue's request slots: counted pools, or tags and the tasks that want one.
//!
//! **In the kernel** `get_request`, `__blk_mq_alloc_requests`, `blk_queue_congested`, `elv_may_queue`.

use alloc::boxed::Box;

use super::pools::Pools;
use super::tasks::Tasks;

/// Allocated slots and sleeping submitters.
#[derive(Debug)]
pub(crate) enum SlotPools {
    /// Until blk-mq.
    Pools(Box<Pools>),
    /// Since.
    Tags(Box<Tasks>),
}
