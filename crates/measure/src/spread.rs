//! One measure over several seeds: its mean and spread.

/// A measure's values over the seeds of one configuration. The unit is the measure's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// The number of seeds.
    pub count: usize,
    /// The mean over the seeds; 0 if there are none.
    pub mean: f64,
    /// Least.
    pub min: f64,
    /// Greatest.
    pub max: f64,
    /// Standard deviation (n − 1); 0 for fewer than two seeds.
    pub stddev: f64,
}

impl Spread {
    /// The spread of one value per seed. Values that are not finite are left out.
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

    /// This mean divided by `base`'s, as in "1.25 times"; `None` if `base`'s is 0.
    pub fn times(&self, base: &Spread) -> Option<f64> {
        (base.mean != 0.0).then(|| self.mean / base.mean)
    }
}

/// The geometric mean of ratios; 1 if there are none. Each counts as at least a thousandth and at most a thousand, so
/// that a ratio to zero does not drown the others.
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
    fn what_is_not_a_number_is_left_out() {
        let spread = Spread::of(&[1.0, f64::NAN, 3.0, f64::INFINITY]);
        assert_eq!((spread.count, spread.mean, spread.min, spread.max), (2, 2.0, 1.0, 3.0));
    }

    #[test]
    fn the_deviation_is_that_of_a_sample() {
        assert_eq!(format!("{:.6}", Spread::of(&[64.0, 64.0, 66.0]).stddev), "1.154701");
    }
}
