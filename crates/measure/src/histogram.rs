//! Latencies \[ns\], with percentiles to three digits and exact mean, deviation and extremes.
//!
//! Counts sit in the buckets of an HDR histogram (a value is known to one part in a thousand at any size); mean,
//! standard deviation, least and greatest come from exact sums beside them.

use blksched::Span;

use crate::moments::Moments;

mod counts;

use counts::Counts;

/// fio's own list of completion percentiles \[%\] (the default of its `percentile_list`).
pub const FIO_PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// Latencies, by size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    counts: Counts,
    moments: Moments,
}

impl Histogram {
    /// An empty histogram, which takes no memory; it grows with the (logarithmic) range of its latencies.
    pub fn new() -> Histogram {
        Histogram::default()
    }

    /// Counts a latency.
    pub fn record(&mut self, latency: Span) {
        self.moments.record(latency.as_ns());
        self.counts.record(latency.as_ns());
    }

    /// Adds everything that `other` counted.
    pub fn merge(&mut self, other: &Histogram) {
        self.moments.merge(&other.moments);
        self.counts.merge(&other.counts);
    }

    /// What was counted after an earlier copy of it. Its extremes are known to one part in a thousand, like its
    /// percentiles.
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        let counts = self.counts.since(&earlier.counts);
        let moments = self.moments.since(&earlier.moments, counts.ends());
        Histogram { counts, moments: if moments.count() == 0 { Moments::default() } else { moments } }
    }

    /// Its memory beyond its own size \[bytes\].
    pub fn bytes(&self) -> usize {
        self.counts.bytes()
    }

    /// The number of latencies.
    pub fn count(&self) -> u64 {
        self.moments.count()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Their mean \[ns\], exact; 0 if there is none.
    pub fn mean(&self) -> f64 {
        self.moments.mean()
    }

    /// Their standard deviation \[ns\] (n − 1), exact; 0 for fewer than two.
    pub fn stddev(&self) -> f64 {
        self.moments.stddev()
    }

    /// The least, exact; zero if there is none.
    pub fn min(&self) -> Span {
        Span::from_ns(self.moments.min())
    }

    /// The greatest, exact; zero if there is none.
    pub fn max(&self) -> Span {
        Span::from_ns(self.moments.max())
    }

    /// Exact sums, where no percentiles are needed.
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// The latency that `percent` \[0..=100\] of all do not exceed, to one part in a thousand, rounded up; zero if
    /// there is none. Never beyond [`Histogram::min`] and [`Histogram::max`].
    pub fn percentile(&self, percent: f64) -> Span {
        if self.is_empty() {
            return Span::ZERO;
        }
        // Like HDR histograms, rounds up to the next rank.
        let rank = (percent / 100.0 * self.count() as f64).ceil() as u64;
        let ns = self.counts.of_rank(rank.max(1));
        Span::from_ns(ns.clamp(self.moments.min(), self.moments.max()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Latencies from 1 µs to about 100 ms, evenly over the magnitudes.
    fn latencies() -> Vec<u64> {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        (0..5000).map(|_| 1000 + (next() % 1000) * 10u64.pow((next() % 6) as u32)).collect()
    }

    #[test]
    fn percentiles_agree_with_a_sorted_vector() {
        let mut sorted = latencies();
        let mut histogram = Histogram::new();
        sorted.iter().for_each(|&ns| histogram.record(Span::from_ns(ns)));
        sorted.sort_unstable();
        for percent in FIO_PERCENTILES {
            let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
            let (exact, ours) = (sorted[rank - 1], histogram.percentile(percent).as_ns());
            assert!(ours >= exact && ours - exact <= exact / 1000, "p{percent}: {ours} against {exact}");
        }
        assert_eq!(histogram.percentile(100.0), histogram.max());
        assert_eq!(histogram.min().as_ns(), sorted[0]);
    }

    #[test]
    fn a_merged_histogram_is_that_of_both_sets() {
        let all = latencies();
        let (mut left, mut right, mut whole) = (Histogram::new(), Histogram::new(), Histogram::new());
        for (i, &ns) in all.iter().enumerate() {
            if i % 3 == 0 {
                left.record(Span::from_ns(ns))
            } else {
                right.record(Span::from_ns(ns))
            }
            whole.record(Span::from_ns(ns));
        }
        left.merge(&right);
        assert_eq!(left.moments(), whole.moments());
        for percent in FIO_PERCENTILES {
            assert_eq!(left.percentile(percent), whole.percentile(percent));
        }
    }

    #[test]
    fn what_came_after_a_copy_is_what_was_counted_since() {
        let all = latencies();
        for cut in [0, 1, 2500, 4999, 5000] {
            let (mut whole, mut after) = (Histogram::new(), Histogram::new());
            all[..cut].iter().for_each(|&ns| whole.record(Span::from_ns(ns)));
            let copy = whole.clone();
            for &ns in &all[cut..] {
                whole.record(Span::from_ns(ns));
                after.record(Span::from_ns(ns));
            }
            let since = whole.since(&copy);
            assert_eq!((since.count(), since.mean()), (after.count(), after.mean()));
            assert_eq!(since.stddev(), after.stddev());
            for percent in FIO_PERCENTILES {
                assert_eq!(since.counts.of_rank(1), after.counts.of_rank(1));
                let (ours, exact) = (since.percentile(percent).as_ns(), after.percentile(percent).as_ns());
                assert!(ours.abs_diff(exact) <= exact / 1000, "{cut}, p{percent}: {ours} against {exact}");
            }
            for (ours, exact) in [(since.min(), after.min()), (since.max(), after.max())] {
                assert!(ours.as_ns().abs_diff(exact.as_ns()) <= exact.as_ns() / 1000, "{cut}: {ours} against {exact}");
            }
        }
    }

    #[test]
    fn one_latency_is_every_percentile_and_none_is_zero() {
        let mut histogram = Histogram::new();
        assert_eq!(histogram.percentile(99.0), Span::ZERO);
        histogram.record(Span::from_ns(123_456_789));
        assert_eq!(histogram.percentile(1.0), Span::from_ns(123_456_789));
        assert_eq!(histogram.percentile(99.9), Span::from_ns(123_456_789));
    }

    #[test]
    fn zero_and_an_hour_fit() {
        let mut histogram = Histogram::new();
        histogram.record(Span::ZERO);
        histogram.record(Span::from_secs(3600));
        assert_eq!((histogram.min(), histogram.max()), (Span::ZERO, Span::from_secs(3600)));
        assert_eq!(histogram.mean(), 1.8e12);
    }
}
