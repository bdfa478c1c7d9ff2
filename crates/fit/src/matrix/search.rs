//! Which drive gives the figures of the loads used.
//!
//! **Rule** Every guess is tried on the loads used; the values of the best two are refined by Nelder and Mead's simplex
//! (argmin), in logarithms. What is minimised is the mean of the logarithms of the errors; at the chart's ceiling only
//! too little is an error.

use std::sync::Arc;

use argmin::core::{CostFunction, Error, Executor};
use argmin::solver::neldermead::NelderMead;
use blksched_disks::Attached;
use rayon::prelude::*;

use super::{LatencyMatrix, MatrixCell, MatrixDrive, MatrixEffort, MatrixPlace, simulated_matrix};
use crate::cell::{CellFigures, ResultGrid};
use crate::choice::MOST_CELLS;
use crate::model::{DriveModel, ReadBesideProgram};
use crate::turning::{SLOWEST_FLASH_US, SLOWEST_TURNING_US};

/// The loads of a matrix, divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatrixChoice {
    /// Those that the fit sees.
    pub used: Vec<MatrixPlace>,
    /// Those that judge it.
    pub judges: Vec<MatrixPlace>,
}

/// Parts of the highest rates of reads and of writes \[%\], in order of preference. The list is fixed: nothing of the
/// results is looked at.
const PREFERRED: [(u32, u32); MOST_CELLS] = [(5, 0), (50, 0), (90, 0), (5, 15), (5, 70), (25, 25), (40, 30), (15, 80)];

impl MatrixChoice {
    /// The choice for a matrix: of each place of the list the nearest load that was measured, if there is one within an
    /// eighth of the rates.
    pub fn of(matrix: &LatencyMatrix) -> MatrixChoice {
        let (reads, writes) = matrix.steps();
        let mut used: Vec<MatrixPlace> = Vec::new();
        for (of_reads, of_writes) in PREFERRED {
            let part = |step: u32, most: u32, wanted: u32| {
                (100.0 * f64::from(step) / f64::from(most.max(1)) - f64::from(wanted)).abs()
            };
            let away = |at: &MatrixPlace| part(at.reads, reads, of_reads) + part(at.writes, writes, of_writes);
            let whole = matrix.cells.iter().filter(|cell| cell.figures.iter().all(Option::is_some));
            let free = whole.map(|cell| cell.place).filter(|at| !used.contains(at));
            let nearest = free.min_by(|one, other| away(one).total_cmp(&away(other))).filter(|at| away(at) <= 12.5);
            used.extend(nearest);
        }
        let judges = matrix.cells.iter().map(|cell| cell.place).filter(|at| !used.contains(at)).collect();
        MatrixChoice { used, judges }
    }
}

/// The answer.
#[derive(Clone, Debug)]
pub struct FittedMatrix {
    /// The drive.
    pub drive: MatrixDrive,
    /// The mean error on the loads used, as a factor: 1 is none.
    pub error: f64,
    /// How many guesses were compared.
    pub compared: usize,
}

/// An error beyond a factor of ten counts as that.
const MOST: f64 = core::f64::consts::LN_10;
/// How often the simplex moves.
const MOVES: u64 = 45;
/// The edge of the first simplex, in logarithms.
const EDGE: f64 = 0.15;
/// The values of so many guesses are refined.
const REFINED: usize = 2;
/// Dies that read independently, in drives for servers 16 to 64.
const DIES: [u32; 3] = [32, 48, 64];
/// Commands that are worked on at a time.
const WINDOWS: [Option<u32>; 3] = [None, Some(64), Some(96)];
/// Of a single read, the part that the die takes: the rest is the controller's.
const PARTS: [f64; 2] = [0.55, 0.68];
/// Programs \[us\].
const PROGRAMS_US: [f64; 2] = [900.0, 2_000.0];

/// Fits a matrix; `told` hears how many guesses are compared.
///
/// # Errors
/// If it has no load to fit to, no reads alone, or is of no kind of drive that is fitted.
pub fn fit_matrix(
    matrix: &LatencyMatrix,
    choice: &MatrixChoice,
    effort: MatrixEffort,
    told: &(dyn Fn(usize) + Sync),
) -> Result<FittedMatrix, String> {
    let cells: Vec<MatrixCell> = choice.used.iter().filter_map(|at| matrix.cell(*at)).copied().collect();
    let guesses = guesses(matrix)?;
    if cells.is_empty() {
        return Err(format!("{}: none of the loads that a fit uses", matrix.device));
    }
    told(guesses.len());
    let problem = |drive: &MatrixDrive| error_of(matrix, &cells, drive, effort);
    let errors: Vec<f64> = guesses.par_iter().map(problem).collect::<Result<_, _>>()?;
    let mut ranked: Vec<(f64, MatrixDrive)> = errors.into_iter().zip(guesses.iter().cloned()).collect();
    ranked.sort_by(|one, other| one.0.total_cmp(&other.0));
    let refined = ranked.into_iter().take(REFINED).map(|(_, drive)| refined(matrix, &cells, drive, effort));
    let best = refined.collect::<Result<Vec<_>, _>>()?.into_iter().min_by(|one, other| one.0.total_cmp(&other.0));
    let (error, drive) = best.ok_or_else(|| format!("{}: no such drive is fitted", matrix.device))?;
    Ok(FittedMatrix { drive, error: error.exp(), compared: guesses.len() })
}

/// The drives in question.
fn guesses(matrix: &LatencyMatrix) -> Result<Vec<MatrixDrive>, String> {
    let name = &matrix.device;
    let single = matrix.single_us().ok_or_else(|| format!("{name}: no median of reads alone (w_idx 0)"))?;
    if single > SLOWEST_FLASH_US {
        if single > SLOWEST_TURNING_US {
            let ms = single / 1e3;
            return Err(format!("{name}: a single read takes {ms:.1} ms: only SSDs and hard disks are fitted"));
        }
        let grid = ResultGrid { device: name.clone(), ..ResultGrid::default() };
        let figures = CellFigures { p50_us: single, ..CellFigures::default() };
        return Ok(DriveModel::turning(&grid, &figures).into_iter().map(MatrixDrive::Turning).collect());
    }
    let attached = matrix.attached.unwrap_or(Attached::Nvme);
    let most = |of: fn(&MatrixCell) -> f64| matrix.cells.iter().map(of).fold(0.0, f64::max);
    let known = (single, most(|cell| cell.read_iops).max(1.0), most(|cell| cell.write_rate));
    let mut guesses = Vec::new();
    for dies in DIES {
        for part in PARTS {
            for program in PROGRAMS_US {
                for (differ, window) in [false, true].into_iter().flat_map(|one| WINDOWS.map(|window| (one, window))) {
                    let what = (part, program, differ, window);
                    let of = |beside| MatrixDrive::flash((name.as_str(), attached), known, dies, what, beside);
                    guesses.extend(ReadBesideProgram::BOTH.map(of));
                }
            }
        }
    }
    Ok(guesses)
}

/// The mean logarithm of the errors.
fn error_of(
    matrix: &LatencyMatrix,
    cells: &[MatrixCell],
    drive: &MatrixDrive,
    effort: MatrixEffort,
) -> Result<f64, String> {
    let disk = Arc::new(drive.disk().map_err(|error| error.to_string())?);
    let of = |cell: &MatrixCell| -> Result<(f64, f64), String> {
        let ours = simulated_matrix(matrix, cell, &disk, effort)?;
        let known = cell.figures.iter().zip(ours).filter_map(|(figure, ours)| Some(((*figure)?, ours)));
        Ok(known.fold((0.0, 0.0), |(sum, count), (figure, ours)| {
            let log = (ours.max(1e-3) / figure.us).ln();
            let log = if figure.is_least { (-log).max(0.0) } else { log.abs() };
            (sum + log.min(MOST), count + 1.0)
        }))
    };
    let parts: Vec<(f64, f64)> = cells.par_iter().map(of).collect::<Result<_, _>>()?;
    let (sum, count) = parts.iter().fold((0.0, 0.0), |(sum, count), part| (sum + part.0, count + part.1));
    Ok(sum / f64::max(count, 1.0))
}

/// One guess's values, as logarithms.
struct MatrixProblem<'a> {
    matrix: &'a LatencyMatrix,
    cells: &'a [MatrixCell],
    drive: &'a MatrixDrive,
    effort: MatrixEffort,
}

impl MatrixProblem<'_> {
    fn drive(&self, logs: &[f64]) -> MatrixDrive {
        self.drive.with(&logs.iter().map(|log| log.exp()).collect::<Vec<_>>())
    }
}

impl CostFunction for MatrixProblem<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, logs: &Vec<f64>) -> Result<f64, Error> {
        error_of(self.matrix, self.cells, &self.drive(logs), self.effort).map_err(Error::msg)
    }
}

/// The same drive with better values.
fn refined(
    matrix: &LatencyMatrix,
    cells: &[MatrixCell],
    drive: MatrixDrive,
    effort: MatrixEffort,
) -> Result<(f64, MatrixDrive), String> {
    let start: Vec<f64> = drive.values().into_iter().map(f64::ln).collect();
    let mut simplex = vec![start.clone()];
    for at in 0..start.len() {
        let mut corner = start.clone();
        corner[at] += EDGE;
        simplex.push(corner);
    }
    let problem = MatrixProblem { matrix, cells, drive: &drive, effort };
    let solver = NelderMead::new(simplex).with_sd_tolerance(1e-3).map_err(|error| error.to_string())?;
    let run = Executor::new(problem, solver).configure(|state| state.max_iters(MOVES)).run();
    let found = run.map_err(|error| error.to_string())?;
    let logs = found.state.best_param.unwrap_or(start);
    let better = MatrixProblem { matrix, cells, drive: &drive, effort }.drive(&logs);
    Ok((found.state.best_cost, better))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::MatrixFigure;

    fn matrix(steps: u32) -> LatencyMatrix {
        let mut matrix = LatencyMatrix::new("x");
        for (reads, writes) in (0..=steps).flat_map(|reads| (0..=steps - reads).map(move |writes| (reads, writes))) {
            let figures = [Some(MatrixFigure { us: 100.0, is_least: false }); 2];
            let (read_iops, write_rate) = (f64::from(reads) * 20_000.0, f64::from(writes) * 40e6);
            matrix.cells.push(MatrixCell { place: MatrixPlace { reads, writes }, read_iops, write_rate, figures });
        }
        matrix
    }

    #[test]
    fn eight_loads_are_used_and_a_small_matrix_gives_those_near_them() {
        let choice = MatrixChoice::of(&matrix(20));
        let used: Vec<(u32, u32)> = choice.used.iter().map(|at| (at.reads, at.writes)).collect();
        assert_eq!(used, [(1, 0), (10, 0), (18, 0), (1, 3), (1, 14), (5, 5), (8, 6), (3, 16)]);
        assert_eq!(choice.used.len() + choice.judges.len(), matrix(20).cells.len());
        assert!(MatrixChoice::of(&matrix(4)).used.len() < 8);
    }

    #[test]
    fn flash_and_platters_are_told_by_a_single_read() {
        let mut matrix = matrix(4);
        let guesses = guesses(&matrix).unwrap();
        assert_eq!(guesses.len(), DIES.len() * PARTS.len() * PROGRAMS_US.len() * 4 * WINDOWS.len());
        for cell in &mut matrix.cells {
            cell.figures[0].as_mut().unwrap().us = 15_000.0;
        }
        assert!(matches!(super::guesses(&matrix).unwrap()[0], MatrixDrive::Turning(_)));
        for cell in &mut matrix.cells {
            cell.figures[0].as_mut().unwrap().us = 90_000.0;
        }
        assert!(super::guesses(&matrix).unwrap_err().contains("only SSDs and hard disks"));
    }
}
