//! How far a drive is off on the loads of a matrix that its fit never saw, beside a prediction without a model.

use std::sync::Arc;

use blksched_disks::DiskSpec;
use rayon::prelude::*;

use super::{LatencyMatrix, MatrixCell, MatrixChoice, MatrixEffort, MatrixFigure, MatrixPlace, simulated_matrix};

/// Within these factors a figure is right: median, 95th percentile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatrixBounds(pub [f64; 2]);

impl MatrixBounds {
    /// The median within a factor of 1.3, the 95th percentile of 1.5.
    pub const USUAL: MatrixBounds = MatrixBounds([1.3, 1.5]);
}

/// How many figures are right, of how many: median, 95th percentile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatrixShares {
    /// Right.
    pub right: [usize; 2],
    /// Of so many.
    pub count: [usize; 2],
}

impl MatrixShares {
    fn add(&mut self, at: usize, is_right: bool) {
        self.right[at] += usize::from(is_right);
        self.count[at] += 1;
    }

    /// Both \[%\]; `None` if there is nothing to judge.
    pub fn percent(&self) -> Option<[f64; 2]> {
        let share = |at: usize| 100.0 * self.right[at] as f64 / self.count[at] as f64;
        self.count.iter().all(|count| *count > 0).then(|| [share(0), share(1)])
    }
}

/// A drive's judgement.
#[derive(Clone, Debug, Default)]
pub struct MatrixJudgement {
    /// Figures below the chart's ceiling.
    pub model: MatrixShares,
    /// The same from the loads used, the nearer the more (in logarithms, by the square of the distance).
    pub between: MatrixShares,
    /// Figures at the ceiling: right is what is there, too.
    pub at_ceiling: MatrixShares,
    /// The mean error of both figures below the ceiling, as a factor.
    pub mean_error: [f64; 2],
    /// Every load, with what was measured and what the drive gives \[us\].
    pub rows: Vec<(MatrixCell, [f64; 2])>,
}

impl MatrixJudgement {
    /// Judges a disk by the loads that the choice leaves.
    ///
    /// # Errors
    /// If a load does not fit on the disk.
    pub fn of(
        matrix: &LatencyMatrix,
        choice: &MatrixChoice,
        disk: &Arc<DiskSpec>,
        bounds: MatrixBounds,
        effort: MatrixEffort,
    ) -> Result<MatrixJudgement, String> {
        let judges: Vec<MatrixCell> = choice.judges.iter().filter_map(|at| matrix.cell(*at)).copied().collect();
        let found: Vec<[f64; 2]> =
            judges.par_iter().map(|cell| simulated_matrix(matrix, cell, disk, effort)).collect::<Result<_, _>>()?;
        let used: Vec<&MatrixCell> = choice.used.iter().filter_map(|at| matrix.cell(*at)).collect();
        let (mut judged, mut logs) = (MatrixJudgement::default(), [0.0; 2]);
        for (cell, ours) in judges.iter().zip(found) {
            for at in 0..2 {
                let Some(measured) = cell.figures[at] else { continue };
                if measured.is_least {
                    judged.at_ceiling.add(at, ours[at] * bounds.0[at] >= measured.us);
                    continue;
                }
                let is_right = |us: f64| (us / measured.us).max(measured.us / us) <= bounds.0[at];
                judged.model.add(at, is_right(ours[at].max(1e-3)));
                logs[at] += (ours[at].max(1e-3) / measured.us).ln().abs();
                if let Some(between) = between(&used, cell.place, at) {
                    judged.between.add(at, is_right(between));
                }
            }
            judged.rows.push((*cell, ours));
        }
        judged.mean_error = [0, 1].map(|at| (logs[at] / judged.model.count[at].max(1) as f64).exp());
        Ok(judged)
    }
}

/// What the loads used say of another one, without a model \[us\].
fn between(used: &[&MatrixCell], place: MatrixPlace, at: usize) -> Option<f64> {
    let known = used.iter().filter_map(|cell| Some((cell.place, cell.figures[at]?)));
    let away = |one: u32, other: u32| f64::from(one.abs_diff(other)).powi(2);
    let weight = |(known, figure): (MatrixPlace, MatrixFigure)| {
        let square = away(known.reads, place.reads) + away(known.writes, place.writes);
        (1.0 / square.max(1e-9), figure.us.ln())
    };
    let (sum, weights) = known.map(weight).fold((0.0, 0.0), |(sum, all), (one, log)| (sum + one * log, all + one));
    (weights > 0.0).then(|| (sum / weights).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_model_the_nearest_load_counts_most() {
        let cell = |reads, us| {
            let figure = Some(MatrixFigure { us, is_least: false });
            let place = MatrixPlace { reads, writes: 0 };
            MatrixCell { place, read_iops: 1.0, write_rate: 0.0, figures: [figure, None] }
        };
        let (near, far) = (cell(1, 100.0), cell(10, 10_000.0));
        let at = |reads| between(&[&near, &far], MatrixPlace { reads, writes: 0 }, 0).unwrap();
        assert!((at(1) - 100.0).abs() < 0.1 && (at(10) - 10_000.0).abs() < 10.0);
        assert!((100.0..200.0).contains(&at(3)) && (5_000.0..10_000.0).contains(&at(8)), "{} {}", at(3), at(8));
        assert_eq!(between(&[&near], near.place, 1), None);
    }
}
