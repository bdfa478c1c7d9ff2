//! Virtual time: the world that moves values between workloads, the block queue and a disk, and the runs made of it.
//!
//! * [`World`] owns the parts and is the only place that knows the time.
//! * [`Run`] describes one simulation (elevator, knobs, disk, workload, seed) and makes a [`RunResult`].
//! * [`Grid`] runs many of them on all cores, with the same results on any number of threads.
//!
//! Nothing here decides: elevators do, disks do, sources do.

mod grid;
mod hash;
mod run;
mod wakes;
mod world;

pub use grid::Grid;
pub use hash::TraceHash;
pub use run::{DiskShare, JobOutcome, Run, RunResult, Surroundings};
pub use world::{Observer, World};
