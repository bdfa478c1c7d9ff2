//! The host's processors: the cost of an I/O, the placement of processes, and waiting between them.
//!
//! * [`HostCpus`]: their number, and the costs ([`CpuCosts`], a TOML preset; each number gives its source).
//! * [`TaskOrder`]: who runs first; [`DispatchIn`]: who dispatches.
//! * `Cores`: the state machine. It is given work, says when the work is done, and knows nothing of queues and disks.
//! * `placement`: which process runs where.
//!
//! The world carries out the effects of completed work (`world/work.rs`).

mod calls;
mod cores;
mod costs;
mod fair;
mod locks;
mod placement;
mod preset;

pub(crate) use calls::Completing;
pub use calls::{CallCosts, CompletesOn, UringCosts};
pub(crate) use cores::{Cores, Cost, Rank, WorkProgress};
pub use costs::{CpuCosts, DispatchIn, FairClass, LockScope, SchedulerCosts, Schedules, TaskOrder};
pub use locks::LockReport;
pub(crate) use locks::hardware_queue;
pub(crate) use placement::place;
pub use preset::{CPU_PRESETS, CpuError, CpuPreset};

/// The processors of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCpus {
    /// Their number.
    pub cpus: u32,
    /// What an I/O costs them.
    pub costs: CpuCosts,
}

impl HostCpus {
    /// The default, which is also `$ncpus` in job files.
    pub const USUAL: u32 = 4;
    /// The most processors of a host.
    pub const MOST: u32 = 64;

    /// Parses a number of processors.
    ///
    /// # Errors
    /// If a host cannot have that number.
    pub fn count(text: &str) -> Result<u32, String> {
        let number = text.trim().parse().ok().filter(|number| (1..=HostCpus::MOST).contains(number));
        number.ok_or_else(|| format!("`{text}` is not a value of cpus: expected a number from 1 to {}", HostCpus::MOST))
    }
}

/// What the processors did in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuReport {
    /// The number of processors.
    pub cpus: u32,
    /// Time that they worked for I/O, summed over them.
    pub busy: blksched::Span,
    /// The same of the busiest one.
    pub busiest: blksched::Span,
    /// Time spent waiting for the scheduler's lock, summed over them.
    pub spun: blksched::Span,
    /// The scheduler's lock; of several, the busiest.
    pub lock: LockReport,
}

impl CpuReport {
    /// The part of the work that waited for the scheduler's lock \[%\]; 0 where nothing worked.
    pub fn lock_waits_percent(&self) -> f64 {
        match self.busy.as_secs_f64() {
            0.0 => 0.0,
            busy => 100.0 * self.spun.as_secs_f64() / busy,
        }
    }
}
