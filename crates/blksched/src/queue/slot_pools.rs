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

impl SlotPools {
    #[inline(always)]
    pub(super) fn are_tags(&self) -> bool {
        matches!(self, SlotPools::Tags(_))
    }

    /// # Panics
    /// If the era has no tags.
    #[inline(always)]
    pub(super) fn tasks(&mut self) -> &mut Tasks {
        match self {
            SlotPools::Tags(tasks) => tasks,
            SlotPools::Pools(_) => unreachable!("only blk-mq has tags"),
        }
    }

    /// # Panics
    /// If the era has tags.
    #[inline(always)]
    pub(super) fn pools(&mut self) -> &mut Pools {
        match self {
            SlotPools::Pools(pools) => pools,
            SlotPools::Tags(_) => unreachable!("blk-mq has no pools"),
        }
    }

    /// Whether no sleeper could go on: none was woken.
    #[inline(always)]
    pub(super) fn nobody_goes_on(&self) -> bool {
        match self {
            SlotPools::Pools(pools) => pools.nobody_sleeps(),
            SlotPools::Tags(tasks) => tasks.nobody_runs(),
        }
    }
}
