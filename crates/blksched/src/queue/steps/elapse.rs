//! Rule 1: what is due is handled before anything else.
//!
//! **Rule** Deadlines that have come elapse, the earliest first, each at its own time; of several at one moment, the
//! elevator's comes first, then the policies', the limits' and the plugs'.
//! **In the kernel** `blk_timeout_work`, `blk_stat_timer_fn`, `throtl_pending_timer_fn`, `blk_unplug_timeout`.

use crate::elevator::{Dispatch, Elevator, Run};
use crate::explain::{Reason, Unplug};
use crate::queue::step::Step;
use crate::time::Instant;

/// More deadlines than this at one moment are a bug.
const ROUNDS: u32 = 10_000;

impl Step<'_, dyn Elevator> {
    /// Every call begins with this.
    #[inline(always)]
    pub(in crate::queue) fn catch_up(&mut self) {
        let (now, clock) = (self.cx.now, self.cx.state.clock);
        assert!(now >= clock, "time ran backwards: {now} after {clock}");
        if now >= self.cx.state.quiet_until {
            self.elapse_all();
        }
        self.cx.state.clock = now;
    }

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
            self.unplug_for(run);
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
}
