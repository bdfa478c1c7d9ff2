//! Simulation in virtual time: the world that moves values between workloads, the block queue and a disk, and the runs
//! built from it.
//!
//! * [`World`] owns the parts and is the only place that knows the time.
//! * [`Trial`] describes one simulation (elevator, knobs, disk, workload, seed) and produces [`Findings`].
//! * [`Grid`] runs many trials on all cores, with the same results on any number of threads.
//! * [`story`] explains where each I/O's time went.
//! * [`recording`] makes a workload of a recorded trace.
//! * [`tuned_qos`] searches for a disk's `io.cost.qos`.
//! * [`reality`] compares predictions with recordings of a real kernel.
//! * [`fs_replay`] replays recordings of a real kernel's file systems.
//! * [`experiment`] runs the experiment of an `experiment.toml`, and shows the result beside the published one.
//!
//! Nothing here makes decisions: elevators, disks and sources do.

mod beside;
mod changes;
mod counted;
pub mod cpu;
mod disk_number;
mod disk_share;
pub mod experiment;
mod files;
pub mod fs_replay;
mod grid;
mod groups;
mod hash;
mod length;
mod other_disks;
mod qos;
pub mod reality;
pub mod recording;
pub mod story;
mod surroundings;
mod trial;
mod trial_observer;
mod underway;
mod used;
mod wakes;
mod world;

pub use beside::{Beside, BesideDisk, BesideFindings, BesideVolume};
pub use changes::Change;
pub use disk_number::DiskNumber;
pub use disk_share::DiskShare;
pub use grid::Grid;
pub use hash::TraceHash;
pub use length::{Length, Phases};
pub use other_disks::OtherDisk;
pub use qos::{Point, TunedQos, tuned_qos};
pub use surroundings::{LATEST_START, Starts, Surroundings};
pub use trial::{Findings, JobOutcome, Trial, TrialError};
pub use used::Used;
pub use world::{Observer, RaceOdds, StandsStill, World};
