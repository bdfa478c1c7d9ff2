//! Requests that the device hands back without having tried them.
//!
//! **Rule** Such a request goes again, before anything else: from the place where the elevator keeps requeued requests
//! or, if the request bypassed the elevator, at the head of the dispatch list.
//! **Origin** since blk-mq docs/behaviour/blk-mq-6.x.md#d7.
//! **In the kernel** `elv_requeue_request`, `blk_mq_requeue_request`, `blk_mq_requeue_work`.

use super::dispatch_list::From;
use super::{BlockQueue, Listener};
use crate::elevator::Insert;
use crate::explain::Reason;
use crate::request::{InFlight, Op, RequestId, Stage};
use crate::time::Instant;

impl<L: Listener> BlockQueue<L> {
    /// The device returned a command untried (busy, a reset): it is issued again, before anything else.
    ///
    /// # Panics
    /// If it is not in flight here: see [`crate::request::NotInFlight`].
    pub fn requeue(&mut self, now: Instant, command: InFlight) {
        self.catch_up(now);
        let rq = self.leave_device(command.key(), command.start);
        self.core.explain(now, |_| Reason::Requeued { rq });
        if self.core.state.requests[rq].op == Op::Flush {
            self.requeue_flush(rq);
            return;
        }
        self.tell_policies(now, |policy, cx| policy.requeued(cx, rq));
        self.core.state.queued += 1;
        if self.passed_by(rq) {
            self.core.state.requests.get_mut(rq).stage = Stage::Held;
            self.list.push_front(rq, From::Bypass);
            return;
        }
        self.core.state.requests.get_mut(rq).stage = Stage::Queued;
        if self.is_orphan(rq) {
            // The present elevator has never seen it.
            self.elevator.prepare(&mut self.core.cx(now), rq);
            let run = self.elevator.insert(&mut self.core.cx(now), rq, Insert::First);
            self.run_hw_queue(now, run);
        } else {
            self.elevator.requeue(&mut self.core.cx(now), rq);
        }
    }

    fn requeue_flush(&mut self, rq: RequestId) {
        match self.core.state.config.slots.era() {
            Some(_) => self.sequence_flush_again(rq),
            None => {
                self.flushes.try_again(rq);
                self.core.state.requests.release(rq);
            }
        }
    }
}
