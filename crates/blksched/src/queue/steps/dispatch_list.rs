//! Requests on their way from the elevator to the driver. The state is in `queue/dispatch_list.rs`.
//!
//! **Origin** docs/behaviour/blk-mq-6.x.md#d2 to #d4.
//! **In the kernel** `blk_mq_dispatch_rq_list`, `blk_mq_do_dispatch_sched`, `blk_mq_run_hw_queue`,
//! `blk_mq_requeue_request`, `blk_mq_sched_restart`, `blk_mq_sched_mark_restart_hctx`.

use crate::elevator::{Dispatch, Elevator};
use crate::queue::Next;
use crate::queue::dispatch_list::{DispatchAhead, FlushCommand};
use crate::queue::state::QueueState;
use crate::queue::step::Step;
use crate::request::{Op, RequestId};

impl Step<'_, dyn Elevator> {
    /// What the device should do next.
    #[inline(always)]
    pub(in crate::queue) fn next(&mut self) -> Next {
        let QueueState { device, config, list, flushes, plug, answer, slots, .. } = &*self.cx.state;
        if device.in_flight >= config.depth {
            if config.driver.ahead == DispatchAhead::Budget && slots.nobody_goes_on() {
                return Next::Full;
            }
        } else if list.is_idle()
            && !flushes.are_asked()
            && !plug.is_closed()
            && answer.is_none()
            && let Some(rq) = self.ask_elevator()
        {
            return Next::Issue(self.cx.state.token(rq));
        }
        self.next_of_all()
    }

    /// Asks the elevator; an answer that is no request remains its answer until something changes.
    #[inline(always)]
    fn ask_elevator(&mut self) -> Option<RequestId> {
        match self.choose() {
            Dispatch::Issue(rq) => {
                self.issue(rq);
                Some(rq)
            }
            answer => {
                self.cx.state.answer = Some(answer);
                None
            }
        }
    }

    /// The elevator's answer, after its reinsertions and cancelled requests have been handled.
    #[inline(always)]
    fn choose(&mut self) -> Dispatch {
        loop {
            match self.elevator.dispatch(&mut self.cx) {
                Dispatch::Reinsert(rq) => self.reinsert(rq),
                Dispatch::Issue(rq) if !self.cx.state.cancelled.is_empty() && self.drops(rq) => {}
                answer => return answer,
            }
        }
    }

    /// What the device should do next, whatever that is. Sleepers whose slots are free run before it is left alone.
    #[inline(never)]
    pub(in crate::queue) fn next_of_all(&mut self) -> Next {
        loop {
            let next = self.ask();
            if matches!(next, Next::Issue(_)) || !self.admit_sleepers() {
                return next;
            }
        }
    }

    fn ask(&mut self) -> Next {
        if let Some(next) = self.next_listed() {
            return next;
        }
        if let Some(flush) = self.next_flush() {
            return Next::Issue(flush);
        }
        if self.cx.state.plug.is_closed() {
            return Next::Plugged { until: self.cx.state.plug.deadline() };
        }
        if self.cx.state.answer.is_none()
            && let Some(rq) = self.ask_elevator()
        {
            return Next::Issue(self.cx.state.token(rq));
        }
        let QueueState { plug, answer, .. } = &*self.cx.state;
        match answer {
            Some(Dispatch::Idle { until, why }) => Next::Idle { until: *until, why: *why },
            Some(Dispatch::Wait) => Next::Wait,
            Some(Dispatch::Empty) if plug.holds() => Next::Plugged { until: plug.deadline() },
            Some(Dispatch::Empty) => Next::Empty,
            answer => unreachable!("{answer:?} was handled"),
        }
    }

    /// The device is full, or requests are on the list. `None`: it takes what the elevator chooses.
    fn next_listed(&mut self) -> Option<Next> {
        if self.is_device_full() {
            return Some(Next::Full);
        }
        let rq = self.cx.state.list.pop_front()?;
        let is_flush = self.cx.state.requests[rq].op == Op::Flush;
        if is_flush {
            self.cx.state.list.flush_is_out();
        }
        self.cx.state.queued -= u32::from(!is_flush);
        Some(Next::Issue(self.start(rq)))
    }

    /// Whether the device takes nothing at present. A request may then wait on the list.
    fn is_device_full(&mut self) -> bool {
        let QueueState { device, config, list, requests, .. } = &*self.cx.state;
        let room = device.in_flight < config.depth;
        let alone = config.driver.flush == FlushCommand::Alone;
        let first_is_flush = list.front().is_some_and(|rq| requests[rq].op == Op::Flush);
        let waits_for_drive = alone && first_is_flush && device.in_flight > 0;
        if room && !waits_for_drive && !(alone && list.has_flush_out()) {
            return false;
        }
        if config.driver.ahead == DispatchAhead::OneMore && list.is_empty() && self.elevator.schedules() {
            self.dispatch_ahead();
        }
        true
    }

    /// One more request leaves the elevator and waits here.
    fn dispatch_ahead(&mut self) {
        if self.cx.state.answer.is_some() || self.cx.state.plug.is_closed() || !self.elevator.has_work() {
            return;
        }
        match self.choose() {
            Dispatch::Issue(rq) => self.hold_on_list(rq),
            // The elevator is asked again when something has changed.
            other => self.cx.state.answer = Some(other),
        }
    }
}
