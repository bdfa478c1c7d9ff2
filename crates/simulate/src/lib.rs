//! Virtual time: the world that moves values between workloads, the block queue and a disk, and the runs made of it.
//!
//! * [`World`] owns the parts and is the only place that knows the time.
//! * [`Trial`] describes one simulation (elevator, knobs, disk, workload, seed) and makes a [`Findings`].
//! * [`Grid`] runs many of them on all cores, with the same results on any number of threads.
//! * [`story`] tells where each I/O's time went.
//! * [`recording`] makes a workload of a recorded trace.
//! * [`tuned_qos`] searches what `io.cost.qos` should say of a disk.
//! * [`reality`] puts predictions beside what a real kernel did.
//! * [`experiment`] runs what an `experiment.toml` describes, and puts the result beside what was published.
//!
//! Nothing here decides: elevators do, disks do, sources do.

mod beside;
pub mod cpu;
pub mod experiment;
mod grid;
mod groups;
mod hash;
mod length;
mod qos;
pub mod reality;
pub mod recording;
pub mod story;
mod trial;
mod trial_observer;
mod used;
mod wakes;
mod world;

pub use beside::Beside;
pub use grid::Grid;
pub use hash::TraceHash;
pub use length::{Length, Phases};
pub use qos::{Point, TunedQos, tuned_qos};
pub use trial::{DiskShare, Findings, JobOutcome, LATEST_START, Starts, Surroundings, Trial, TrialError};
pub use used::Used;
pub use world::{Observer, RaceOdds, StandsStill, World};
