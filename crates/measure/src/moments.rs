//! Count, mean, standard deviation and extremes of whole numbers, kept as exact sums.
//!
//! Sums are integers, so merging in any order, and any platform, gives the same result to the last bit.

/// Statistics of whole numbers that are not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    count: u64,
    sum: u128,
    squares: u128,
    min: u64,
    max: u64,
}

impl Moments {
    /// Counts `value`.
    #[inline]
    pub fn record(&mut self, value: u64) {
        let wide = u128::from(value);
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.count += 1;
        // Only more than 2⁶⁴ values would overflow.
        self.sum += wide;
        self.squares = self.squares.saturating_add(wide * wide);
    }

    /// Counts `value` `times` times.
    pub fn record_n(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.merge(&Moments {
            count: times,
            sum: u128::from(value) * u128::from(times),
            squares: (u128::from(value) * u128::from(value)).saturating_mul(u128::from(times)),
            min: value,
            max: value,
        });
    }

    /// Adds everything that `other` counted.
    pub fn merge(&mut self, other: &Moments) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// What came after an earlier copy, whose extremes are known only to lie within these.
    pub(crate) fn since(&self, earlier: &Moments, (least, greatest): (u64, u64)) -> Moments {
        Moments {
            count: self.count.saturating_sub(earlier.count),
            sum: self.sum.saturating_sub(earlier.sum),
            squares: self.squares.saturating_sub(earlier.squares),
            min: least.clamp(self.min, self.max),
            max: greatest.clamp(self.min, self.max),
        }
    }

    /// The number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The least, 0 if there is none.
    pub fn min(&self) -> u64 {
        self.min
    }

    /// The greatest, 0 if there is none.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Their mean, 0 if there is none.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// Their standard deviation (of a sample: divided by n − 1, as fio does), 0 for fewer than two values.
    pub fn stddev(&self) -> f64 {
        if self.count < 2 { 0.0 } else { libm::sqrt(self.squared_deviations() / (self.count - 1) as f64) }
    }

    /// Σ(x − mean)². Exact integers as long as they fit in 128 bits, rounded beyond.
    pub(crate) fn squared_deviations(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let count = u128::from(self.count);
        match (self.squares.checked_mul(count), self.sum.checked_mul(self.sum)) {
            (Some(squares), Some(square)) => squares.saturating_sub(square) as f64 / count as f64,
            _ => (self.squares as f64 - self.sum as f64 * self.mean()).max(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> Moments {
        let mut moments = Moments::default();
        values.iter().for_each(|&v| moments.record(v));
        moments
    }

    #[test]
    fn the_deviation_is_that_of_a_sample() {
        let moments = of(&[64, 64, 66]);
        assert_eq!((moments.count(), moments.min(), moments.max()), (3, 64, 66));
        assert_eq!(format!("{:.6} {:.6}", moments.mean(), moments.stddev()), "64.666667 1.154701");
    }

    #[test]
    fn a_small_deviation_survives_a_large_mean() {
        let moments = of(&[10_000_000_000_001, 10_000_000_000_003]);
        assert_eq!(format!("{:.6}", moments.stddev()), "1.414214");
    }

    #[test]
    fn merging_equals_recording_and_many_equals_one_by_one() {
        let mut merged = of(&[5, 9]);
        merged.merge(&of(&[2, 2, 2]));
        merged.merge(&Moments::default());
        let mut counted = of(&[9, 5]);
        counted.record_n(2, 3);
        counted.record_n(77, 0);
        assert_eq!(merged, counted);
        assert_eq!(merged.min(), 2);
    }

    #[test]
    fn nothing_has_a_mean_of_zero_and_one_value_no_deviation() {
        assert_eq!((Moments::default().mean(), Moments::default().stddev()), (0.0, 0.0));
        assert_eq!((of(&[7]).mean(), of(&[7]).stddev()), (7.0, 0.0));
    }
}
