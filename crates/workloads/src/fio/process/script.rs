//! A process's instructions, with everything resolved.

use core::ops::Range;
use std::sync::Arc;

use blksched::{GroupId, Op, Priority, Span, SubmitterId};

use super::{
    Batching, EndsProcesses, FileSet, FlowPlan, LatencyTarget, LogPlan, Pattern, PriorityShare, RateFloor, RateLimit,
    ReadBackPlan, Seeds, ThinkTime,
};
use crate::fio::ddir::PerDdir;
use crate::fio::settings::{Durable, Mix, RateProcess};

/// What a process is to do: a job's settings with everything resolved.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub submitter: SubmitterId,
    /// Submitters with lower numbers than this must have exited before it begins.
    pub behind: u32,
    /// So must these.
    pub wait_for: Range<u32>,
    pub priority: Priority,
    pub group: GroupId,
    /// The operation of a write on the disk.
    pub written_as: Op,
    pub commands: PerDdir<Vec<PriorityShare>>,
    pub pattern: Arc<Pattern>,
    pub files: FileSet,
    pub mix: Mix,
    /// The share of reads in a mix of reads and writes \[%\].
    pub reads_percent: u32,
    /// To transfer in all; `u64::MAX` if it only ends by time.
    pub bytes: u64,
    /// One pass over its files, if they begin again after it \[bytes\].
    pub pass: u64,
    /// The most passes over its files, if passes end before their bytes are transferred.
    pub passes: u64,
    pub ios: u64,
    pub runtime: Span,
    pub startdelay: (Span, Span),
    pub batch: Batching,
    /// The kernel's workers sleep for request slots in its place (io_uring, posixaio).
    pub offloads: bool,
    pub durable: Durable,
    /// A flush after this many writes.
    pub flush_after: Option<u64>,
    /// Whether there is also one at the end.
    pub flush_at_end: bool,
    pub read_back: Option<ReadBackPlan>,
    pub think: ThinkTime,
    pub floor: Option<RateFloor>,
    pub max_latency: Option<Span>,
    pub profile: Option<LatencyTarget>,
    pub flow: Option<FlowPlan>,
    /// A trace instead of a pattern.
    pub log: Option<LogPlan>,
    /// Results, and `number_ios`, count from then on.
    pub ramp: Span,
    pub ends: EndsProcesses,
    /// Directions in which errors do not end the job.
    pub tolerates: PerDdir<bool>,
    pub limits: PerDdir<RateLimit>,
    pub rate_process: RateProcess,
    pub seeds: Seeds,
}

impl Script {
    /// How many submitters must have exited before it begins.
    pub(crate) fn awaited(&self) -> u32 {
        let others = self.wait_for.end.saturating_sub(self.wait_for.start.max(self.behind));
        self.behind + others
    }

    pub(crate) fn awaits(&self, other: SubmitterId) -> bool {
        other.0 < self.behind || self.wait_for.contains(&other.0)
    }
}
