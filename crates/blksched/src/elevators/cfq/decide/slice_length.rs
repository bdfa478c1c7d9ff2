//! A queue's slice: how long it has the disk.
//!
//! **Rule** `length = base + base/5 · (4 − level)`, base `slice_sync` or `slice_async`. It runs from the first
//! *completion* of the slice. With `low_latency` and service trees by workload (2.6.33) it shrinks so that all
//! processes of the class have a slice within 300 ms; in 4.20 all of the group within the group's part of
//! `target_latency`. The unused rest, or the overrun, shifts the next slice.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c10, #c12 and #c33.5; docs/behaviour/elevators-4.20.md#x.10 and
//! #x.12; the sign of the residual is a bug of 2.6.31 ([`Residual`]).
//! **Shown by** shares of readers of different priorities.
//! **Costs when wrong** fairness.
//! **In the kernel** `cfq_prio_slice`, `cfq_set_prio_slice`, `cfq_scaled_cfqq_slice`, `slice_end`, `slice_resid`,
//! `cfq_slice_used`, `cfq_prio_to_slice`, `cfq_target_latency`, `busy_queues_avg`, `cfq_group_get_avg_queues`,
//! `cfq_hist_divisor`.

use crate::elevators::cfq::tunables::Ticks;
use crate::request::Waiter;

/// A level's share of `base` \[ticks\].
///
/// With the default of 100 ms, levels 0 to 7:
/// ```
/// use blksched::elevators::cfq::scaled;
/// assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(|level| scaled(100, level)), [180, 160, 140, 120, 100, 80, 60, 40]);
/// ```
pub fn scaled(base: u64, level: u8) -> i64 {
    let base = base as i64;
    base + base / 5 * (4 - i64::from(level))
}

pub(crate) fn by_level(waiter: Waiter, level: u8, ticks: &Ticks) -> i64 {
    scaled(if waiter == Waiter::Sync { ticks.slice_sync } else { ticks.slice_async }, level)
}

/// A slice shortened so that `average` queues share `target` \[ticks\].
pub(crate) fn shortened(slice: i64, average: u64, target: u64, ticks: &Ticks) -> i64 {
    let (average, target, base) = (average as i64, target as i64, ticks.slice_sync as i64);
    let expected = base.saturating_mul(average);
    if expected <= target {
        return slice;
    }
    // Not shorter than two idle times, in proportion to its level; a single wait for the next request would use up a
    // shorter slice.
    let least = slice.min((2 * ticks.slice_idle as i64).saturating_mul(slice) / base);
    (slice.saturating_mul(target) / expected).max(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::PerWaiter;

    const TICKS: Ticks = Ticks {
        slice_sync: 100,
        slice_async: 40,
        slice_idle: 8,
        seeky_idle: 2,
        group_idle: 8,
        target_latency: 300,
        fifo_expire: PerWaiter { sync: 125, async_: 250 },
    };

    #[test]
    fn three_readers_keep_their_slices_and_ten_share_300_ms() {
        assert_eq!(shortened(100, 3, 300, &TICKS), 100);
        assert_eq!(shortened(100, 10, 300, &TICKS), 30);
    }

    #[test]
    fn a_slice_does_not_shrink_below_twice_the_idle_time() {
        assert_eq!(shortened(100, 100, 300, &TICKS), 16);
    }
}
