//! How far a model is off on cells that it never saw, beside two predictions without a model.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use blksched::{Dir, Span};
use blksched_disks::DiskSpec;
use rayon::prelude::*;

use crate::cell::{CellFigures, GridCell, GridLoad, LoadPattern, ResultGrid};
use crate::choice::CellChoice;
use crate::host::PathHost;
use crate::run::{RunEffort, SEED, simulated};
use crate::search::{Fitted, error};

/// Within these factors a figure is right: rate, median, p99, p99.9.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FigureBounds(pub [f64; 4]);

impl FigureBounds {
    /// Rate within a factor of 1.15, median of 1.2, p99 of 1.5, p99.9 of 2.
    pub const USUAL: FigureBounds = FigureBounds([1.15, 1.2, 1.5, 2.0]);

    /// Which figures are within.
    fn holds(&self, measured: &CellFigures, ours: &CellFigures) -> [bool; 4] {
        let (measured, ours) = (measured.values(), ours.values());
        core::array::from_fn(|at| {
            let ratio = ours[at].max(1e-9) / measured[at];
            // Too low by a factor is as wrong as too high by it.
            ratio.max(1.0 / ratio) <= self.0[at]
        })
    }
}

impl fmt::Display for FigureBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [iops, p50, p99, p999] = self.0;
        write!(f, "iops within {iops} times, p50 {p50}, p99 {p99}, p99.9 {p999}")
    }
}

/// The part of the cells that is right, for each figure \[0 to 1\].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RightShares {
    right: [usize; 4],
    /// Of so many.
    pub count: usize,
}

impl RightShares {
    fn add(&mut self, holds: [bool; 4]) {
        self.count += 1;
        for (right, holds) in self.right.iter_mut().zip(holds) {
            *right += usize::from(holds);
        }
    }

    /// Rate, median, p99, p99.9 \[%\]; `None` if there is nothing to judge.
    pub fn percent(&self) -> Option<[f64; 4]> {
        (self.count > 0).then(|| self.right.map(|right| 100.0 * right as f64 / self.count as f64))
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: RightShares) -> RightShares {
        let right = core::array::from_fn(|at| self.right[at] + other.right[at]);
        RightShares { right, count: self.count + other.count }
    }
}

/// A model's judgement.
#[derive(Clone, Debug, Default)]
pub struct GridJudgement {
    /// The model.
    pub model: RightShares,
    /// Interpolation between the cells used, by the number in flight, in logarithms.
    pub interpolated: RightShares,
    /// Another drive's grid on the same path; empty if there is none.
    pub other: RightShares,
    /// Every cell with what was measured and what the model gives.
    pub rows: Vec<(GridLoad, Dir, CellFigures, CellFigures)>,
}

impl GridJudgement {
    /// Judges a fit by the loads of a choice that `counts` accepts.
    ///
    /// # Errors
    /// If a load does not fit on the disk.
    pub fn of(
        grid: &ResultGrid,
        choice: &CellChoice,
        fitted: &Fitted,
        bounds: FigureBounds,
        other: Option<&ResultGrid>,
        counts: impl Fn(GridLoad, Dir) -> bool,
    ) -> Result<GridJudgement, String> {
        let disk = Arc::new(fitted.model.disk().map_err(|error| error.to_string())?);
        GridJudgement::of_disk(grid, choice, (&disk, fitted.submit(), fitted.host), bounds, other, counts)
    }

    /// Judges any disk, behind a host whose process works so long for each I/O.
    ///
    /// # Errors
    /// If a load does not fit on the disk.
    pub fn of_disk(
        grid: &ResultGrid,
        choice: &CellChoice,
        (disk, submit, host): (&Arc<DiskSpec>, Span, PathHost),
        bounds: FigureBounds,
        other: Option<&ResultGrid>,
        counts: impl Fn(GridLoad, Dir) -> bool,
    ) -> Result<GridJudgement, String> {
        let judges: Vec<&GridCell> = choice.judges.iter().filter_map(|load| grid.cell(*load)).collect();
        let wanted = |cell: &&&GridCell| cell.sides().any(|(dir, _)| counts(cell.load, dir));
        let judges: Vec<&GridCell> = judges.iter().filter(wanted).copied().collect();
        let found: Vec<_> = judges
            .par_iter()
            .map(|cell| simulated(cell, disk, submit, host, (RunEffort::TELL, SEED)))
            .collect::<Result<_, _>>()?;
        let used: Vec<&GridCell> = choice.used.iter().filter_map(|load| grid.cell(*load)).collect();
        let mut judged = GridJudgement::default();
        for (cell, ours) in judges.iter().zip(found) {
            for (dir, measured) in cell.sides().filter(|(dir, _)| counts(cell.load, *dir)) {
                let Some(ours) = ours[dir] else { continue };
                judged.model.add(bounds.holds(&measured, &ours));
                if let Some(between) = interpolated(&used, cell.load, dir) {
                    judged.interpolated.add(bounds.holds(&measured, &between));
                }
                if let Some(theirs) = other.and_then(|other| other.cell(cell.load)?.figures[dir]) {
                    judged.other.add(bounds.holds(&measured, &theirs));
                }
                judged.rows.push((cell.load, dir, measured, ours));
            }
        }
        Ok(judged)
    }

    /// The mean error of one figure as a factor, 1 for none: rate, median, p99, p99.9; `None` if there is none.
    pub fn mean_errors(&self) -> Option<[f64; 4]> {
        let count = self.rows.len() as f64;
        let log = |at: usize, (measured, ours): (&CellFigures, &CellFigures)| {
            (ours.values()[at].max(1e-3) / measured.values()[at]).ln().abs()
        };
        let mean = |at| self.rows.iter().map(|(_, _, m, o)| log(at, (m, o))).sum::<f64>() / count;
        (!self.rows.is_empty()).then(|| core::array::from_fn(mean).map(f64::exp))
    }
}

/// The grid of another drive on the same path: of several the one that is nearest on the cells used.
pub fn other_grid<'a>(grids: &'a [ResultGrid], grid: &ResultGrid, choice: &CellChoice) -> Option<&'a ResultGrid> {
    // Without a path nobody knows what is behind another drive.
    let is_on_path = |other: &&ResultGrid| !grid.path.is_empty() && other.path == grid.path;
    let on_path = grids.iter().filter(is_on_path).filter(|other| other.device != grid.device);
    let away = |other: &ResultGrid| -> Option<f64> {
        let sides = choice.used.iter().filter_map(|load| Some((grid.cell(*load)?, other.cell(*load)?)));
        let mut errors = Vec::new();
        for (cell, theirs) in sides {
            errors.extend(cell.sides().filter_map(|(dir, measured)| Some(error(&measured, &theirs.figures[dir]?))));
        }
        (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64)
    };
    let ranked = on_path.filter_map(|other| Some((away(other)?, other)));
    ranked.min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, other)| other)
}

/// What a line between the nearest cells used gives, in logarithms over the number in flight; beyond the last one, its
/// figures. Mixtures are interpolated between the cells of the mixture nearest to them.
fn interpolated(used: &[&GridCell], load: GridLoad, dir: Dir) -> Option<CellFigures> {
    let share = |pattern: LoadPattern| match pattern {
        LoadPattern::Read => 100,
        LoadPattern::Write => 0,
        LoadPattern::Mixed(reads) => reads,
    };
    let of_dir = || used.iter().filter(|cell| cell.figures[dir].is_some());
    let away = |cell: &&&GridCell| share(cell.load.pattern).abs_diff(share(load.pattern));
    let nearest = of_dir().map(|cell| away(&cell)).min()?;
    let mut points: BTreeMap<u32, Vec<[f64; 4]>> = BTreeMap::new();
    for cell in of_dir().filter(|cell| away(cell) == nearest) {
        let logs = cell.figures[dir]?.values().map(f64::ln);
        points.entry(cell.load.in_flight()).or_default().push(logs);
    }
    let mean = |logs: &Vec<[f64; 4]>| -> [f64; 4] {
        core::array::from_fn(|at| logs.iter().map(|log| log[at]).sum::<f64>() / logs.len() as f64)
    };
    let at = load.in_flight();
    let (below, above) = (points.range(..=at).next_back(), points.range(at..).next());
    let logs = match (below, above) {
        (Some((low, one)), Some((high, other))) if low < high => {
            let log = |n: u32| f64::from(n).ln();
            let part = (log(at) - log(*low)) / (log(*high) - log(*low));
            let (one, other) = (mean(one), mean(other));
            core::array::from_fn(|at| one[at] + part * (other[at] - one[at]))
        }
        (Some((_, logs)), _) | (None, Some((_, logs))) => mean(logs),
        (None, None) => return None,
    };
    Some(CellFigures::of(logs.map(f64::exp)))
}

#[cfg(test)]
mod tests {
    use blksched::author::PerDir;

    use super::*;

    fn cell(depth: u32, iops: f64) -> GridCell {
        let load = GridLoad { pattern: LoadPattern::Read, bytes: 4096, depth, jobs: 1 };
        let figures = CellFigures { iops, p50_us: 100.0, p99_us: 200.0, p999_us: 300.0 };
        GridCell { load, figures: PerDir { read: Some(figures), write: None } }
    }

    #[test]
    fn between_two_cells_the_line_is_straight_in_logarithms_and_outside_flat() {
        let (one, other) = (cell(1, 1_000.0), cell(16, 16_000.0));
        let iops = |depth| interpolated(&[&one, &other], cell(depth, 0.0).load, Dir::Read).unwrap().iops;
        assert!(
            (iops(4) - 4_000.0).abs() < 1e-6 && (iops(64) - 16_000.0).abs() < 1e-6 && (iops(1) - 1_000.0).abs() < 1e-6
        );
        assert!(interpolated(&[&one], one.load, Dir::Write).is_none());
    }

    #[test]
    fn a_bound_holds_up_to_it_in_both_directions() {
        let measured = CellFigures::of([100.0; 4]);
        let holds = |ours| FigureBounds::USUAL.holds(&measured, &CellFigures::of([ours; 4]));
        assert_eq!(holds(115.0), [true; 4]);
        assert_eq!(holds(116.0), [false, true, true, true]);
        assert_eq!(holds(100.0 / 1.16), [false, true, true, true]);
        assert_eq!(holds(201.0), [false; 4]);
        let mut shares = RightShares::default();
        assert_eq!(shares.percent(), None);
        shares.add([true, true, false, false]);
        shares.add([true, false, false, false]);
        assert_eq!(shares.percent(), Some([100.0, 50.0, 0.0, 0.0]));
    }
}
