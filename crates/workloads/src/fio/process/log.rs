//! A recorded trace in place of a pattern: the next I/O and its time.
//!
//! **Rule** The I/Os of a trace go in their order, as many at a time as `iodepth` allows, each after the recorded delay
//! since the submission of the previous one, so a job that fell behind does not catch up. (fio's manual: "respect the
//! timestamps within the log and replay them with the appropriate delay"; the start of a delay is MEMORY.)

use std::sync::Arc;

use blksched::{Instant, Sector, Span};

use crate::fio::ddir::Ddir;

/// The replayed trace.
#[derive(Clone, Debug)]
pub(crate) struct LogPlan {
    pub entries: Arc<[LogEntry]>,
}

/// One I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogEntry {
    /// The time since the previous one.
    pub pause: Span,
    /// The direction; `None` for a flush.
    pub ddir: Option<Ddir>,
    pub start: Sector,
    pub sectors: u32,
}

/// The position in the trace.
#[derive(Clone, Debug)]
pub(super) struct Log {
    plan: LogPlan,
    at: usize,
    submitted: Instant,
}

impl Log {
    pub fn new(plan: LogPlan) -> Log {
        Log { plan, at: 0, submitted: Instant::ZERO }
    }

    pub fn begin(&mut self, now: Instant) {
        self.submitted = now;
    }

    fn next(&self) -> Option<&LogEntry> {
        self.plan.entries.get(self.at)
    }

    pub fn is_over(&self) -> bool {
        self.next().is_none()
    }

    pub fn due(&self) -> Instant {
        self.next().map_or(Instant::ZERO, |entry| self.submitted + entry.pause)
    }

    pub fn wants_flush(&self) -> bool {
        self.next().is_some_and(|entry| entry.ddir.is_none())
    }

    pub fn choices(&self) -> &'static [Ddir] {
        match self.next().and_then(|entry| entry.ddir) {
            Some(Ddir::Write) => &[Ddir::Write],
            Some(Ddir::Trim) => &[Ddir::Trim],
            Some(Ddir::Read) | None => &[Ddir::Read],
        }
    }

    /// Submits the next entry now; returns its place and length.
    pub fn submit(&mut self, now: Instant) -> (Sector, u32) {
        let entry = *self.next().expect("there is one");
        self.submitted = now;
        self.at += 1;
        (entry.start, entry.sectors)
    }
}
