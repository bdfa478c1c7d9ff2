//! Requests on their way from the elevator to the driver. The state is in `queue/dispatch_list.rs`.
//!
//! **Origin** docs/behaviour/blk-mq-6.x.md#d2 to #d4.
//! **In the kernel** `blk_mq_dispatch_rq_list`, `blk_mq_do_dispatch_sched`, `blk_mq_run_hw_queue`,
//! `blk_mq_requeue_request`, `blk_mq_sched_restart`, `blk_mq_sched_mark_restart_hctx`.

use crate::elevator::Dispatch;
use crate::queue::dispatch_list::{DispatchAhead, FlushCommand, From};
use crate::queue::{BlockQueue, Listener};
use crate::request::{InFlight, Op, Stage};
use crate::time::Instant;

impl<L: Listener> BlockQueue<L> {
    /// Whether the device is full and its host sends nothing ahead.
    #[inline(always)]
    pub(in crate::queue) fn is_simply_full(&self) -> bool {
        self.core.state.device.in_flight >= self.core.state.config.depth
            && self.core.state.config.driver.ahead == DispatchAhead::Budget
    }

    /// Whether the device takes nothing at present. A request may then wait on the list.
    #[inline(always)]
    pub(in crate::queue) fn is_device_full(&mut self, now: Instant) -> bool {
        let state = &self.core.state;
        let room = state.device.in_flight < self.core.state.config.depth;
        let alone = self.core.state.config.driver.flush == FlushCommand::Alone;
        let first_is_flush = self.list.waiting.front().is_some_and(|&(rq, _)| state.requests[rq].op == Op::Flush);
        let waits_for_drive = alone && first_is_flush && state.device.in_flight > 0;
        if room && !waits_for_drive && !(alone && self.list.flush_in_device) {
            return false;
        }
        if self.core.state.config.driver.ahead == DispatchAhead::OneMore
            && self.list.is_empty()
            && self.elevator.schedules()
        {
            self.dispatch_ahead(now);
        }
        true
    }

    /// One more request leaves the elevator and waits here.
    #[inline(never)]
    fn dispatch_ahead(&mut self, now: Instant) {
        if self.answer.is_some() || self.plug.is_closed() || !self.elevator.has_work() {
            return;
        }
        match self.choose(now) {
            Dispatch::Issue(rq) => {
                self.core.seal(rq);
                self.core.state.requests.get_mut(rq).stage = Stage::Held;
                self.list.push_back(rq, From::Elevator);
            }
            // The elevator is asked again when something has changed.
            other => self.answer = Some(other),
        }
    }

    /// Sends the list's first request to the device, which has room.
    #[inline(always)]
    pub(in crate::queue) fn next_listed(&mut self, now: Instant) -> Option<InFlight> {
        let (rq, _) = self.list.waiting.pop_front()?;
        let is_flush = self.core.state.requests[rq].op == Op::Flush;
        self.list.flush_in_device |= is_flush;
        self.core.state.queued -= u32::from(!is_flush);
        Some(self.start(now, rq))
    }
}
