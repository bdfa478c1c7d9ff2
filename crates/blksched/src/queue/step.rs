//! One call of a queue: its elevator, its state and the time; and the rules that every call keeps.
//!
//! **Rule** A call handles first what was due before it, each deadline at its own time (Rule 1); and whatever changes
//! something makes the elevator's last answer invalid (Rule 2). What happens to a request is written once. The steps
//! that every request takes are compiled together with each elevator, inside which every question to it is a known
//! call, or nothing if it has no such call (`queue/steps/compiled.rs`); what happens rarely continues as
//! [`Step::rare`], compiled once for all of them.

use super::SubmitterId;
use super::plug::Handover;
use crate::elevator::{Cx, Dispatch, Elevator, Run};
use crate::explain::{Reason, Unplug};
use crate::time::Instant;

/// More deadlines than this at one moment are a bug.
const ROUNDS: u32 = 10_000;

/// One call of a queue: its elevator, its state, its listener, and the time.
pub(super) struct Step<'a, E: Elevator + ?Sized> {
    pub(super) elevator: &'a mut E,
    pub(super) cx: Cx<'a>,
}

/// What the submitter of a bio does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// It may submit more.
    Continues,
    /// It waits: its burst consists of this bio.
    Waits,
    /// It slept for a slot and tries again. If there still is none, whoever woke it keeps its bio.
    TriesAgain,
}

impl<'a, E: Elevator + ?Sized> Step<'a, E> {
    /// The same call, for what happens rarely.
    #[inline(always)]
    pub(super) fn rare(&mut self) -> Step<'_, dyn Elevator> {
        Step { elevator: self.elevator.as_dyn(), cx: self.cx.apart() }
    }

    /// Rule 2: something changed, so the elevator's last answer is no longer valid.
    #[inline(always)]
    pub(super) fn changed(&mut self) {
        self.cx.state.answer = None;
    }

    /// A requested run opens the queue's plug.
    #[inline(always)]
    pub(super) fn run_hw_queue(&mut self, run: Run) {
        if run == Run::No {
            return;
        }
        self.cx.tell(|_| Reason::WishedRun(run));
        if self.cx.state.plug.is_closed() {
            self.rare().open_plug(Unplug::Wished);
        }
    }

    /// The same for a run requested in a call that has no answer of its own.
    #[inline(always)]
    pub(super) fn run_if_asked(&mut self) {
        if self.cx.state.run_asked != Run::No {
            let run_asked = core::mem::take(&mut self.cx.state.run_asked);
            self.run_hw_queue(run_asked);
        }
    }

    /// Rule 1: deadlines that are due elapse first, the earliest first, each at its own time.
    #[inline(always)]
    pub(super) fn catch_up(&mut self) {
        let (now, clock) = (self.cx.now, self.cx.state.clock);
        assert!(now >= clock, "time ran backwards: {now} after {clock}");
        if now >= self.cx.state.quiet_until {
            self.rare().elapse_all();
        }
        self.cx.state.clock = now;
    }
}

impl Step<'_, dyn Elevator> {
    /// Handles every deadline that has come, and finds out when the next one comes.
    #[inline(never)]
    fn elapse_all(&mut self) {
        let now = self.cx.now;
        let mut rounds = 0;
        let next = loop {
            let next = self.next_deadline();
            if next > now {
                break next;
            }
            let (at, clock) = (next.max(self.cx.state.clock), self.cx.state.clock);
            rounds = if at == clock { rounds + 1 } else { 0 };
            assert!(rounds < ROUNDS, "at {at} the elevator leaves its deadline in the past for ever");
            (self.cx.now, self.cx.state.clock) = (at, at);
            self.elapse_one();
        };
        self.cx.now = now;
        // An elevator that does not announce its deadlines is asked each time.
        self.cx.state.quiet_until = if self.cx.state.due.asked { Instant::ZERO } else { next };
    }

    /// `Instant::NEVER` if there is none.
    fn next_deadline(&self) -> Instant {
        let elevator = if self.cx.state.due.may_come() { self.elevator.deadline() } else { None };
        let timer = if self.cx.state.has_timers() { self.cx.state.next_timer() } else { None };
        Instant::earliest([elevator, timer]).unwrap_or(Instant::NEVER)
    }

    /// Handles one of the deadlines that have come now.
    fn elapse_one(&mut self) {
        let at = self.cx.now;
        let is_due = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= at);
        if is_due(self.elevator.deadline()) {
            self.cx.tell(|_| Reason::Elapsed);
            let run = self.elevator.elapse(&mut self.cx);
            // A deadline that requests no run changes no answer, unless the answer was to wait for it.
            if run != Run::No || matches!(self.cx.state.answer, Some(Dispatch::Idle { .. })) {
                self.changed();
            }
            self.run_hw_queue(run);
        } else if is_due(self.cx.state.policies.deadline()) {
            self.elapse_policies();
        } else if is_due(self.cx.state.gate.deadline()) {
            self.elapse_gate();
        } else {
            self.end_long_bursts();
            if self.cx.state.plug.is_due(at) {
                self.open_plug(Unplug::Timer);
            }
        }
    }

    /// This submitter's burst has ended, and it waits for it: plugs are emptied.
    #[inline]
    pub(super) fn wait_for_burst(&mut self, submitter: SubmitterId) {
        self.flush_plug_of(submitter, Handover::Finish);
        self.open_plug(Unplug::Waiting);
    }
}
