//! Requests that the device hands back without having tried them.
//!
//! **Rule** Such a request goes again, before anything else: from the place where the elevator keeps requeued requests
//! or, if the request bypassed the elevator, at the head of the dispatch list.
//! **Origin** since blk-mq docs/behaviour/blk-mq-6.x.md#d7.
//! **In the kernel** `elv_requeue_request`, `blk_mq_requeue_request`, `blk_mq_requeue_work`.

use super::dispatch_list::From;
use super::step::Step;
use super::{BlockQueue, Listener};
use crate::elevator::{Elevator, Insert};
use crate::explain::Reason;
use crate::request::{InFlight, Op, RequestId, Stage};
use crate::time::Instant;

impl<L: Listener> BlockQueue<L> {
    /// The device returned a command untried (busy, a reset): it is issued again, before anything else.
    ///
    /// # Panics
    /// If it is not in flight here: see [`crate::request::NotInFlight`].
    pub fn requeue(&mut self, now: Instant, command: InFlight) {
        let mut step = self.at(now);
        let rq = step.leave_device(command.key(), command.start);
        step.requeue(rq);
    }
}

impl Step<'_, dyn Elevator> {
    fn requeue(&mut self, rq: RequestId) {
        self.cx.tell(|_| Reason::Requeued { rq });
        if self.cx.state.requests[rq].op == Op::Flush {
            self.requeue_flush(rq);
            return;
        }
        self.tell_policies(|policy, cx| policy.requeued(cx, rq));
        self.cx.state.queued += 1;
        if self.passed_by(rq) {
            self.cx.state.requests.get_mut(rq).stage = Stage::Held;
            self.cx.state.list.push_front(rq, From::Bypass);
            return;
        }
        self.cx.state.requests.get_mut(rq).stage = Stage::Queued;
        if self.is_orphan(rq) {
            // The present elevator has never seen it.
            self.elevator.prepare(&mut self.cx, rq);
            let run = self.elevator.insert(&mut self.cx, rq, Insert::First);
            self.unplug_for(run);
        } else {
            self.elevator.requeue(&mut self.cx, rq);
        }
    }

    fn requeue_flush(&mut self, rq: RequestId) {
        match self.cx.state.config.slots.era() {
            Some(_) => self.sequence_flush_again(rq),
            None => {
                self.cx.state.flushes.try_again(rq);
                self.cx.state.requests.end(rq);
            }
        }
    }
}
