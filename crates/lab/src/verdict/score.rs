//! How many times better a scheduler is, seed by seed.

use blksched_measure::{Sample, logarithms};

use crate::runs::measured::Measured;
use crate::verdict::figure::Figure;

/// A smaller improvement is not worth a change.
pub const WORTH_IT: f64 = 1.05;
/// Greater ratios are cut to this.
const FARTHEST: f64 = 1e3;

/// In each seed, the logarithm of how many times better: all groups of figures weigh the same, and so do the figures
/// within a group.
pub fn scores(objectives: &[Vec<Figure>], here: &Measured, base: &Measured) -> Vec<f64> {
    let scores = scores_by_seed(objectives, here, base, Figure::sample);
    scores.into_iter().filter(|score| score.is_finite()).collect()
}

/// The same for every seed, NaN where it is unknown; `sample` says which part of the runs counts.
pub(super) fn scores_by_seed(
    objectives: &[Vec<Figure>],
    here: &Measured,
    base: &Measured,
    sample: impl Fn(&Figure, &Measured) -> Option<Sample>,
) -> Vec<f64> {
    let logs = |figure: &Figure| -> Option<Vec<f64>> {
        let (h, b) = (sample(figure, here)?, sample(figure, base)?);
        let sign = if figure.what.higher_is_better() { 1.0 } else { -1.0 };
        let farthest = FARTHEST.ln();
        let one = |(h, b): (&f64, &f64)| {
            logarithms(&[*h], &[*b]).first().map_or(f64::NAN, |log| (sign * log).clamp(-farthest, farthest))
        };
        Some(h.values().iter().zip(b.values()).map(one).collect())
    };
    let groups: Vec<Vec<Vec<f64>>> = objectives.iter().map(|group| group.iter().filter_map(logs).collect()).collect();
    let seeds = base.jain.values().len();
    let mean = |values: Vec<f64>| {
        let known: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        if known.is_empty() { f64::NAN } else { known.iter().sum::<f64>() / known.len() as f64 }
    };
    let in_seed = |seed: usize| {
        let groups = groups.iter().map(|group| mean(group.iter().filter_map(|logs| logs.get(seed).copied()).collect()));
        mean(groups.collect())
    };
    (0..seeds).map(in_seed).collect()
}
