//! The results of one run with one seed, as measures read them.

use blksched::author::PerDir;
use blksched::{Dir, Instant, Listener, Op, Reason, Span, SubmitterId};
use blksched_disks::Activity;
use blksched_measure::{AskedAndGiven, Completion, Moments, Reasons};

use super::tally::Tally;
use super::timeline::RunTimeline;
use crate::cpu::CpuReport;
use crate::hash::TraceHash;
use crate::world::Observer;

/// The outcome of one run.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// Every process, in the order of its submitter.
    pub processes: Vec<ProcessOutcome>,
    /// What happened in each second.
    pub timeline: RunTimeline,
    /// The recorded reasons.
    pub reasons: Reasons,
    /// Counts that `reasons` does not have.
    pub tally: Tally,
    /// When the run ended.
    pub elapsed: Span,
    /// A hash of everything that the disk did.
    pub hash: TraceHash,
    /// What the processors did; `None` where I/O costs them nothing.
    pub cpu: Option<CpuReport>,
}

/// One process's part.
#[derive(Clone, Debug)]
pub struct ProcessOutcome {
    /// Its name.
    pub name: String,
    /// When it began.
    pub began: Instant,
    /// When it exited, if it did.
    pub ended: Option<Instant>,
    /// What it read and wrote \[bytes\].
    pub bytes: PerDir<u64>,
    /// The same for each second of the run, both directions together.
    pub bytes_by_second: Vec<u64>,
    /// From submission to completion \[ns\].
    pub latency: PerDir<Moments>,
    /// Each read's, in the order of completion \[us\].
    pub reads_us: Vec<u32>,
    /// How long it asked for the disk, and how long it had it.
    pub share: AskedAndGiven,
    /// How long its queue was in service.
    pub served: Span,
    /// What the disk's mechanism did for it.
    pub activity: Activity,
}

impl ProcessOutcome {
    pub(super) fn new(name: String, began: Instant) -> ProcessOutcome {
        ProcessOutcome {
            name,
            began,
            ended: None,
            bytes: PerDir::default(),
            bytes_by_second: Vec::new(),
            latency: PerDir::default(),
            reads_us: Vec::new(),
            share: AskedAndGiven::default(),
            served: Span::ZERO,
            activity: Activity::default(),
        }
    }

    /// How long it ran; `None` if it did not end.
    pub fn ran(&self) -> Option<Span> {
        self.ended.map(|ended| ended.since(self.began))
    }
}

/// What is recorded of a run's reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Keeps {
    #[default]
    Nothing,
    /// Only counts.
    Counts,
    All,
}

/// The listener of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Ear {
    pub(super) keeps: Keeps,
    keeps_seconds: bool,
    pub(super) reasons: Reasons,
    pub(super) tally: Tally,
    pub(super) timeline: RunTimeline,
}

impl Ear {
    /// A listener that records this much of the reasons, and optionally seconds.
    pub(super) fn that(keeps: Keeps, keeps_seconds: bool) -> Ear {
        let reasons = if keeps == Keeps::Counts { Reasons::of_counts() } else { Reasons::new() };
        Ear { keeps, keeps_seconds, reasons, ..Ear::default() }
    }
}

impl Listener for Ear {
    fn on_event(&mut self, at: Instant, reason: Reason) {
        if self.keeps != Keeps::Nothing {
            self.reasons.on_event(at, reason);
            self.tally.on_event(at, reason);
        }
        if self.keeps_seconds {
            self.timeline.on_event(at, reason);
        }
    }

    fn is_listening(&self) -> bool {
        self.keeps != Keeps::Nothing || self.keeps_seconds
    }
}

/// The observer of bios and exits in a run.
#[derive(Clone, Debug, Default)]
pub(super) struct OutcomeObserver {
    pub(super) processes: Vec<ProcessOutcome>,
}

impl OutcomeObserver {
    /// Whether all processes with these numbers have exited.
    pub(super) fn have_exited(&self, names: &[usize]) -> bool {
        !names.is_empty() && names.iter().all(|&nth| self.processes[nth].ended.is_some())
    }
}

impl Observer for OutcomeObserver {
    fn submitted(&mut self, _now: Instant, _source: usize, _op: Op, _bytes: u64) {}

    fn completed(&mut self, now: Instant, source: usize, done: &Completion) {
        let dir = match done.op {
            Op::Read => Dir::Read,
            Op::Write => Dir::Write,
            Op::Flush | Op::Discard | Op::WriteZeroes => return,
        };
        let process = &mut self.processes[source];
        let latency = now.since(done.submitted_at);
        process.bytes[dir] += done.bytes;
        let second = (now.as_ns() / 1_000_000_000) as usize;
        if process.bytes_by_second.len() <= second {
            process.bytes_by_second.resize(second + 1, 0);
        }
        process.bytes_by_second[second] += done.bytes;
        process.latency[dir].record(latency.as_ns());
        if dir == Dir::Read {
            process.reads_us.push(u32::try_from(latency.as_ns() / 1000).unwrap_or(u32::MAX));
        }
    }

    fn exited(&mut self, now: Instant, source: usize) {
        self.processes[source].ended = Some(now);
    }
}

/// The submitter of a run's `nth` process.
pub(super) fn submitter(nth: usize) -> SubmitterId {
    SubmitterId(nth as u32)
}
