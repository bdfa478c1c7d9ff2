//! Request slots: how many requests may exist, by era. The rules for sleeping and waking submitters are in
//! [`pools`](super::pools) before blk-mq, and in [`mq`](super::mq) since.
//!
//! **In the kernel** `nr_requests`, `blk_mq_update_nr_requests`, `async_depth`.

#![doc(alias = "nr_requests")]
#![doc(alias = "blk_mq_update_nr_requests")]
#![doc(alias = "async_depth")]

use super::mq::tag_map::word_shift;
use super::mq::{MqEra, TagOrder};
use crate::time::Span;

/// How many requests may exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slots {
    /// As many as come.
    Unlimited,
    /// As many as come, though elevators are told this number (recordings, whose pools were never exhausted).
    Unbounded {
        /// What elevators are told.
        nr_requests: u32,
    },
    /// Some for reads and as many for writes (until blk-mq).
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
        /// As many as the map was made for: a map that shrinks keeps the size of its words.
        made_for: u32,
        /// Whose rules.
        era: MqEra,
        /// In which order they are handed out.
        order: TagOrder,
    },
}

impl Slots {
    /// 64 per direction; each that comes back wakes one once 32 are free: 2.4.20 to 2.4.37.
    pub const LINUX_2_4: Slots = Slots::PerDirection { nr_requests: 64, wake: WakeRule::One { free: 32 } };
    /// The same, but all sleepers wake: 2.4.18.
    pub const LINUX_2_4_18: Slots = Slots::PerDirection { nr_requests: 64, wake: WakeRule::All { free: 32 } };
    /// 128 per direction, woken at 32 free: 2.5.
    pub const LINUX_2_5: Slots = Slots::PerDirection { nr_requests: 128, wake: WakeRule::AtFree(32) };
    /// 128 per direction, with a batch of 32 within 20 ms for a submitter that wakes: 2.6 to 4.20.
    pub const LINUX_2_6: Slots =
        Slots::PerDirection { nr_requests: 128, wake: WakeRule::Batcher { requests: 32, time: Span::from_ms(20) } };
    /// 256 tags for both directions: blk-mq as of 6.1, under an elevator on a device of 128 tags or more.
    pub const LINUX_6_1: Slots = Slots::tags(256, MqEra::Linux6_1, TagOrder::Lowest);
    /// The same as of 6.12.
    pub const LINUX_6_12: Slots = Slots::tags(256, MqEra::Linux6_12, TagOrder::Lowest);

    /// This many tags, in a map made for them.
    pub const fn tags(nr_requests: u32, era: MqEra, order: TagOrder) -> Slots {
        Slots::Tags { nr_requests, made_for: nr_requests, era, order }
    }

    /// `nr_requests` as sysfs shows it; of an unlimited queue the largest number there is.
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

    /// The same, once that number was written to `nr_requests`: blk-mq's map of tags keeps its words if it shrinks, and
    /// is made anew if it grows beyond what it was made for.
    pub fn resized(self, to: u32) -> Slots {
        match self {
            Slots::Tags { made_for, era, order, .. } if to <= made_for => {
                Slots::Tags { nr_requests: to, made_for, era, order }
            }
            other => other.with_nr_requests(to),
        }
    }

    /// Which kernel's blk-mq it is, if it is blk-mq at all.
    pub fn era(self) -> Option<MqEra> {
        match self {
            Slots::Tags { era, .. } => Some(era),
            Slots::Unlimited | Slots::Unbounded { .. } | Slots::PerDirection { .. } => None,
        }
    }

    /// As many as blk-mq makes on a device of this many tags: those, or for an elevator twice as many, at most 256.
    /// Earlier eras do not ask the device.
    pub fn on_device(self, tags: u32, order: TagOrder, pool: Pool) -> Slots {
        match (self, pool) {
            (Slots::Tags { era, .. }, Pool::Device) => Slots::tags(tags, era, order),
            (Slots::Tags { era, .. }, Pool::Scheduler) => Slots::tags(2 * tags.min(128), era, order),
            (earlier, _) => earlier,
        }
    }

    /// As many for each of several hardware queues, in one set: which submitter may use which queue's is not told
    /// apart.
    pub fn with_queues(self, queues: u32) -> Slots {
        match self {
            Slots::Tags { nr_requests, .. } if queues > 1 => self.with_nr_requests(nr_requests.saturating_mul(queues)),
            one => one,
        }
    }

    /// blk-mq's tags stand in words of 64, or of fewer, halved until there are at least four words.
    pub fn tags_per_word(self) -> u32 {
        match self {
            Slots::Tags { made_for, .. } => 1 << word_shift(made_for),
            other => 1 << word_shift(other.nr_requests()),
        }
    }

    /// How many requests to make room for at the start.
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
pub enum WakeRule {
    /// Once this many slots are free (or all of them, if there are fewer).
    AtFree(u32),
    /// Each slot that comes back while this many are free wakes the next sleeper of its direction. A submitter that
    /// finds a slot takes it, even while others sleep; a sleeper runs the whole search again with its slot in hand
    /// (2.4.20).
    One {
        /// Of half as many as there are in a direction, if that is less.
        free: u32,
    },
    /// The same, but it wakes all sleepers, of either direction (2.4.18).
    All {
        /// As above.
        free: u32,
    },
    /// At the first free slot; it may then take this many requests within so long, even while others sleep and up to
    /// one and a half times `nr_requests`.
    Batcher {
        /// Requests, the one that slept included.
        requests: u32,
        /// How long the privilege lasts.
        time: Span,
    },
}

/// Which tags a request holds from its allocation to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// The device's own: there is no elevator.
    Device,
    /// Those of the elevator; the device's come at dispatch.
    Scheduler,
}
