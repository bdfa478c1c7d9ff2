//! `thinktime`: pauses between I/Os.
//!
//! **Rule** A pause is due when `thinktime_blocks` I/Os have been submitted since the last, or `thinktime_iotime` has
//! passed, whichever comes first; if only the latter is said, only the latter counts (tried). It begins when all that
//! is in flight has completed, or at once (`thinktime_blocks_type=issue`).

use blksched::{Instant, Span};

use crate::fio::settings::{AfterThinking, ThinksAfter};

/// As said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThinkTime {
    pub time: Span,
    pub blocks: u64,
    pub after: ThinksAfter,
    /// Zero: no matter.
    pub iotime: Span,
    pub rates: AfterThinking,
}

#[derive(Clone, Debug)]
pub(super) struct Thinking {
    said: ThinkTime,
    /// I/Os since the last pause.
    since: u64,
    /// When that was over.
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
        self.since += 1;
        self.look(now);
    }

    /// Has its time come?
    pub fn look(&mut self, now: Instant) {
        let long = !self.said.iotime.is_zero() && now >= self.awake + self.said.iotime;
        self.due |= !self.said.time.is_zero() && (self.since >= self.said.blocks || long && self.since > 0);
    }

    /// Nothing may be submitted until it has thought.
    pub fn is_due(&self) -> bool {
        self.due
    }

    /// It does not wait for what is in flight.
    pub fn is_due_at_once(&self) -> bool {
        self.due && self.said.after == ThinksAfter::Submission
    }

    /// Thinks from `now` on: until when, and by how much a rate's schedule moves.
    pub fn think(&mut self, now: Instant) -> (Instant, Span) {
        (self.since, self.due) = (0, false);
        self.awake = now + self.said.time;
        let moved = if self.said.rates == AfterThinking::GoesOn { self.said.time } else { Span::ZERO };
        (self.awake, moved)
    }
}
