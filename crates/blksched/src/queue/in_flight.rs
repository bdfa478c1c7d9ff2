//! Requests in the device: a request is issued as a token, and completion consumes the token.
//!
//! **Rule** Each use of a slot for a request to the device has its own generation. A token, or its number, is valid for
//! the generation in which it was made.
//! **In the kernel** `blk_mq_start_request`, `blk_mq_requeue_request`, `blk_mq_free_request`,
//! `blk_mq_complete_request`, `elv_completed_request`.

use super::step::Step;
use super::{BlockQueue, Listener, QueueState};
use crate::elevator::Elevator;
use crate::request::{Bio, FlightKey, InFlight, NotInFlight, Op, RequestId, Stage};

impl<L: Listener> BlockQueue<L> {
    /// The token of a command that a driver carried as a number ([`InFlight::key`]). One number is valid for one answer
    /// of the device.
    ///
    /// # Errors
    /// If that command is not in flight, even if its slot has been reused since.
    pub fn in_flight_as(&self, key: FlightKey) -> Result<InFlight, NotInFlight> {
        let (rq, requests) = (key.slot(), &self.state.requests);
        let has = requests.is_live(rq) && requests[rq].stage == Stage::InFlight;
        if !has || requests.generation(rq) != key.generation() {
            return Err(NotInFlight(key));
        }
        Ok(self.state.token(rq))
    }
}

impl Step<'_, dyn Elevator> {
    /// The elevator chose `rq`: it leaves the merge index and goes to the device.
    #[inline(always)]
    pub(super) fn issue(&mut self, rq: RequestId) {
        let state = &mut *self.cx.state;
        let links = state.requests.issue(rq);
        state.merges.forget_hashed(&mut state.requests, rq, links);
        state.queued -= 1;
        self.begins(rq);
    }

    /// It goes to the device.
    #[inline(always)]
    fn begins(&mut self, rq: RequestId) {
        self.cx.state.device.in_flight += 1;
        self.cx.tell_by(|listener, at, requests| {
            let Bio { op, sectors, submitter, .. } = *requests[rq];
            listener.on_issued(at, rq, op.dir(), sectors, submitter);
        });
        if !self.cx.state.policies.is_empty() && self.cx.state.requests[rq].op != Op::Flush {
            self.cx.state.tell_issued(rq);
        }
    }

    /// A request that did not come from the elevator just now goes to the device.
    pub(super) fn start(&mut self, rq: RequestId) -> InFlight {
        self.cx.state.requests.get_mut(rq).stage = Stage::InFlight;
        self.begins(rq);
        self.cx.state.token(rq)
    }
}

impl QueueState {
    #[inline(always)]
    pub(super) fn token(&self, rq: RequestId) -> InFlight {
        self.requests.token(rq, self.config.limits.fua)
    }
}
