//! `thinktime`: think time between I/Os.
//!
//! **Rule** Think time is due when the job has *reaped* a multiple of `thinktime_blocks` I/Os; its queue is filled
//! first, and it reaps all outstanding I/Os before it thinks; from then on it submits one, waits for it, and so on
//! (docs/behaviour/fio-reaping.md#4). With `thinktime_blocks_type=issue` it is due at once when that many have been
//! submitted. It is also due when `thinktime_iotime` has passed, if that comes first; if only the latter is set, only
//! the latter counts (tried).

use blksched::{Instant, Span};

use crate::fio::settings::{AfterThinking, ThinksAfter};

/// The job's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThinkTime {
    pub time: Span,
    pub blocks: u64,
    pub after: ThinksAfter,
    /// Zero for no limit.
    pub iotime: Span,
    pub rates: AfterThinking,
}

#[derive(Clone, Debug)]
pub(super) struct Thinking {
    said: ThinkTime,
    /// I/Os that count towards the next pause, for jobs that think at once.
    since: u64,
    /// The end of the last pause.
    awake: Instant,
    due: bool,
}

impl Thinking {
    pub fn new(said: ThinkTime) -> Thinking {
        Thinking { said, since: 0, awake: Instant::ZERO, due: false }
    }

    pub fn begin(&mut self, now: Instant) {
        self.awake = now;
    }

    pub fn submitted(&mut self, now: Instant) {
        if self.said.after == ThinksAfter::Submission {
            self.since += 1;
            self.look(now);
        }
    }

    /// A completion was taken.
    pub fn taken(&mut self, now: Instant) {
        self.since += u64::from(self.said.after != ThinksAfter::Submission);
        self.look(now);
    }

    /// Checks whether it is time to think, whenever the job has submitted what it may, or taken what it can.
    pub fn look(&mut self, now: Instant) {
        let long = !self.said.iotime.is_zero() && now >= self.awake + self.said.iotime;
        let many = self.since > 0 && self.since.is_multiple_of(self.said.blocks);
        self.due |= !self.said.time.is_zero() && (many || long);
    }

    /// Whether nothing may be submitted until it has thought.
    pub fn is_due(&self) -> bool {
        self.due
    }

    /// Whether it does not wait for what is in flight.
    pub fn is_due_at_once(&self) -> bool {
        self.due && self.said.after == ThinksAfter::Submission
    }

    /// Begins to think at `now`; returns until when, and by how much a rate's schedule moves.
    pub fn think(&mut self, now: Instant) -> (Instant, Span) {
        self.due = false;
        if self.said.after == ThinksAfter::Submission {
            self.since = 0;
        }
        self.awake = now + self.said.time;
        let moved = if self.said.rates == AfterThinking::GoesOn { self.said.time } else { Span::ZERO };
        (self.awake, moved)
    }
}
