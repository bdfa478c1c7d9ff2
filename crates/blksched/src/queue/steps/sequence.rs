//! The steps of a flush sequence since blk-mq. The state is in `queue/sequence.rs`.
//!
//! **In the kernel** `blk_flush_complete_seq`, `blk_kick_flush`, `mq_flush_data_end_io`.

use crate::elevator::{Elevator, Insert};
use crate::explain::{Reason, Unplug};
use crate::queue::dispatch_list::From;
use crate::queue::mq::MqEra;
use crate::queue::sequence::{Counted, SequenceStep, SequenceWay};
use crate::queue::step::Step;
use crate::queue::tasks::Wakes;
use crate::queue::{BlockQueue, Listener, Outcome, Submitted};
use crate::request::{Bio, Op, RequestId, Stage};
use crate::time::Instant;

impl<L: Listener> BlockQueue<L> {
    /// Whether there is work that only the kernel's worker does ([`BlockQueue::run_worker`]). Only with
    /// [`Wakes::ByDriver`]; otherwise it is done at once.
    pub fn needs_worker(&self) -> bool {
        self.state.sequences.need_worker()
    }

    /// The kernel's worker runs: the flush that was left to it goes ahead of everything. A task that submitted before
    /// the worker ran went before the flush.
    pub fn run_worker(&mut self, now: Instant) {
        let state = self.at(now).cx.state;
        if let Some(flush) = state.sequences.taken_by_worker() {
            state.list.push_front(flush, From::Bypass);
        }
    }
}

impl<E: Elevator + ?Sized> Step<'_, E> {
    /// Whether this bio's data bypasses the elevator.
    pub(in crate::queue) fn passes_elevator_by(&self, bio: &Bio) -> bool {
        let plain = bio.op != Op::Flush && bio.durability.is_volatile();
        !plain && self.cx.state.config.slots.era() == Some(MqEra::Linux6_1)
    }
}

impl Step<'_, dyn Elevator> {
    /// A request that is a flush or must be stable has its slot. Returns `None` if it turns out to be an ordinary one.
    pub(in crate::queue) fn begin_sequence(&mut self, rq: RequestId) -> Option<Submitted> {
        let Bio { op, durability, .. } = *self.cx.state.requests[rq];
        let era = self.cx.state.config.slots.era();
        let flush_after = durability.fua && !self.cx.state.config.limits.fua;
        // 6.1 sends data past the elevator: to the head of the dispatch list if a flush follows, to its tail if the
        // device itself writes through. Since 6.12 such data is an ordinary request.
        match (op == Op::Flush || durability.preflush, flush_after, era) {
            (true, _, _) => self.wait_for_flush(rq, SequenceStep::Before),
            (false, true, Some(MqEra::Linux6_1)) => {
                self.data_begins(rq, Counted::Yes);
                self.list_data(rq, ListEnd::Head);
            }
            (false, false, Some(MqEra::Linux6_1)) => {
                self.data_begins(rq, Counted::No);
                self.list_data(rq, ListEnd::Tail);
            }
            (false, true, _) => {
                self.data_begins(rq, Counted::Yes);
                return None;
            }
            (false, false, _) => return None,
        }
        Some(Submitted::Held)
    }

    /// Whether `rq`'s data ended a step of a sequence that continues. If so, nothing else is done with it.
    pub(in crate::queue) fn sequence_goes_on(&mut self, rq: RequestId, outcome: Outcome) -> bool {
        if !self.cx.state.sequences.data_ended(rq) {
            return false;
        }
        let flush_after = self.cx.state.requests[rq].durability.fua && !self.cx.state.config.limits.fua;
        // What was not written cannot be made stable: the error is told at once.
        let goes_on = flush_after && outcome == Outcome::Ok;
        if goes_on {
            self.wait_for_flush(rq, SequenceStep::After);
        } else {
            self.kick_flush();
        }
        goes_on
    }

    /// Whether `rq` went to the device without the elevator.
    pub(in crate::queue) fn passed_by(&self, rq: RequestId) -> bool {
        self.cx.state.sequences.passed_by(rq)
    }

    /// The flush has completed.
    pub(in crate::queue) fn sequence_flushed(&mut self, flush: RequestId, outcome: Outcome) {
        let mut served = self.cx.state.sequences.flush_ended(flush);
        self.cx.state.list.flush_is_back();
        self.cx.state.requests.end(flush);
        for rq in served.drain(..) {
            let step = self.cx.state.sequences.step_ended(rq);
            let has_data = self.cx.state.requests[rq].sectors > 0;
            // A flush that failed says nothing about what it was to make stable, so the data behind it is not
            // written.
            if step == SequenceStep::Before && has_data && outcome == Outcome::Ok {
                self.data_begins(rq, Counted::Yes);
                self.send_flushed_data(rq);
            } else {
                self.end_request(rq, outcome);
            }
        }
        self.cx.state.sequences.keep(served);
        self.kick_flush();
    }

    /// The device returned the flush untried.
    pub(in crate::queue) fn sequence_flush_again(&mut self, flush: RequestId) {
        self.cx.state.list.flush_is_back();
        self.cx.state.requests.get_mut(flush).stage = Stage::Held;
        self.cx.state.list.push_front(flush, From::Bypass);
    }

    fn data_begins(&mut self, rq: RequestId, counted: Counted) {
        let way = match self.cx.state.config.slots.era() {
            Some(MqEra::Linux6_1) => SequenceWay::Bypass,
            _ => SequenceWay::Elevator,
        };
        self.cx.state.sequences.data_begins(rq, counted, way);
    }

    fn wait_for_flush(&mut self, rq: RequestId, step: SequenceStep) {
        self.cx.state.requests.get_mut(rq).stage = Stage::Held;
        self.cx.state.sequences.wait(rq, step, self.cx.now);
        self.cx.tell(|requests| Reason::FlushAsked { submitter: requests[rq].submitter });
        self.kick_flush();
    }

    fn kick_flush(&mut self) {
        if !self.cx.state.sequences.is_flush_due(self.cx.now) {
            return;
        }
        let bios = self.cx.state.sequences.serve();
        self.cx.tell(|_| Reason::FlushSent { bios });
        let flush = self.make_flush();
        self.cx.state.requests.get_mut(flush).stage = Stage::Held;
        self.cx.state.sequences.flush_begins(flush);
        match self.cx.state.config.wakes {
            // The kernel leaves it to kblockd. Whether a task that submits meanwhile is faster is for the driver to
            // say, if it models that.
            Wakes::AtOnce => self.cx.state.list.push_front(flush, From::Bypass),
            Wakes::ByDriver => self.cx.state.sequences.leave_to_worker(flush),
        }
    }

    /// Sends data whose flush has completed, ahead of everything: in 6.1, also of the elevator.
    fn send_flushed_data(&mut self, rq: RequestId) {
        if self.cx.state.config.slots.era() == Some(MqEra::Linux6_1) {
            return self.list_data(rq, ListEnd::Head);
        }
        self.elevator.prepare(&mut self.cx, rq);
        self.hand_over(rq, Insert::First);
        // There is no caller that could end the burst.
        self.open_plug(Unplug::Waiting);
    }

    fn list_data(&mut self, rq: RequestId, place: ListEnd) {
        self.enlist(rq);
        self.cx.seal(rq);
        self.cx.state.requests.get_mut(rq).stage = Stage::Held;
        match place {
            ListEnd::Head => self.cx.state.list.push_front(rq, From::Bypass),
            ListEnd::Tail => self.cx.state.list.push_back(rq, From::Bypass),
        }
    }
}

/// The place on the dispatch list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListEnd {
    Head,
    Tail,
}
