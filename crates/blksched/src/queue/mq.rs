//! blk-mq: how requests get their slots since Linux 5.0.
//!
//! A slot is a *tag*, a bit of a map that is searched word by word ([`tag_map`]). A task that finds none sleeps in one
//! of eight wait queues, which reads and writes share, and is woken after a batch of completions ([`wait_queues`]). A
//! set of both, within the limits of the elevator or of other disks, is a [`TagSet`]. All of it is pure: it is told of
//! events and knows no time. The driver decides which runs first, a woken task or the owner of the completed request.
//!
//! The recordings `tags-6.1` and `tags-6.12` replay through exactly this.
//!
//! **Origin** docs/behaviour/blk-mq-6.x.md#t.
//! **In the kernel** `blk_mq_tags`, `blk_mq_tag_set`, `hctx`.

#![doc(alias = "blk_mq_tags")]
#![doc(alias = "blk_mq_tag_set")]
#![doc(alias = "hctx")]

pub mod tag_map;
pub mod tag_set;
pub mod wait_queues;

pub use tag_map::{SearchDepth, TagMap};
pub use tag_set::{Patience, TagAsked, TagSet};
pub use wait_queues::{Task, WaitQueues};

use crate::kernel::Kernel;

/// The versions of blk-mq, as far as they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum MqEra {
    /// 5.0 to 6.11, recorded from 6.1: a shallow depth counts per word, one wait queue is woken at a time, a plug
    /// without an elevator is sent newest first, and flushes' data bypasses the elevator.
    Linux6_1,
    /// Since 6.12: a shallow depth counts in the whole map, a whole batch is woken, plugs keep their order, and
    /// flushes' data goes through the elevator. (By recordings, 6.18 is the same.)
    Linux6_12,
}

impl MqEra {
    /// The era of a kernel; the first era for a kernel before blk-mq.
    pub fn of(kernel: Kernel) -> MqEra {
        if kernel >= Kernel::new(6, 12, 0) { MqEra::Linux6_12 } else { MqEra::Linux6_1 }
    }
}

/// The order in which a device allocates its tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum TagOrder {
    /// The lowest free tag near the last (NVMe, virtio, loop).
    #[default]
    Lowest,
    /// In turn, whichever are free (SATA).
    RoundRobin,
}
