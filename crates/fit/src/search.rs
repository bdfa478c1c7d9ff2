//! Which model and which host give the figures of the cells used.
//!
//! **Rule** The first guess of every value is read off the figures. Every host is tried with each mechanism that a
//! figure suggests; the values of the best three hosts' models are then refined by Nelder and Mead's simplex (argmin),
//! in logarithms, and the best one is the answer. What is minimised is the mean of the logarithms of the errors, so
//! that a factor counts the same wherever it is; the rate counts three times and the median twice as much as p99 or
//! p99.9.

use std::sync::Arc;

use argmin::core::{CostFunction, Error, Executor};
use argmin::solver::neldermead::NelderMead;
use blksched::Span;
use blksched_disks::Attached;
use rayon::prelude::*;

use crate::cell::{CellFigures, GridCell, ResultGrid};
use crate::choice::CellChoice;
use crate::host::{HostQueue, PathHost};
use crate::model::{DriveModel, Knowledge};
use crate::run::{RunEffort, SEED, simulated};
use crate::turning::SLOWEST_TURNING_US;

/// The answer.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The drive and its path.
    pub model: DriveModel,
    /// The host.
    pub host: PathHost,
    /// The mean error on the cells used, as a factor: 1 is none.
    pub error: f64,
    /// Every host with its best error, best first; refined are those of the first three before refinement.
    pub hosts: Vec<(PathHost, f64)>,
}

impl Fitted {
    /// What the host's process works for each I/O.
    pub fn submit(&self) -> Span {
        submit(&self.model, self.host)
    }
}

/// What is told while it is searched.
#[derive(Clone, Copy, Debug)]
pub enum FitStep {
    /// So many combinations of host and mechanisms are compared.
    Comparing(usize),
    /// The values of this host's model are refined.
    Refining(PathHost),
}

/// A hard disk that is farther off its own loads is none, as with `disk measure`: a slow volume, or a drive whose queue
/// is broken.
const TOO_FAR: f64 = 1.25;
/// How often the simplex moves.
const MOVES: u64 = 60;
/// The edge of the first simplex, in logarithms.
const EDGE: f64 = 0.15;
/// The values of so many hosts' models are refined.
const REFINED: usize = 3;

/// Fits a grid.
///
/// # Errors
/// If there is no cell, or a load does not fit on such a disk.
pub fn fit(
    grid: &ResultGrid,
    choice: &CellChoice,
    hosts: &[PathHost],
    told: &(dyn Fn(FitStep) + Sync),
) -> Result<Fitted, String> {
    let cells: Vec<GridCell> = choice.used.iter().filter_map(|load| grid.cell(*load)).copied().collect();
    if cells.is_empty() {
        return Err(format!("{}: no cell to fit to", grid.name()));
    }
    let class = fitting(grid)?;
    let mut tries: Vec<(PathHost, DriveModel)> = Vec::new();
    for model in variants(grid, &class, choice) {
        for host in hosts.iter().copied().filter(|host| fits(&model, *host)) {
            tries.push((host, model.clone()));
        }
    }
    told(FitStep::Comparing(tries.len()));
    let found: Vec<Result<f64, String>> =
        tries.par_iter().map(|(host, model)| error_of(&cells, model, *host)).collect();
    let mut ranked = Vec::new();
    for ((host, model), error) in tries.into_iter().zip(found) {
        ranked.push((error?, host, model));
    }
    ranked.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut best: Vec<(f64, PathHost, DriveModel)> = Vec::new();
    for (error, host, model) in ranked {
        if best.iter().all(|(_, known, _)| *known != host) {
            best.push((error, host, model));
        }
    }
    for (error, host, model) in best.iter_mut().take(REFINED) {
        told(FitStep::Refining(*host));
        (*error, *model) = refined(&cells, model.clone(), *host)?;
    }
    best.sort_by(|one, other| one.0.total_cmp(&other.0));
    let hosts = best.iter().map(|(error, host, _)| (*host, error.exp())).collect();
    let Some((error, host, model)) = best.into_iter().next() else {
        let why = match grid.turns() {
            true => "a single read takes longer than an SSD's and less than a hard disk's: no such drive is fitted",
            false => "none of these hosts is possible with such a drive",
        };
        return Err(format!("{}: {why}", grid.name()));
    };
    if model.law().is_some() && error.exp() > TOO_FAR {
        return Err(format!(
            "{}: a single read takes longer than an SSD's, and the nearest hard disk is off by a factor of {:.2} on \
             the loads it was fitted to, where {TOO_FAR} is the most: no such drive, or a broken one",
            grid.name(),
            error.exp()
        ));
    }
    Ok(Fitted { model, host, error: error.exp(), hosts })
}

/// A kind of drive that is fitted here.
enum DriveClass {
    /// An SSD that is attached like this.
    Flash(Attached),
    /// A spinning drive, with the figures of its single read.
    Turning(CellFigures),
}

/// What kind of drive it is, if its results are of a kind that is fitted here.
fn fitting(grid: &ResultGrid) -> Result<DriveClass, String> {
    let name = grid.name();
    if let [one, other, ..] = grid.sizes()[..] {
        return Err(format!("{name}: I/Os of {one} and of {other} bytes: expected one size"));
    }
    let Some(single) = grid.single_read().filter(|_| grid.turns()) else {
        let unknown = || format!("{name}: the results do not tell how it is attached: expected nvme or sata");
        return grid.attached.map(DriveClass::Flash).ok_or_else(unknown);
    };
    if single.p50_us > SLOWEST_TURNING_US {
        let ms = single.p50_us / 1e3;
        return Err(format!("{name}: a single read takes {ms:.1} ms: only SSDs and hard disks are fitted"));
    }
    match grid.attached {
        Some(Attached::Nvme) => Err(format!("{name}: a single read takes {:.1} ms, on nvme", single.p50_us / 1e3)),
        _ => Ok(DriveClass::Turning(single)),
    }
}

/// The models in question: the guess, and with what its figures suggest.
fn variants(grid: &ResultGrid, class: &DriveClass, choice: &CellChoice) -> Vec<DriveModel> {
    let used = &choice.used;
    let attached = match class {
        DriveClass::Flash(attached) => *attached,
        DriveClass::Turning(single) => return DriveModel::turning(grid, single),
    };
    let mut models = vec![DriveModel::guess(grid, attached, used)];
    let with = [DriveModel::with_stall, DriveModel::with_coalescing, DriveModel::with_submit, DriveModel::with_waiting];
    for with in with {
        let more: Vec<DriveModel> = models.iter().filter_map(|model| with(model, grid, used)).collect();
        models.extend(more);
    }
    models
}

/// Whether a host is possible with this model: Linux has driven NVMe drives through blk-mq alone since 3.19, and what a
/// process works for an I/O is only known of blk-mq's.
fn fits(model: &DriveModel, host: PathHost) -> bool {
    let works = model.get(Knowledge::Submit).is_some();
    host.queue == HostQueue::BlkMq || (!works && model.attached != Attached::Nvme)
}

fn submit(model: &DriveModel, host: PathHost) -> Span {
    let us = match host.queue {
        HostQueue::Legacy => None,
        HostQueue::BlkMq => model.get(Knowledge::Submit),
    };
    Span::from_ns((us.unwrap_or(0.0) * 1e3) as u64)
}

/// The mean logarithm of the errors.
fn error_of(cells: &[GridCell], model: &DriveModel, host: PathHost) -> Result<f64, String> {
    let disk = Arc::new(model.disk().map_err(|error| error.to_string())?);
    let submit = submit(model, host);
    let of = |cell: &GridCell| -> Result<(f64, f64), String> {
        let figures = simulated(cell, &disk, submit, host, (RunEffort::TRY, SEED))?;
        let sides = cell.sides().filter_map(|(dir, measured)| Some(error(&measured, &figures[dir]?)));
        Ok(sides.fold((0.0, 0.0), |(sum, count), error| (sum + error, count + 1.0)))
    };
    let parts: Vec<(f64, f64)> = cells.par_iter().map(of).collect::<Result<_, _>>()?;
    let (sum, count) = parts.iter().fold((0.0, 0.0), |(sum, count), part| (sum + part.0, count + part.1));
    Ok(sum / f64::max(count, 1.0))
}

/// What the rate, the median, p99 and p99.9 count.
const WEIGHTS: [f64; 4] = [3.0, 2.0, 1.0, 1.0];
/// An error beyond a factor of ten counts as that: the rest of the figures still says something.
const MOST: f64 = core::f64::consts::LN_10;

/// The mean logarithm of the errors of a cell's figures.
pub(crate) fn error(measured: &CellFigures, ours: &CellFigures) -> f64 {
    let pairs = measured.values().into_iter().zip(ours.values()).zip(WEIGHTS);
    let one = |((measured, ours), weight): ((f64, f64), f64)| weight * (ours.max(1e-3) / measured).ln().abs().min(MOST);
    pairs.map(one).sum::<f64>() / WEIGHTS.iter().sum::<f64>()
}

/// One model's values, as logarithms.
struct FitProblem<'a> {
    cells: &'a [GridCell],
    model: &'a DriveModel,
    host: PathHost,
}

impl FitProblem<'_> {
    fn model(&self, logs: &[f64]) -> DriveModel {
        let mut model = self.model.clone();
        for (known, log) in self.model.parameters.iter().zip(logs) {
            model.set(known.key, log.exp());
        }
        model
    }
}

impl CostFunction for FitProblem<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, logs: &Vec<f64>) -> Result<f64, Error> {
        error_of(self.cells, &self.model(logs), self.host).map_err(Error::msg)
    }
}

/// The same model with better values.
fn refined(cells: &[GridCell], model: DriveModel, host: PathHost) -> Result<(f64, DriveModel), String> {
    let start: Vec<f64> = model.parameters.iter().map(|known| known.value.ln()).collect();
    let mut simplex = vec![start.clone()];
    for at in 0..start.len() {
        let mut corner = start.clone();
        corner[at] += EDGE;
        simplex.push(corner);
    }
    let problem = FitProblem { cells, model: &model, host };
    let solver = NelderMead::new(simplex).with_sd_tolerance(1e-3).map_err(|error| error.to_string())?;
    let run = Executor::new(problem, solver).configure(|state| state.max_iters(MOVES)).run();
    let found = run.map_err(|error| error.to_string())?;
    let logs = found.state.best_param.unwrap_or(start);
    let better = FitProblem { cells, model: &model, host }.model(&logs);
    Ok((found.state.best_cost, better))
}
