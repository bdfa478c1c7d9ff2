//! Samples in buckets: a histogram of latencies relative to the prediction.
//!
//! **Rule** 64 buckets for small requests and 64 for large ones, numbered by latency over reference. The number is
//! truncated to eight bits before it is limited, so it is not monotonic: a latency of 72 times the reference or more
//! counts as short again.
//! **Origin** docs/behaviour/adios-3.1.md#a9; the quirk (#a13, trap 8) is kept.

/// Requests of at most this many bytes are samples of the base, larger ones of the slope.
pub(super) const SMALL: u32 = 4096;

/// The number of buckets.
const BUCKETS: usize = 64;

/// One bucket.
#[derive(Clone, Copy, Debug, Default)]
struct SampleBucket {
    /// Weighted sum \[ns\].
    latency: u64,
    weight: u64,
    /// Weighted sum; of large requests only.
    bytes: u64,
}

/// A distribution of latencies.
#[derive(Clone, Debug)]
pub(super) struct Buckets([SampleBucket; BUCKETS]);

impl Default for Buckets {
    fn default() -> Buckets {
        Buckets([SampleBucket::default(); BUCKETS])
    }
}

/// A sum of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) latency: u64,
    pub(super) weight: u64,
    pub(super) bytes: u64,
}

impl Buckets {
    /// Adds a request of `bytes` that took `latency` where `reference` was expected.
    pub(super) fn add(&mut self, latency: u64, reference: u64, weight: u64, bytes: u64) {
        let bucket = &mut self.0[number(latency, reference)];
        bucket.latency = bucket.latency.wrapping_add(weight.wrapping_mul(latency));
        bucket.weight = bucket.weight.wrapping_add(weight);
        bucket.bytes = bucket.bytes.wrapping_add(weight.wrapping_mul(bytes));
    }

    /// Moves everything from `other` to here.
    pub(super) fn take(&mut self, other: &mut Buckets) {
        for (here, there) in self.0.iter_mut().zip(&mut other.0) {
            let SampleBucket { latency, weight, bytes } = core::mem::take(there);
            here.latency = here.latency.wrapping_add(latency);
            here.weight = here.weight.wrapping_add(weight);
            here.bytes = here.bytes.wrapping_add(bytes);
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Buckets::default();
    }

    pub(super) fn weight(&self) -> u64 {
        self.0.iter().fold(0, |sum, bucket| sum.wrapping_add(bucket.weight))
    }

    /// The sum of the shortest samples, up to a weight of `threshold`, with a proportional part of the bucket in which
    /// that lies.
    pub(super) fn lowest(&self, threshold: u64) -> Sum {
        let mut sum = Sum::default();
        for bucket in &self.0 {
            let so_far = sum.weight.wrapping_add(bucket.weight);
            if so_far < threshold {
                sum.latency = sum.latency.wrapping_add(bucket.latency);
                sum.bytes = sum.bytes.wrapping_add(bucket.bytes);
                sum.weight = so_far;
                continue;
            }
            if bucket.weight > 0 {
                let part = threshold.wrapping_sub(sum.weight);
                let of = |whole: u64| divide(whole.wrapping_mul(part), bucket.weight);
                sum.latency = sum.latency.wrapping_add(of(bucket.latency));
                sum.bytes = sum.bytes.wrapping_add(of(bucket.bytes));
                sum.weight = sum.weight.wrapping_add(part);
            }
            break;
        }
        sum
    }
}

/// A division by a 32-bit number, as the kernel's `div_u64`. (The kernel would crash at a divisor of 0, which is
/// possible only if a user loads such a model; here it counts as 1.)
pub(super) fn divide(by_what: u64, divisor: u64) -> u64 {
    by_what / u64::from((divisor as u32).max(1))
}

fn number(latency: u64, reference: u64) -> usize {
    let times = |factor: u64| divide(latency.wrapping_mul(factor), reference);
    let number = if latency < reference.wrapping_mul(2) {
        times(20)
    } else if latency < reference.wrapping_mul(5) {
        times(10).wrapping_add(20)
    } else {
        times(3).wrapping_add(40)
    };
    usize::from(number as u8).min(BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_twentieth_then_a_tenth_then_a_third_of_the_reference() {
        let numbers = [0, 50, 100, 199, 200, 400, 439, 440].map(|latency| number(latency, 100));
        assert_eq!(numbers, [0, 10, 20, 39, 40, 60, 63, 63]);
    }

    #[test]
    fn a_number_is_not_monotonic() {
        assert_eq!([490, 500, 700, 760].map(|latency| number(latency, 100)), [63, 55, 61, 62]);
        assert_eq!([7190, 7200, 7300].map(|latency| number(latency, 100)), [63, 0, 3]);
    }

    #[test]
    fn of_the_bucket_at_the_threshold_a_proportional_part_counts() {
        let mut buckets = Buckets::default();
        (0..4).for_each(|_| buckets.add(10, 100, 1, 8));
        (0..4).for_each(|_| buckets.add(110, 100, 1, 8));
        assert_eq!(buckets.lowest(6), Sum { latency: 40 + 220, weight: 6, bytes: 48 });
        assert_eq!(buckets.lowest(0), Sum::default());
        assert_eq!(buckets.lowest(8), Sum { latency: 480, weight: 8, bytes: 64 });
    }
}
