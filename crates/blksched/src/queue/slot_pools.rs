//! Request slots as a queue has them: counted pools, or tags and the tasks that want one.

use super::pools::Pools;
use super::tasks::Tasks;

/// Allocated slots and sleeping submitters.
#[derive(Debug)]
pub(super) enum SlotPools {
    /// Until blk-mq.
    Pools(Box<Pools>),
    /// Since.
    Tags(Box<Tasks>),
}
