//! `flow`: jobs that keep in step, by their weights.
//!
//! **Rule** Of the running processes of a flow, one may submit if it is not ahead: its I/Os over its weight do not
//! exceed all I/Os over all weights. One that is ahead sleeps for `flow_sleep` and checks again; without `flow_sleep`,
//! it continues as soon as the others have caught up. A process that exits takes its I/Os and its weight with it.

use std::sync::Arc;

use blksched::{Instant, Span, SubmitterId};

use crate::Emission;

/// Messages between members of a flow, by the word's highest byte; the rest is a number.
const BEGAN: u64 = 2 << 56;
const SUBMITTED: u64 = 3 << 56;
const LEFT: u64 = 4 << 56;
const NUMBER: u64 = (1 << 56) - 1;
/// In a `LEFT` message: I/Os in these bits, the weight above.
const COUNT_BITS: u32 = 40;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
/// The largest weight.
pub(crate) const MAX_WEIGHT: u64 = 65_535;

/// The job's settings.
#[derive(Clone, Debug)]
pub(crate) struct FlowPlan {
    /// At least 1.
    pub weight: u64,
    pub sleep: Span,
    /// All members, including this one.
    pub members: Arc<[SubmitterId]>,
}

#[derive(Clone, Debug)]
pub(super) struct Flow {
    said: FlowPlan,
    submitter: SubmitterId,
    own: u64,
    all: u64,
    weights: u64,
    /// It sleeps until then.
    sleeps: Option<Instant>,
}

impl Flow {
    pub fn new(said: FlowPlan, submitter: SubmitterId) -> Flow {
        Flow { said, submitter, own: 0, all: 0, weights: 0, sleeps: None }
    }

    pub fn begin(&mut self, out: &mut Vec<Emission>) {
        self.weights += self.said.weight;
        self.tell(BEGAN | self.said.weight, out);
    }

    pub fn submitted(&mut self, now: Instant, out: &mut Vec<Emission>) {
        self.own += 1;
        self.all += 1;
        self.tell(SUBMITTED, out);
        self.look(now);
    }

    /// Reports its own end.
    pub fn leave(&mut self, out: &mut Vec<Emission>) {
        self.tell(LEFT | self.said.weight << COUNT_BITS | self.own.min(COUNT), out);
    }

    /// Handles a message; true if it was about the flow.
    pub fn told(&mut self, word: u64) -> bool {
        match word & !NUMBER {
            BEGAN => self.weights += word & NUMBER,
            SUBMITTED => self.all += 1,
            LEFT => {
                self.all = self.all.saturating_sub(word & COUNT);
                self.weights = self.weights.saturating_sub((word & NUMBER) >> COUNT_BITS);
            }
            _ => return false,
        }
        true
    }

    /// When the flow allows its next I/O; `None`: after others' I/O.
    pub fn may_go_at(&self) -> Option<Instant> {
        match self.sleeps {
            Some(until) => Some(until),
            None if self.is_ahead() => None,
            None => Some(Instant::ZERO),
        }
    }

    /// Wakes, or sleeps on.
    pub fn look(&mut self, now: Instant) {
        if self.sleeps.is_none_or(|until| until <= now) {
            self.sleeps = (self.is_ahead() && !self.said.sleep.is_zero()).then(|| now + self.said.sleep);
        }
    }

    fn is_ahead(&self) -> bool {
        u128::from(self.own) * u128::from(self.weights) > u128::from(self.all) * u128::from(self.said.weight)
    }

    fn tell(&self, word: u64, out: &mut Vec<Emission>) {
        let others = self.said.members.iter().filter(|other| **other != self.submitter);
        out.extend(others.map(|&to| Emission::Tell { to, word }));
    }
}
