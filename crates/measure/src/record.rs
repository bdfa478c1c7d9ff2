//! The results of a run for its submitters: per job and direction, as fio reports them.
//!
//! The driver tells a [`Recorder`] of every submission and completion; what comes out is one [`JobRecord`] per job.

mod buckets;
mod depth;
mod direction;
mod log;
mod rate;
mod recorder;
mod report;
mod tally;

pub use buckets::{LATENCY_BOUNDS_NS, LatencyBuckets};
pub use depth::{DEPTH_BOUNDS, DepthLevels};
pub use direction::Direction;
pub(crate) use log::class_number;
pub use log::{JobLog, LogColumns, LogKind, LogPlan, LogValue};
pub use rate::{Rate, RateSummary};
pub use recorder::{Completion, Recorder};
pub use report::{OnError, Priorities, ReportWishes, Shown, Unified};
pub use tally::Tally;

use blksched::{Instant, Op, Span};

/// A job's number in its recorder, in the order of [`Recorder::add_job`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub usize);

/// How a job's engine submits, which decides what fio calls submission latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// Submission and completion are one call (psync and the like): all of it is completion latency, and there is no
    /// submission latency.
    #[default]
    Blocking,
    /// Submission returns separately (libaio, io_uring): its sleep is submission latency.
    Queueing,
}

/// A job before its run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Job {
    /// The name of its section.
    pub name: String,
    /// Its reporting group, from 0.
    pub group: u32,
    /// How many I/Os it keeps in flight at most.
    pub depth: u32,
    /// How it submits.
    pub engine: Engine,
    /// Which results it wants.
    pub report: ReportWishes,
}

/// What fio reports separately: the three directions, and flushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Discards.
    Trim,
    /// Flushes of the disk's cache.
    Sync,
}

impl Work {
    /// All of them, in fio's order.
    pub const ALL: [Work; 4] = [Work::Read, Work::Write, Work::Trim, Work::Sync];

    /// fio's word for it: `read`, `write`, `trim`, `sync`.
    pub fn name(self) -> &'static str {
        match self {
            Work::Read => "read",
            Work::Write => "write",
            Work::Trim => "trim",
            Work::Sync => "sync",
        }
    }
}

impl From<Op> for Work {
    fn from(op: Op) -> Work {
        match op {
            Op::Read => Work::Read,
            Op::Write | Op::WriteZeroes => Work::Write,
            Op::Discard => Work::Trim,
            Op::Flush => Work::Sync,
        }
    }
}

/// The results of a job's run.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRecord {
    /// The job.
    pub job: Job,
    /// How many jobs this record combines; more than one after [`JobRecord::merge`].
    pub jobs: u32,
    /// From its start to its end; the longest of merged jobs.
    pub runtime: Span,
    /// The sum of the runtimes of all merged jobs.
    pub job_runtime: Span,
    /// When it ended, for fio's `elapsed`.
    pub ended: Instant,
    /// The longest time in which it had something in flight and nothing of it completed; of merged jobs the longest.
    pub stall: Span,
    /// I/Os that failed.
    pub errors: u64,
    /// Why it gave up, as an error number; 0 if it did not. For merged jobs, the first error.
    pub error: i32,
    /// Its logs, if it has any; merging does not include those of the other jobs.
    pub log: Option<Box<JobLog>>,
    /// Reads.
    pub read: Direction,
    /// Writes.
    pub write: Direction,
    /// Discards.
    pub trim: Direction,
    /// Flushes.
    pub sync: Direction,
    /// How many I/Os were in flight at each submission.
    pub depths: DepthLevels,
    /// Completion latencies of reads, writes and discards, in fio's steps.
    pub latencies: LatencyBuckets,
}

impl JobRecord {
    fn new(job: Job) -> JobRecord {
        JobRecord {
            job,
            jobs: 1,
            runtime: Span::ZERO,
            job_runtime: Span::ZERO,
            ended: Instant::ZERO,
            stall: Span::ZERO,
            errors: 0,
            error: 0,
            log: None,
            read: Direction::default(),
            write: Direction::default(),
            trim: Direction::default(),
            sync: Direction::default(),
            depths: DepthLevels::default(),
            latencies: LatencyBuckets::default(),
        }
    }

    /// One kind of its work.
    pub fn work(&self, work: Work) -> &Direction {
        match work {
            Work::Read => &self.read,
            Work::Write => &self.write,
            Work::Trim => &self.trim,
            Work::Sync => &self.sync,
        }
    }

    fn work_mut(&mut self, work: Work) -> &mut Direction {
        match work {
            Work::Read => &mut self.read,
            Work::Write => &mut self.write,
            Work::Trim => &mut self.trim,
            Work::Sync => &mut self.sync,
        }
    }

    /// Bytes per second of one kind of work, over the runtime; 0 for a job that did not run.
    pub fn bandwidth(&self, work: Work) -> f64 {
        per_second(self.work(work).bytes, self.runtime)
    }

    /// I/Os per second of one kind of work, over the runtime; 0 for a job that did not run.
    pub fn iops(&self, work: Work) -> f64 {
        per_second(self.work(work).ios, self.runtime)
    }

    /// Adds another job of the same group, like `group_reporting`: counts and samples add, the runtime is the longer
    /// one.
    pub fn merge(&mut self, other: &JobRecord) {
        self.jobs += other.jobs;
        self.runtime = self.runtime.max(other.runtime);
        self.job_runtime += other.job_runtime;
        self.ended = self.ended.max(other.ended);
        self.stall = self.stall.max(other.stall);
        self.errors += other.errors;
        self.error = if self.error == 0 { other.error } else { self.error };
        for work in Work::ALL {
            self.work_mut(work).merge(other.work(work));
        }
        self.depths.merge(&other.depths);
        self.latencies.merge(&other.latencies);
    }
}

fn per_second(amount: u64, span: Span) -> f64 {
    if span.is_zero() { 0.0 } else { amount as f64 / span.as_secs_f64() }
}
