//! A measured number and its spread.

/// A number, and half the width of its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The number.
    pub value: f64,
    /// Its accuracy, as far as repetition shows.
    pub spread: f64,
}

impl Measured {
    pub(super) fn new(value: f64, spread: f64) -> Measured {
        Measured { value, spread: spread.abs() }
    }

    /// The median, and half the interquartile range over the square root of the count.
    pub(super) fn median_of(values: &mut [f64]) -> Option<Measured> {
        let count = values.len();
        values.sort_by(f64::total_cmp);
        let at = |share: f64| values[((count - 1) as f64 * share).round() as usize];
        (count > 0).then(|| Measured::new(at(0.5), (at(0.75) - at(0.25)) / 2.0 / (count as f64).sqrt()))
    }

    /// The same in another unit.
    pub(super) fn times(self, factor: f64) -> Measured {
        Measured::new(self.value * factor, self.spread * factor)
    }

    /// The value minus something known.
    pub(super) fn less(self, other: f64) -> Measured {
        Measured::new((self.value - other).max(0.0), self.spread)
    }
}

/// The median of some numbers; 0 if there are none.
pub(super) fn median(values: &mut [f64]) -> f64 {
    Measured::median_of(values).map_or(0.0, |measured| measured.value)
}

/// The fractional part.
pub(super) fn fraction(x: f64) -> f64 {
    x - x.floor()
}

/// The rms distance between two distributions, quantile by quantile (Ruemmler and Wilkes's demerit figure).
pub fn demerit(real: &[f64], model: &[f64]) -> f64 {
    const QUANTILES: usize = 1000;
    let sorted = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        values
    };
    let (real, model) = (sorted(real), sorted(model));
    if real.is_empty() || model.is_empty() {
        return f64::NAN;
    }
    let at = |values: &[f64], nth: usize| {
        let place = (nth as f64 + 0.5) / QUANTILES as f64 * values.len() as f64 - 0.5;
        let low = place.floor().clamp(0.0, (values.len() - 1) as f64) as usize;
        let high = (low + 1).min(values.len() - 1);
        values[low] + (values[high] - values[low]) * (place - low as f64).clamp(0.0, 1.0)
    };
    let squares = (0..QUANTILES).map(|nth| (at(&real, nth) - at(&model, nth)).powi(2));
    (squares.sum::<f64>() / QUANTILES as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demerit_is_the_distance_of_shifted_distributions_and_does_not_mind_order() {
        let real: Vec<f64> = (0..500).map(f64::from).collect();
        let model: Vec<f64> = real.iter().rev().map(|x| x + 3.0).collect();
        assert!((demerit(&real, &model) - 3.0).abs() < 0.01);
        assert!(demerit(&real, &real) < 1e-9);
    }

    #[test]
    fn a_median_has_a_spread() {
        let measured = Measured::median_of(&mut [3.0, 1.0, 2.0, 5.0, 4.0]).unwrap();
        assert!(measured.value == 3.0 && (measured.spread - 1.0 / 5f64.sqrt()).abs() < 1e-12);
    }
}
