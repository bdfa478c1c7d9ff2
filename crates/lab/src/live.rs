//! A trial on the live machine: settings take turns under the load that is there, and neighbouring periods are
//! compared.
//!
//! Everything that decides is here and touches nothing: [`plan`] draws the order of the periods, [`judge`] compares
//! them, a [`Guard`] ends a trial that hurts, [`Saved`] knows in which order settings are given back. [`conduct`] does
//! what the plan says to a [`LiveMachine`], which is the real one or a simulated one.

mod conduct;
mod contrast;
mod drift;
mod foretold;
pub mod group;
mod guard;
mod judge;
mod machine;
mod obeyed;
mod place;
mod plan;
mod settings;
#[cfg(test)]
mod simulated;

pub use conduct::{Finish, Sitting, conduct};
pub use contrast::{LiveContrast, Look, RATE, Stream};
pub use foretold::{Foretold, setting};
pub use guard::{Guard, GuardedFigure};
pub use judge::{LiveVerdict, judge};
pub use machine::{LiveMachine, LiveTick};
pub use obeyed::check_cost;
pub use place::Place;
pub use plan::{LivePlan, SETTLE, SETTLE_IO_COST, plan};
pub use settings::{LiveArm, Saved};

use blksched_measure::Histogram;

use blksched::Span;

/// A kind of I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LiveKind {
    /// Somebody waits for it.
    Read,
    /// Somebody waits for it, too: `fsync`, `O_DIRECT`, `O_SYNC`.
    SyncWrite,
    /// Written back in the background.
    Write,
    /// Reads and writes together, of which only the pressure is known ([`LiveStall`]).
    Any,
}

impl LiveKind {
    /// Those that an I/O can have.
    pub const ALL: [LiveKind; 3] = [LiveKind::Read, LiveKind::SyncWrite, LiveKind::Write];

    /// As it is printed and typed.
    pub fn name(self) -> &'static str {
        match self {
            LiveKind::Read => "read",
            LiveKind::SyncWrite => "sync-write",
            LiveKind::Write => "write",
            LiveKind::Any => "I/O",
        }
    }
}

/// One I/O that the disk has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveIo {
    /// The process that submitted it.
    pub task: String,
    /// Its kind.
    pub kind: LiveKind,
    /// Its length \[bytes\].
    pub bytes: u32,
    /// From its submission to its completion.
    pub waited: Span,
}

/// What the counters of a disk, or of a control group, say of a short time, where I/Os cannot be watched one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveCount {
    /// The control group, by its path below the root group; `None`: all of the disk's.
    pub whose: Option<String>,
    /// Their kind; counters do not tell sync writes from others, which are all [`LiveKind::Write`] then.
    pub kind: LiveKind,
    /// Requests that were done.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How long they took, all together; a group's counters do not tell.
    pub waited: Option<Span>,
}

/// For how long of a short time processes waited for I/O, of any disk (PSI).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveStall {
    /// The control group; `None`: all of the machine's.
    pub whose: Option<String>,
    /// Some of those that wanted to run.
    pub some: Span,
    /// All of them.
    pub full: Span,
}

/// What one stream of I/O (a process and a kind, or all of a kind) got in one period.
#[derive(Clone, Debug, Default)]
pub struct StreamFigures {
    /// The latencies of those that were watched.
    pub waits: Histogram,
    /// Bytes done.
    pub bytes: u64,
    /// How many were only counted, and how long they took, all together.
    pub counted: (u64, Span),
    /// How many were counted without their time.
    pub untimed: u64,
    /// For how long some and all processes waited for I/O, if that is known.
    pub stalled: Option<[Span; 2]>,
}

impl StreamFigures {
    fn add(&mut self, io: &LiveIo) {
        self.waits.record(io.waited);
        self.bytes += u64::from(io.bytes);
    }

    fn count(&mut self, count: &LiveCount) {
        self.bytes += count.bytes;
        match count.waited {
            Some(waited) => {
                self.counted.0 += count.ios;
                self.counted.1 += waited;
            }
            None => self.untimed += count.ios,
        }
    }

    fn stall(&mut self, stall: &LiveStall) {
        let [some, full] = self.stalled.unwrap_or_default();
        self.stalled = Some([some + stall.some, full + stall.full]);
    }

    /// I/Os done.
    pub fn ios(&self) -> u64 {
        self.waits.count() + self.counted.0 + self.untimed
    }

    /// Their mean latency \[ns\]; NaN of none, or if their time is not known.
    pub fn mean(&self) -> f64 {
        let watched = if self.waits.is_empty() { 0.0 } else { self.waits.mean() * self.waits.count() as f64 };
        (watched + self.counted.1.as_ns() as f64) / (self.waits.count() + self.counted.0) as f64
    }
}
