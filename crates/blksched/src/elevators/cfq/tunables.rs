//! CFQ's knobs, with sysfs's names and units.
//!
//! **In the kernel** `iosched`.

use crate::elevators::nearer::TurningBack;
use crate::kernel::{Kernel, Kernels};
use crate::request::PerWaiter;
use crate::time::{Jiffies, Span, Tick};
use crate::tunables;

pub(crate) const V2_6_31: Kernel = Kernel::new(2, 6, 31);
pub(crate) const V2_6_32: Kernel = Kernel::new(2, 6, 32);
pub(crate) const V2_6_33: Kernel = Kernel::new(2, 6, 33);
pub(crate) const V4_20: Kernel = Kernel::new(4, 20, 0);
/// The longest that the disk idles for a seeky process.
const SEEKY_IDLE: Span = Span::from_ms(2);
const MS: i64 = 1_000_000;
const US: i64 = 1_000;
const INT_MAX: i64 = i32::MAX as i64;

tunables! {
    /// CFQ's knobs.
    pub struct CfqTunables {
        /// How many requests of one queue may be in flight while other queues wait. 4.20: at first half of it.
        quantum: i32 [Requests] = 8, 1..=INT_MAX, Kernels::since(V2_6_31), sweep [1, 4, 8, 16];
        /// Age at which a synchronous request goes first when its queue's slice begins.
        fifo_expire_sync: Span [Ms] = Span::from_ms(125), 1..=INT_MAX * MS, Kernels::since(V2_6_31),
            sweep [50 * MS, 125 * MS, 500 * MS];
        /// Age at which write-back goes first when its queue's slice begins.
        fifo_expire_async: Span [Ms] = Span::from_ms(250), 1..=INT_MAX * MS, Kernels::since(V2_6_31),
            sweep [125 * MS, 250 * MS, 1000 * MS];
        /// How far behind the disk's position a request may be and still be chosen next.
        back_seek_max: i32 [Kib] = 16384, 0..=INT_MAX, Kernels::since(V2_6_31), sweep [0, 1024, 16384];
        /// The cost of a seek back, as a multiple of its distance.
        back_seek_penalty: i32 [Cost] = 2, 1..=INT_MAX, Kernels::since(V2_6_31), sweep [1, 2, 8];
        /// The slice of a process of level 4. Each level is a fifth more or less.
        slice_sync: Span [Ms] = Span::from_ms(100), 1..=INT_MAX * MS, Kernels::since(V2_6_31),
            sweep [20 * MS, 50 * MS, 100 * MS, 200 * MS];
        /// The slice of write-back of level 4.
        slice_async: Span [Ms] = Span::from_ms(40), 1..=INT_MAX * MS, Kernels::since(V2_6_31),
            sweep [10 * MS, 40 * MS, 100 * MS];
        /// A slice of write-back ends after twice this many requests for each level below 8, if other queues wait.
        slice_async_rq: i32 [Requests] = 2, 1..=INT_MAX, Kernels::since(V2_6_31), sweep [1, 2, 8];
        /// How long the disk waits for the next request of the active queue. 0 turns idling off, which is the default
        /// on a disk without an arm since 4.20.
        slice_idle: Span [Ms] = Span::from_ms(8), 0..=INT_MAX * MS, Kernels::since(V2_6_31),
            sweep [0, 2 * MS, 4 * MS, 8 * MS, 16 * MS];
        /// Latency before throughput: write-back keeps few requests in flight; since 2.6.33 slices also shrink when
        /// many processes wait.
        low_latency: bool [Switch] = true, 0..=1, Kernels::since(V2_6_32), sweep [0, 1];
        /// Whether the disk idles for processes that seek even if it has NCQ (the patch of the mail of 2009-09-03).
        fairness: bool [Switch] = false, 0..=1, Kernels::between(V2_6_31, V2_6_31), sweep [0, 1];
        /// Whether processes that seek stay in their own group (`+groups`) instead of counting for the root.
        group_isolation: bool [Switch] = false, 0..=1, Kernels::between(V2_6_33, V2_6_33), sweep [0, 1];
        /// How long the disk waits for the next request of a group whose last queue has run empty. Without groups it is
        /// 0.
        group_idle: Span [Ms] = Span::from_ms(8), 0..=INT_MAX * MS, Kernels::since(V4_20),
            sweep [0, 2 * MS, 8 * MS, 16 * MS];
        /// The time within which every process should have a slice; each group has its share of it.
        target_latency: Span [Ms] = Span::from_ms(300), 1..=INT_MAX * MS, Kernels::since(V4_20),
            sweep [10 * MS, 50 * MS, 300 * MS];
    }
    also {
        /// `slice_sync` in microseconds.
        slice_sync_us [Us] = slice_sync, US..=INT_MAX * US, Kernels::since(V4_20);
        /// `slice_async` in microseconds.
        slice_async_us [Us] = slice_async, US..=INT_MAX * US, Kernels::since(V4_20);
        /// `slice_idle` in microseconds.
        slice_idle_us [Us] = slice_idle, 0..=INT_MAX * US, Kernels::since(V4_20);
        /// `group_idle` in microseconds.
        group_idle_us [Us] = group_idle, 0..=INT_MAX * US, Kernels::since(V4_20);
        /// `target_latency` in microseconds.
        target_latency_us [Us] = target_latency, US..=INT_MAX * US, Kernels::since(V4_20);
    }
}

impl CfqTunables {
    /// The rule for seeks back, from the knobs.
    pub(crate) fn turning_back(&self) -> TurningBack {
        TurningBack {
            reach_sectors: 2 * u64::try_from(self.back_seek_max).unwrap_or(0),
            penalty: self.back_seek_penalty.max(1) as u64,
        }
    }

    /// A kernel's defaults. Until 2.6.33 they are divisions of HZ that round down: at 100 ticks per second the disk
    /// never idles.
    pub(crate) fn defaults(kernel: Kernel, hz: u32) -> CfqTunables {
        if kernel >= V4_20 {
            return CfqTunables::of(kernel);
        }
        let span = |ticks: u32| Jiffies::new(hz).span(u64::from(ticks));
        CfqTunables {
            quantum: 4,
            fifo_expire_sync: span(hz / 8),
            fifo_expire_async: span(hz / 4),
            slice_sync: span(hz / 10),
            slice_async: span(hz / 25),
            slice_idle: span(hz / 125),
            ..CfqTunables::of(kernel)
        }
    }
}

/// Those of the knobs that are times, in units of the clock; recomputed whenever a knob is set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    pub(crate) slice_sync: Tick,
    pub(crate) slice_async: Tick,
    pub(crate) slice_idle: Tick,
    /// The longest that the disk idles for a seeky process.
    pub(crate) seeky_idle: Tick,
    pub(crate) group_idle: Tick,
    pub(crate) target_latency: Tick,
    pub(crate) fifo_expire: PerWaiter<Tick>,
}

impl Ticks {
    pub(crate) fn of(knobs: &CfqTunables, unit: Jiffies) -> Ticks {
        Ticks {
            slice_sync: unit.ticks(knobs.slice_sync),
            slice_async: unit.ticks(knobs.slice_async),
            slice_idle: unit.ticks(knobs.slice_idle),
            seeky_idle: unit.ticks(SEEKY_IDLE),
            group_idle: unit.ticks(knobs.group_idle),
            target_latency: unit.ticks(knobs.target_latency),
            fifo_expire: PerWaiter {
                sync: unit.ticks(knobs.fifo_expire_sync),
                async_: unit.ticks(knobs.fifo_expire_async),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_100_ticks_per_second_the_disk_never_idles() {
        let idle = |hz| CfqTunables::defaults(V2_6_33, hz).slice_idle;
        assert_eq!([100, 250, 1000].map(idle), [Span::ZERO, Span::from_ms(8), Span::from_ms(8)]);
    }
}
