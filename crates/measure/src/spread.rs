//! One measure over several seeds: its mean and spread, and whether two such sets differ by more than that.

/// What a measure came to over the seeds of one configuration. The unit is the measure's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// How many seeds.
    pub count: usize,
    /// Mean over the seeds; 0 if there is none.
    pub mean: f64,
    /// Least.
    pub min: f64,
    /// Greatest.
    pub max: f64,
    /// Standard deviation (n − 1); 0 for fewer than two seeds.
    pub stddev: f64,
}

/// How two sets of per-seed values stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Same mean, same range.
    None,
    /// They differ, but not by more than either varies from seed to seed.
    WithinSpread,
    /// They differ, but one of them has a single seed, so nobody knows its spread.
    SpreadUnknown,
    /// They differ by more than their spread.
    BeyondSpread,
}

impl Spread {
    /// Of one value per seed. Values that are not finite are left out.
    pub fn of(values: &[f64]) -> Spread {
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let count = finite().count();
        if count == 0 {
            return Spread::default();
        }
        let mean = finite().sum::<f64>() / count as f64;
        let squares: f64 = finite().map(|value| (value - mean) * (value - mean)).sum();
        let (min, max) = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
        let stddev = if count < 2 { 0.0 } else { libm::sqrt(squares / (count - 1) as f64) };
        // A rounded sum must not push the mean out of the range.
        Spread { count, mean: mean.clamp(min, max), min, max, stddev }
    }

    /// Do the ranges from least to greatest touch?
    pub fn overlaps(&self, other: &Spread) -> bool {
        self.min <= other.max && other.min <= self.max
    }

    /// How the two sets stand to each other.
    ///
    /// **Rule**: they differ beyond their spread if no value of one lies within the range of the other *and* the means
    /// are further apart than the two standard deviations together. Either set needs at least two values: one seed
    /// says nothing about spread. With five seeds a side, two sets drawn from the same distribution have disjoint
    /// ranges once in 126 times (2·5!·5!/10!), so the rule cries wolf less often than that.
    pub fn compared_with(&self, other: &Spread) -> Difference {
        if self.count == 0 || other.count == 0 {
            return Difference::SpreadUnknown;
        }
        if (self.mean, self.min, self.max) == (other.mean, other.min, other.max) {
            return Difference::None;
        }
        if self.count < 2 || other.count < 2 {
            return Difference::SpreadUnknown;
        }
        let apart = (self.mean - other.mean).abs() > self.stddev + other.stddev;
        if apart && !self.overlaps(other) { Difference::BeyondSpread } else { Difference::WithinSpread }
    }

    /// True of [`Difference::BeyondSpread`] alone.
    pub fn differs_from(&self, other: &Spread) -> bool {
        self.compared_with(other) == Difference::BeyondSpread
    }

    /// This mean over `base`'s, as in "1.25 times"; `None` if `base`'s is 0.
    pub fn times(&self, base: &Spread) -> Option<f64> {
        (base.mean != 0.0).then(|| self.mean / base.mean)
    }
}

/// The geometric mean of ratios; 1 of none. Each counts as at least a thousandth and at most a thousand, so that a
/// ratio to nothing does not drown the others.
///
/// ```
/// assert_eq!(blksched_measure::geometric_mean(&[4.0, 0.25]), 1.0);
/// ```
pub fn geometric_mean(ratios: &[f64]) -> f64 {
    let logarithms = ratios.iter().map(|ratio| libm::log(ratio.clamp(1e-3, 1e3)));
    if ratios.is_empty() { 1.0 } else { libm::exp(logarithms.sum::<f64>() / ratios.len() as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identical_samples_never_differ() {
        for values in [&[1.0, 2.0, 3.0][..], &[5.0, 5.0], &[0.1, 0.2, 0.30000000000000004], &[7.0], &[]] {
            let spread = Spread::of(values);
            assert!(!spread.differs_from(&spread));
            assert!(!spread.differs_from(&Spread::of(values)));
        }
        assert_eq!(Spread::of(&[5.0, 5.0]).compared_with(&Spread::of(&[5.0, 5.0])), Difference::None);
    }

    #[test]
    fn far_apart_sets_differ_whichever_comes_first() {
        let (low, high) = (Spread::of(&[10.0, 11.0, 12.0]), Spread::of(&[20.0, 21.0, 22.0]));
        assert!(low.differs_from(&high) && high.differs_from(&low));
        assert_eq!(high.times(&low), Some(21.0 / 11.0));
    }

    #[test]
    fn overlapping_ranges_do_not_differ() {
        let (a, b) = (Spread::of(&[10.0, 10.0, 10.0, 10.0, 16.0]), Spread::of(&[15.0, 20.0, 20.0, 20.0, 20.0]));
        assert!(a.overlaps(&b));
        assert_eq!(a.compared_with(&b), Difference::WithinSpread);
    }

    #[test]
    fn disjoint_ranges_closer_than_their_deviations_do_not_differ() {
        let (a, b) = (Spread::of(&[0.0, 10.0]), Spread::of(&[10.5, 20.0]));
        assert!(!a.overlaps(&b));
        assert_eq!(a.compared_with(&b), Difference::WithinSpread);
    }

    #[test]
    fn values_that_do_not_vary_differ_by_anything() {
        assert!(Spread::of(&[5.0, 5.0]).differs_from(&Spread::of(&[5.1, 5.1])));
    }

    #[test]
    fn one_seed_says_nothing_about_spread() {
        assert_eq!(Spread::of(&[5.0]).compared_with(&Spread::of(&[500.0])), Difference::SpreadUnknown);
        assert_eq!(Spread::of(&[]).compared_with(&Spread::of(&[1.0, 2.0])), Difference::SpreadUnknown);
    }

    #[test]
    fn what_is_not_a_number_is_left_out() {
        let spread = Spread::of(&[1.0, f64::NAN, 3.0, f64::INFINITY]);
        assert_eq!((spread.count, spread.mean, spread.min, spread.max), (2, 2.0, 1.0, 3.0));
    }

    #[test]
    fn the_deviation_is_that_of_a_sample() {
        assert_eq!(format!("{:.6}", Spread::of(&[64.0, 64.0, 66.0]).stddev), "1.154701");
    }
}
