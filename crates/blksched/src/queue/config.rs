//! What a queue is told about its device and its era.

use super::dispatch_list::Driver;
use super::plug::Plugging;
use super::slots::Slots;
use super::tasks::Wakes;
use crate::time::Instant;

/// What the device can take, and whether it forgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// A queue's surroundings, fixed at construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
