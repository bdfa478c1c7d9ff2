//! Workloads: which processes submit I/O, when, and where.
//!
//! A workload is a set of [`Source`]s, one per process. A source is a pure state machine: it is told the time, says
//! when it wants to be called next, emits bios, and is told of their completion. It holds no reference to a queue, a
//! disk or another source; the driver carries values between them.
//!
//! Sources come from fio job files ([`fio::JobFile`]), from the [built-in](builtin()) ones, which are job files too,
//! from [`programs`], and from recorded traces ([`replay`]). A [`Plan`] is the whole workload of a run, laid out on a
//! disk.

pub mod builtin;
mod calls;
mod cpus;
mod disks;
pub mod fio;
pub mod host;
mod phases;
mod plan;
pub mod programs;
pub mod replay;
mod source;

pub use builtin::{BUILTINS, Builtin, QUESTIONS, SUITE, builtin};
pub use calls::{CallInterface, CallWay};
pub use cpus::CpuSet;
pub use disks::{DiskPlace, DiskPlaces, is_device, whole_disk};
pub use plan::{
    FileState, FilesPlan, GroupPlan, IoCharacter, JobPlan, MOST_PERCENT, Plan, PlannedFile, Syncs, in_figures,
};
pub use source::{Delivered, Emission, GaveUp, LoneBurst, Source, TakenIo, Trouble, UNCOUNTED};
