//! The latencies of requests, in quarters of their domain's target, and when there are enough to judge.
//!
//! **Rule** A request's latency falls into the bucket of as many quarters of the target as it exceeds, at most 7:
//! buckets 0 to 3 are within the target. A percentile is computed once there are 500 samples, or a second after it was
//! first requested with at least one sample; its samples are then discarded. Total and device latency have separate
//! histograms but share *one* clock for that second, and device latency is judged first: with fewer than 500 samples
//! per second it is judged and restarts the clock, and the total latency must wait for 500 samples.
//! **Origin** docs/behaviour/elevators-6.1.md#kyber "Latency" and "Timer".
//! **Costs when wrong** Two clocks would move depths on slow disks, where a kernel's hardly ever move.
//! **In the kernel** `kyber_cpu_latency`, `add_latency_sample`, `flush_latency_buckets`, `KYBER_LATENCY_BUCKETS`.

use crate::explain::Latency;
use crate::time::{Span, Tick};

const BUCKETS: usize = 8;
/// This many samples are enough at any time.
const ENOUGH: u32 = 500;
/// The first bucket above the target.
const BAD: u32 = 4;

/// Samples by quarters of the target.
#[derive(Clone, Copy, Debug, Default)]
struct Histogram([u32; BUCKETS]);

impl Histogram {
    fn samples(&self) -> u32 {
        self.0.iter().sum()
    }

    fn add(&mut self, other: Histogram) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, more)| *sum += more);
    }

    /// The bucket of the `percent`th percentile.
    fn percentile(&self, percent: u32) -> u32 {
        let mut rank = (u64::from(self.samples()) * u64::from(percent)).div_ceil(100);
        for (bucket, &count) in (0..).zip(&self.0[..BUCKETS - 1]) {
            if u64::from(count) >= rank {
                return bucket;
            }
            rank -= u64::from(count);
        }
        BUCKETS as u32 - 1
    }
}

/// One domain's latencies.
#[derive(Clone, Debug, Default)]
pub(super) struct Latencies {
    /// The samples since the last timer; `kept`: those until the next judgement.
    fresh: [Histogram; 2],
    kept: [Histogram; 2],
    /// When even a few samples are enough.
    patience: Option<Tick>,
}

impl Latencies {
    #[inline(always)]
    pub(super) fn count(&mut self, latency: Latency, took: Span, target: Span) {
        self.fresh[latency as usize].0[bucket(took, target)] += 1;
    }

    /// Adds the samples since the last timer to those kept.
    pub(super) fn look(&mut self) {
        for (kept, fresh) in self.kept.iter_mut().zip(&mut self.fresh) {
            kept.add(core::mem::take(fresh));
        }
    }

    /// The percentile by which this latency is judged, as a bucket, if there are enough samples, which are then
    /// discarded.
    pub(super) fn judge(&mut self, latency: Latency, now: Tick, a_second: Tick) -> Option<Judged> {
        let samples = self.kept[latency as usize].samples();
        if samples == 0 {
            return None;
        }
        let until = *self.patience.get_or_insert(now + a_second);
        if samples < ENOUGH && now < until {
            return None;
        }
        self.patience = None;
        let percent = match latency {
            Latency::Total => 99,
            Latency::Device => 90,
        };
        Some(Judged(core::mem::take(&mut self.kept[latency as usize]).percentile(percent)))
    }
}

/// The bucket that a percentile fell into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Judged(pub(super) u32);

impl Judged {
    /// Whether it exceeds the target.
    pub(super) fn is_bad(self) -> bool {
        self.0 >= BAD
    }

    /// The number of quarters of the target that it is within; 8 stands for any greater number.
    pub(super) fn quarters(self) -> u32 {
        self.0 + 1
    }
}

/// How many quarters of the target `took` exceeds, at most 7. A quarter is at least a nanosecond.
#[inline(always)]
fn bucket(took: Span, target: Span) -> usize {
    let quarter = (target.as_ns() / 4).max(1);
    // The usual case, without a division.
    if took.as_ns() <= quarter { 0 } else { slow_bucket(took, quarter) }
}

/// The number of whole quarters that `took` exceeds.
#[inline(never)]
fn slow_bucket(took: Span, quarter: u64) -> usize {
    (took.as_ns().saturating_sub(1) / quarter).min(BUCKETS as u64 - 1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(latency: Latency, samples: u32) -> Latencies {
        let mut latencies = Latencies::default();
        for _ in 0..samples {
            latencies.count(latency, Span::from_ms(3), Span::from_ms(2));
        }
        latencies.look();
        latencies
    }

    #[test]
    fn exactly_the_target_is_good_and_a_nanosecond_more_is_bad() {
        let target = Span::from_ns(2000);
        let at = |ns| bucket(Span::from_ns(ns), target);
        assert_eq!([0, 1, 500, 501, 2000, 2001, 3500, 3501, 1 << 40].map(at), [0, 0, 0, 1, 3, 4, 6, 7, 7]);
        assert_eq!([0, 1, 2, 8].map(|ns| bucket(Span::from_ns(ns), Span::ZERO)), [0, 0, 1, 7]);
    }

    #[test]
    fn a_percentile_is_the_bucket_in_which_its_rank_lies() {
        let histogram = Histogram([0, 98, 0, 1, 1, 0, 0, 0]);
        assert_eq!([90, 98, 99, 100].map(|percent| histogram.percentile(percent)), [1, 1, 3, 4]);
        assert_eq!(Histogram([0, 0, 0, 0, 0, 0, 0, 1]).percentile(1), 7);
        // ⌈101 × 99 %⌉ = 100: the hundredth of 101.
        assert_eq!(Histogram([100, 1, 0, 0, 0, 0, 0, 0]).percentile(99), 0);
    }

    #[test]
    fn five_hundred_samples_are_judged_at_once_and_499_wait_for_a_second() {
        let mut enough = counted(Latency::Total, 500);
        assert_eq!(enough.judge(Latency::Total, 1000, 250), Some(Judged(5)));
        let mut few = counted(Latency::Total, 499);
        assert_eq!(few.judge(Latency::Total, 1000, 250), None);
        assert_eq!(few.judge(Latency::Total, 1249, 250), None);
        assert_eq!(few.judge(Latency::Total, 1250, 250), Some(Judged(5)));
        assert_eq!(few.judge(Latency::Total, 2000, 250), None, "its samples are used up");
    }

    #[test]
    fn device_latency_asked_first_restarts_the_clock_that_both_share() {
        let mut both = counted(Latency::Total, 100);
        for _ in 0..100 {
            both.count(Latency::Device, Span::from_ms(1), Span::from_ms(2));
        }
        both.look();
        let mut ask = |now| (both.judge(Latency::Device, now, 250), both.judge(Latency::Total, now, 250));
        assert_eq!(ask(1000), (None, None));
        assert_eq!(ask(1250), (Some(Judged(1)), None), "the total one waits for another second");
        assert_eq!(ask(1499), (None, None));
        assert_eq!(ask(1500), (None, Some(Judged(5))), "nothing of the device's restarted it");
    }
}
