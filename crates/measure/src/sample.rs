//! One measure of one scheduler, seed by seed.

use crate::paired::Paired;
use crate::spread::Spread;

/// A value per seed, in the seeds' order, so that two samples pair up. A missing value is NaN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    values: Vec<f64>,
}

/// Runs that fall into two distant groups.
#[derive(Clone, Debug, PartialEq)]
pub struct Modes {
    /// The number of runs in the lower group, and their mean.
    pub low: (usize, f64),
    /// The same of the upper group.
    pub high: (usize, f64),
}

impl Sample {
    /// A sample of these values.
    pub fn of(values: Vec<f64>) -> Sample {
        Sample { values }
    }

    /// One per seed.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Mean and spread.
    pub fn spread(&self) -> Spread {
        Spread::of(&self.values)
    }

    /// The mean over the seeds; NaN if nothing was measured.
    pub fn mean(&self) -> f64 {
        let spread = self.spread();
        if spread.count == 0 { f64::NAN } else { spread.mean }
    }

    /// The 95 % interval of the mean (Student's t); `None` for fewer than two seeds.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let known: Vec<f64> = self.values.iter().copied().filter(|value| value.is_finite()).collect();
        crate::paired::interval(&known)
    }

    /// This sample compared with `base`, seed by seed.
    pub fn against(&self, base: &Sample) -> Option<Paired> {
        Paired::of(&self.values, &base.values)
    }

    /// The two modes of the runs, if they have two: at least four seeds, a gap of at least a factor of two between two
    /// neighbours, and neither side reaching half as far as the gap.
    pub fn modes(&self) -> Option<Modes> {
        let mut sorted: Vec<f64> = self.values.iter().copied().filter(|v| v.is_finite() && *v > 0.0).collect();
        sorted.sort_by(f64::total_cmp);
        if sorted.len() < 4 {
            return None;
        }
        let times = |at: usize| sorted[at + 1] / sorted[at];
        let at = (0..sorted.len() - 1).max_by(|&a, &b| times(a).total_cmp(&times(b)))?;
        let (low, high) = sorted.split_at(at + 1);
        let reach = |side: &[f64]| libm::log(side[side.len() - 1] / side[0]);
        let gap = libm::log(times(at));
        let mean = |side: &[f64]| (side.len(), side.iter().sum::<f64>() / side.len() as f64);
        let apart = gap >= core::f64::consts::LN_2 && 2.0 * reach(low).max(reach(high)) <= gap;
        apart.then(|| Modes { low: mean(low), high: mean(high) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_modes_are_told_from_a_spread() {
        let two = Sample::of(vec![3.4, 3.5, 1.1, 3.45, 3.5]).modes().unwrap();
        assert_eq!((two.low.0, two.high.0), (1, 4));
        assert!((two.high.1 - 3.4625).abs() < 1e-9);
        assert_eq!(Sample::of(vec![1.0, 1.5, 2.3, 3.4, 5.2]).modes(), None);
        assert_eq!(Sample::of(vec![1.0, 1.9, 1.05, 1.1]).modes(), None);
        assert_eq!(Sample::of(vec![1.0, 9.0, 1.0]).modes(), None);
    }
}
