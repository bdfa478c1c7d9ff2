//! Models of real drives from benchmark results that exist.
//!
//! People have grids: fio at depths and numbers of processes, one row of rate and percentiles each. [`table`] and
//! [`fio_json`] read them, [`CellChoice::of`] takes at most [`MOST_CELLS`] cells, [`fit()`] finds the mechanisms of the
//! drive, of its path and of its host (elevator, request pool) under which the simulator gives these figures, and
//! [`GridJudgement::of`] says how far it is off on the cells that it never saw. Beside every such share stand two
//! predictions without a model: interpolation between the cells used, and another drive's grid on the same path. A
//! model that does not beat them tells nothing that its cells do not.
//!
//! [`array`](mod@array) makes an array of such a drive. [`matrix`] does the same for latency matrices: random reads
//! beside a sequential writer.
//!
//! Nothing here prints or opens a file.

pub mod array;
mod cell;
mod choice;
pub mod fio_json;
mod host;
mod law;
pub mod matrix;
mod model;
mod run;
mod score;
mod search;
pub mod table;
mod turning;

pub use cell::{CellFigures, GridCell, GridLoad, LoadPattern, ResultGrid};
pub use choice::{CellChoice, MOST_CELLS};
pub use host::{HostQueue, PathHost};
pub use law::TurningLaw;
pub use model::{DriveKind, DriveModel, Knowledge, Parameter, ReadBesideProgram};
pub use run::{RunEffort, SEED, simulated};
pub use score::{FigureBounds, GridJudgement, RightShares, other_grid};
pub use search::{FitStep, Fitted, fit};
