//! Request slots: how many requests may exist, by era. The rules for sleeping and waking submitters are in
//! [`pools`](super::pools) before blk-mq, and in [`mq`](super::mq) since.
//!
//! **Origin** since blk-mq docs/behaviour/blk-mq-6.x.md#s.
//! **In the kernel** `nr_requests`, `blk_mq_update_nr_requests`, `async_depth`.

use super::mq::tag_map::word_shift;
use super::mq::{MqEra, TagOrder};
use crate::time::Span;

/// How many requests may exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Slots {
    /// No limit.
    Unlimited,
    /// No limit, but elevators are told this number (recordings, whose pools were never exhausted).
    Unbounded {
        /// The number that elevators are told.
        nr_requests: u32,
    },
    /// Separate slots for reads and for writes, the same number of each (until blk-mq).
    PerDirection {
        /// Slots in each direction.
        nr_requests: u32,
        /// When sleepers wake.
        wake: WakeRule,
    },
    /// One set of tags for both directions (blk-mq).
    Tags {
        /// Tags in all.
        nr_requests: u32,
        /// The number for which the map was made: a map that shrinks keeps its word size.
        made_for: u32,
        /// The era's rules.
        era: MqEra,
        /// The order in which they are allocated.
        order: TagOrder,
    },
}

impl Slots {
    /// 64 per direction; each returned slot wakes one sleeper once 32 are free: 2.4.20 to 2.4.37.
    pub const LINUX_2_4: Slots = Slots::PerDirection { nr_requests: 64, wake: WakeRule::One { free: 32 } };
    /// The same, but all sleepers wake: 2.4.18.
    pub const LINUX_2_4_18: Slots = Slots::PerDirection { nr_requests: 64, wake: WakeRule::All { free: 32 } };
    /// 128 per direction, woken at 32 free: 2.5.
    pub const LINUX_2_5: Slots = Slots::PerDirection { nr_requests: 128, wake: WakeRule::AtFree(32) };
    /// 128 per direction, with a batch of 32 within 20 ms for a submitter that wakes: 2.6 to 4.20.
    pub const LINUX_2_6: Slots =
        Slots::PerDirection { nr_requests: 128, wake: WakeRule::Batcher { requests: 32, time: Span::from_ms(20) } };
    /// 256 tags for both directions: blk-mq of 6.1, under an elevator on a device of 128 tags or more.
    pub const LINUX_6_1: Slots = Slots::tags(256, MqEra::Linux6_1, TagOrder::Lowest);
    /// The same for 6.12.
    pub const LINUX_6_12: Slots = Slots::tags(256, MqEra::Linux6_12, TagOrder::Lowest);

    /// This many tags, in a map made for them.
    pub const fn tags(nr_requests: u32, era: MqEra, order: TagOrder) -> Slots {
        Slots::Tags { nr_requests, made_for: nr_requests, era, order }
    }

    /// `nr_requests` as sysfs shows it; for an unlimited queue the largest number.
    pub fn nr_requests(self) -> u32 {
        match self {
            Slots::Unlimited => u32::MAX,
            Slots::Unbounded { nr_requests }
            | Slots::PerDirection { nr_requests, .. }
            | Slots::Tags { nr_requests, .. } => nr_requests,
        }
    }

    /// The same, made for another number.
    pub fn with_nr_requests(self, nr_requests: u32) -> Slots {
        match self {
            Slots::Unlimited | Slots::Unbounded { .. } => Slots::Unbounded { nr_requests },
            Slots::PerDirection { wake, .. } => Slots::PerDirection { nr_requests, wake },
            Slots::Tags { era, order, .. } => Slots::tags(nr_requests, era, order),
        }
    }

    /// The same, after that number was written to `nr_requests`: blk-mq's tag map keeps its words if it shrinks, and is
    /// made anew if it grows beyond the number for which it was made.
    pub fn resized(self, to: u32) -> Slots {
        match self {
            Slots::Tags { made_for, era, order, .. } if to <= made_for => {
                Slots::Tags { nr_requests: to, made_for, era, order }
            }
            other => other.with_nr_requests(to),
        }
    }

    /// The version of blk-mq, if it is blk-mq.
    pub fn era(self) -> Option<MqEra> {
        match self {
            Slots::Tags { era, .. } => Some(era),
            Slots::Unlimited | Slots::Unbounded { .. } | Slots::PerDirection { .. } => None,
        }
    }

    /// The slots that blk-mq makes on a device of this many tags: as many, or for an elevator twice as many, at most
    /// 256. Earlier eras do not ask the device.
    pub fn on_device(self, tags: u32, order: TagOrder, pool: Pool) -> Slots {
        match (self, pool) {
            (Slots::Tags { era, .. }, Pool::Device) => Slots::tags(tags, era, order),
            // Measured: 256 for a loop device of 128 tags, and for virtio's 256 (docs/behaviour/blk-mq-6.x.md).
            (Slots::Tags { era, .. }, Pool::Scheduler) => Slots::tags(2 * tags.min(128), era, order),
            (earlier, _) => earlier,
        }
    }

    /// The same number for each of several hardware queues, in one set: which submitter may use which queue's tags is
    /// not distinguished.
    pub fn with_queues(self, queues: u32) -> Slots {
        match self {
            Slots::Tags { nr_requests, .. } if queues > 1 => self.with_nr_requests(nr_requests.saturating_mul(queues)),
            one => one,
        }
    }

    /// blk-mq's tags are in words of 64, or of fewer, halved until there are at least four words.
    pub fn tags_per_word(self) -> u32 {
        match self {
            Slots::Tags { made_for, .. } => 1 << word_shift(made_for),
            other => 1 << word_shift(other.nr_requests()),
        }
    }

    /// The number of requests to make room for at the start.
    pub(super) fn capacity(self) -> usize {
        match self {
            Slots::Unlimited | Slots::Unbounded { .. } => 1024,
            Slots::PerDirection { nr_requests, .. } => (3 * nr_requests as usize).max(1),
            Slots::Tags { nr_requests, .. } => (nr_requests as usize).max(1),
        }
    }

    pub(super) fn wake(self) -> WakeRule {
        match self {
            Slots::PerDirection { wake, .. } => wake,
            Slots::Unlimited | Slots::Unbounded { .. } | Slots::Tags { .. } => WakeRule::AtFree(1),
        }
    }
}

/// When a sleeper wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum WakeRule {
    /// Once this many slots are free (or all of them, if there are fewer).
    AtFree(u32),
    /// Each returned slot wakes the next sleeper of its direction while this many slots are free. A submitter that
    /// finds a slot takes it even while others sleep; a sleeper repeats the whole search with its slot in hand
    /// (2.4.20).
    One {
        /// Or half of the direction's slots, if that is less.
        free: u32,
    },
    /// The same, but it wakes all sleepers, of either direction (2.4.18).
    All {
        /// As above.
        free: u32,
    },
    /// At the first free slot; it may then take this many requests within this time, even while others sleep, and up to
    /// one and a half times `nr_requests`.
    Batcher {
        /// Requests, including the one that slept.
        requests: u32,
        /// How long the privilege lasts.
        time: Span,
    },
}

/// The tags that a request holds from its allocation to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Pool {
    /// The device's own: there is no elevator.
    Device,
    /// The elevator's; the device's are taken at dispatch.
    Scheduler,
}
