//! A queue's configuration: its device and its era.
//!
//! **In the kernel** `queue_limits`, `max_sectors_kb`.

#![doc(alias = "queue_limits")]
#![doc(alias = "max_sectors_kb")]

use super::dispatch_list::Driver;
use super::plug::Plugging;
use super::slots::Slots;
use super::tasks::Wakes;
use crate::time::Instant;

/// What the device can take, and whether it forgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub struct Limits {
    /// The largest request \[512-byte sectors\]; longer bios are split, merges stop there.
    pub max_sectors: u32,
    /// The most pieces of memory a request may gather; each bio counts as one.
    pub max_segments: u16,
    /// Does it seek?
    pub rotational: bool,
    /// Does it acknowledge writes before they are stable? Without such a cache flushes cost nothing.
    pub volatile_cache: bool,
    /// Can a single write bypass that cache? Otherwise a flush follows it.
    pub fua: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { max_sectors: 1024, max_segments: 128, rotational: true, volatile_cache: false, fua: false }
    }
}

impl Limits {
    /// The same with requests of at most this many sectors.
    #[must_use]
    pub fn with_max_sectors(self, max_sectors: u32) -> Limits {
        Limits { max_sectors, ..self }
    }

    /// The same with requests of at most this many pieces of memory.
    #[must_use]
    pub fn with_max_segments(self, max_segments: u16) -> Limits {
        Limits { max_segments, ..self }
    }

    /// The same as a device without moving parts.
    #[must_use]
    pub fn flash(self) -> Limits {
        Limits { rotational: false, ..self }
    }

    /// The same with a volatile write cache; `fua`: a single write can bypass it.
    #[must_use]
    pub fn with_write_cache(self, fua: bool) -> Limits {
        Limits { volatile_cache: true, fua, ..self }
    }
}

/// A queue's surroundings, fixed at construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub struct QueueConfig {
    /// The device.
    pub limits: Limits,
    /// How many requests the device gets at a time. Depth left inside a device defeats every scheduler.
    pub depth: u32,
    /// How dispatch is held back so that requests merge.
    pub plugging: Plugging,
    /// How many requests may exist.
    pub slots: Slots,
    /// What the device's driver does (blk-mq).
    pub driver: Driver,
    /// When tasks run that were woken (blk-mq).
    pub wakes: Wakes,
    /// When the queue begins to exist; no call may be earlier.
    pub born: Instant,
}

impl Default for QueueConfig {
    /// One request at a time, no plug, as many requests as come.
    fn default() -> QueueConfig {
        QueueConfig {
            limits: Limits::default(),
            depth: 1,
            plugging: Plugging::Never,
            slots: Slots::Unlimited,
            driver: Driver::default(),
            wakes: Wakes::default(),
            born: Instant::ZERO,
        }
    }
}

impl QueueConfig {
    /// The same for this device.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> QueueConfig {
        QueueConfig { limits, ..self }
    }

    /// The same with a device that takes this many requests at a time.
    #[must_use]
    pub fn with_depth(self, depth: u32) -> QueueConfig {
        QueueConfig { depth, ..self }
    }

    /// The same, collecting like this before dispatch.
    #[must_use]
    pub fn with_plugging(self, plugging: Plugging) -> QueueConfig {
        QueueConfig { plugging, ..self }
    }

    /// The same with this many requests.
    #[must_use]
    pub fn with_slots(self, slots: Slots) -> QueueConfig {
        QueueConfig { slots, ..self }
    }

    /// The same with this device's driver (blk-mq).
    #[must_use]
    pub fn with_driver(self, driver: Driver) -> QueueConfig {
        QueueConfig { driver, ..self }
    }

    /// The same with tasks that run like this once woken (blk-mq).
    #[must_use]
    pub fn with_wakes(self, wakes: Wakes) -> QueueConfig {
        QueueConfig { wakes, ..self }
    }

    /// The same, beginning to exist at this moment.
    #[must_use]
    pub fn born_at(self, born: Instant) -> QueueConfig {
        QueueConfig { born, ..self }
    }
}
