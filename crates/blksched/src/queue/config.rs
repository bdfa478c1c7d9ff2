//! A queue's configuration: its device and its era.
//!
//! **In the kernel** `queue_limits`, `max_sectors_kb`.

use super::dispatch_list::Driver;
use super::plug::Plugging;
use super::slots::Slots;
use super::tasks::Wakes;
use crate::cgroup::blk_throttle::Era as IoMaxEra;
use crate::time::Instant;

/// The device's limits, and whether its cache is volatile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub struct Limits {
    /// The largest request with data \[512-byte sectors\]; longer bios are split, and merges stop there.
    pub max_sectors: u32,
    /// The longest discard, and the longest write of zeroes, likewise (`discard_max_bytes`, `write_zeroes_max_bytes`).
    pub max_discard_sectors: u32,
    /// The most memory segments in a request; each bio counts as one.
    pub max_segments: u16,
    /// Whether it seeks.
    pub rotational: bool,
    /// Whether it acknowledges writes before they are stable. Without such a cache flushes cost nothing.
    pub volatile_cache: bool,
    /// Whether a single write can bypass that cache. Otherwise a flush follows it.
    pub fua: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_sectors: 1024,
            max_discard_sectors: u32::MAX,
            max_segments: 128,
            rotational: true,
            volatile_cache: false,
            fua: false,
        }
    }
}

impl Limits {
    /// The same with requests of at most this many sectors.
    #[must_use]
    pub fn with_max_sectors(self, max_sectors: u32) -> Limits {
        Limits { max_sectors, ..self }
    }

    /// The same for a device without moving parts.
    #[must_use]
    pub fn flash(self) -> Limits {
        Limits { rotational: false, ..self }
    }
}

/// A queue's surroundings, fixed at construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub struct QueueConfig {
    /// The device.
    pub limits: Limits,
    /// The number of requests that the device gets at a time. A deep queue inside a device defeats every scheduler.
    pub depth: u32,
    /// How dispatch is held back so that requests merge.
    pub plugging: Plugging,
    /// The number of requests that may exist.
    pub slots: Slots,
    /// The properties of the device's driver (blk-mq).
    pub driver: Driver,
    /// When woken tasks run (blk-mq).
    pub wakes: Wakes,
    /// The version of groups' `io.max`.
    pub io_max: IoMaxEra,
    /// The queue's first moment; no call may be earlier.
    pub born: Instant,
}

impl Default for QueueConfig {
    /// One request at a time, no plug, unlimited requests.
    fn default() -> QueueConfig {
        QueueConfig {
            limits: Limits::default(),
            depth: 1,
            plugging: Plugging::Never,
            slots: Slots::Unlimited,
            driver: Driver::default(),
            wakes: Wakes::default(),
            io_max: IoMaxEra::default(),
            born: Instant::ZERO,
        }
    }
}

impl QueueConfig {
    /// The same for a device that takes this many requests at a time.
    #[must_use]
    pub fn with_depth(self, depth: u32) -> QueueConfig {
        QueueConfig { depth, ..self }
    }

    /// The same with this plug.
    #[must_use]
    pub fn with_plugging(self, plugging: Plugging) -> QueueConfig {
        QueueConfig { plugging, ..self }
    }
}
