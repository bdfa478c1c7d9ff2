//! Latencies \[ns\], with percentiles to three digits and exact mean, deviation and extremes.
//!
//! Counts sit in an HDR histogram (a value is known to one part in a thousand at any size); mean, standard deviation,
//! least and greatest come from exact sums beside it.

use blksched::Span;

use crate::moments::Moments;

/// fio's own list of completion percentiles \[%\] (the default of its `percentile_list`).
pub const FIO_PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// Significant digits of a percentile.
const DIGITS: u8 = 3;

/// Latencies, by size.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    counts: hdrhistogram::Histogram<u32>,
    moments: Moments,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::new()
    }
}

impl Histogram {
    /// An empty one that grows with the latencies it meets (a bounded number of times: the table is logarithmic).
    pub fn new() -> Histogram {
        let counts = hdrhistogram::Histogram::new(DIGITS).expect("three digits are within an HDR histogram's range");
        Histogram { counts, moments: Moments::default() }
    }

    /// An empty one that does not allocate for latencies up to `longest`.
    pub fn with_room_for(longest: Span) -> Histogram {
        let mut counts = hdrhistogram::Histogram::new_with_bounds(1, longest.as_ns().max(2), DIGITS)
            .expect("three digits and a bound of at least 2 are within an HDR histogram's range");
        counts.auto(true);
        Histogram { counts, moments: Moments::default() }
    }

    /// Count a latency in.
    pub fn record(&mut self, latency: Span) {
        self.moments.record(latency.as_ns());
        self.counts.record(latency.as_ns()).expect("a histogram that resizes itself takes any value");
    }

    /// Count in everything that `other` counted.
    pub fn merge(&mut self, other: &Histogram) {
        self.moments.merge(&other.moments);
        self.counts.add(&other.counts).expect("a histogram that resizes itself takes any other");
    }

    /// How many latencies.
    pub fn count(&self) -> u64 {
        self.moments.count()
    }

    /// True if there is none.
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

    /// Exact sums, for whoever needs no percentiles.
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// The latency that `percent` \[0..=100\] of all do not exceed, to one part in a thousand, rounded up; zero if
    /// there is none. Never beyond [`Histogram::min`] and [`Histogram::max`].
    pub fn percentile(&self, percent: f64) -> Span {
        if self.is_empty() {
            return Span::ZERO;
        }
        let ns = self.counts.value_at_quantile(percent / 100.0);
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
    fn one_latency_is_every_percentile_and_none_is_zero() {
        let mut histogram = Histogram::with_room_for(Span::from_secs(1));
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
