//! A window of latencies, and whether a target is met in it.
//!
//! **Rule** Sixteen targets long, at least 100 ms and at most 1 s. On spinning disks the mean must meet the target, on
//! others nine of ten.
//! **Origin** docs/behaviour/cgroup-io.md#l.
//! **In the kernel** `latency_sum_ok`, `iolatency_record_time`.

use crate::time::Span;

const LENGTHS: core::ops::RangeInclusive<Span> = Span::from_ms(100)..=Span::from_secs(1);

/// The criterion of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JudgedBy {
    /// The mean latency.
    Mean,
    /// The number of misses.
    Missed,
}

/// The latencies of a window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stat {
    pub(super) total: u64,
    missed: u64,
    sum_ns: u64,
}

pub(super) fn length(target: Span) -> Span {
    Span::from_ns(target.as_ns().saturating_mul(16)).clamp(*LENGTHS.start(), *LENGTHS.end())
}

impl Stat {
    pub(super) fn add(&mut self, latency: Span, target: Span) {
        self.total += 1;
        self.missed += u64::from(latency >= target);
        self.sum_ns = self.sum_ns.saturating_add(latency.as_ns());
    }

    pub(super) fn merge(&mut self, other: Stat) {
        self.total += other.total;
        self.missed += other.missed;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
    }

    pub(super) fn is_ok(self, kind: JudgedBy, target: Span) -> bool {
        match kind {
            JudgedBy::Mean => self.sum_ns / self.total.max(1) <= target.as_ns(),
            JudgedBy::Missed => self.missed < (self.total / 10).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_ten_is_too_much_and_one_slow_one_does_not_spoil_a_mean() {
        let target = Span::from_ms(10);
        let mut stat = Stat::default();
        (0..19).for_each(|_| stat.add(Span::from_ms(1), target));
        stat.add(Span::from_ms(90), target);
        assert!(stat.is_ok(JudgedBy::Missed, target) && stat.is_ok(JudgedBy::Mean, target));
        stat.add(Span::from_ms(10), target);
        assert!(!stat.is_ok(JudgedBy::Missed, target) && stat.is_ok(JudgedBy::Mean, target));
        assert_eq!([1, 10, 900].map(|ms| length(Span::from_ms(ms)).as_ns() / 1_000_000), [100, 160, 1000]);
    }
}
