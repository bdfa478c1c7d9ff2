//! `io.cost.qos`: the latency targets of the device, and the range of its clock's rate.
//!
//! **Rule** A period is a few latencies long: two at a percentile of 90 and more, ten at 50. Margins are parts of it.
//! **Origin** docs/behaviour/cgroup-io.md#k2, #k4 and #k7.
//! **In the kernel** `ioc_refresh_params`, `ioc_refresh_period_us`, `ioc_qos_write`, `ioc_margins`.

#![doc(alias = "ioc_refresh_params")]
#![doc(alias = "ioc_refresh_period_us")]

use crate::request::{Dir, PerDir};

/// One million: all requests, or a rate of 100 %.
pub const MILLION: u64 = 1_000_000;
/// The shortest and the longest period \[us\].
const PERIODS: core::ops::RangeInclusive<u64> = 1_000..=1_000_000;

/// The target of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// This many of a million requests must be fast enough; 0: latency is not considered.
    pub percentile_ppm: u64,
    /// The latency that is fast enough \[us\].
    pub latency_us: u64,
}

/// The targets of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Qos {
    /// Reads.
    pub read: Target,
    /// Writes.
    pub write: Target,
    /// The slowest rate of the clock, in millionths.
    pub min_ppm: u64,
    /// The fastest rate.
    pub max_ppm: u64,
}

impl Qos {
    /// The kernel's targets until a user sets them: no percentile, any rate from 1 % to 10000 %.
    pub fn of_latency(latency_us: u64) -> Qos {
        let target = Target { percentile_ppm: 0, latency_us };
        Qos { read: target, write: target, min_ppm: 10_000, max_ppm: 100 * MILLION }
    }

    /// The target of one direction.
    pub fn of(&self, dir: Dir) -> Target {
        match dir {
            Dir::Read => self.read,
            Dir::Write => self.write,
        }
    }

    /// Whether any latency is considered.
    pub(super) fn has_percentile(&self) -> bool {
        self.read.percentile_ppm > 0 || self.write.percentile_ppm > 0
    }

    /// How many of a million may miss their target.
    pub(super) fn may_miss(&self) -> PerDir<u64> {
        PerDir::from_fn(|dir| MILLION.saturating_sub(self.of(dir).percentile_ppm))
    }

    /// The length of a period \[us\].
    pub(super) fn period_us(&self) -> u64 {
        let longer = if self.read.latency_us >= self.write.latency_us { self.read } else { self.write };
        let latencies = match longer.percentile_ppm {
            0 => 2,
            ppm => (MILLION.saturating_sub(ppm) / 50_000).max(2),
        };
        (latencies * longer.latency_us).clamp(*PERIODS.start(), *PERIODS.end())
    }
}

/// How far behind the device's clock a group may be, in virtual time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Margins {
    pub(super) min: i64,
    pub(super) low: i64,
    pub(super) target: i64,
}

impl Margins {
    pub(super) fn of(period_us: u64, base_vrate: u64) -> Margins {
        let part = |percent: u64| (period_us * percent / 100 * base_vrate) as i64;
        Margins { min: part(10), low: part(20), target: part(50) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_two_latencies_or_up_to_ten_at_lower_percentiles() {
        let period = |percentile_ppm, latency_us| {
            let target = Target { percentile_ppm, latency_us };
            Qos { read: target, ..Qos::default() }.period_us()
        };
        assert_eq!(period(0, 250_000), 500_000);
        assert_eq!([950_000, 900_000, 500_000].map(|ppm| period(ppm, 20_000)), [40_000, 40_000, 200_000]);
        assert_eq!((period(0, 1), period(0, 9_000_000)), (1_000, 1_000_000));
    }

    #[test]
    fn the_longer_latency_counts_with_its_own_percentile() {
        let qos = Qos {
            read: Target { percentile_ppm: 500_000, latency_us: 10 },
            write: Target { percentile_ppm: 950_000, latency_us: 40_000 },
            ..Qos::default()
        };
        assert_eq!(qos.period_us(), 80_000);
    }
}
