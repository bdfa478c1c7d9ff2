//! Requests in the device: a request is issued as a token, and completion consumes the token.
//!
//! **Rule** Each use of a slot for a request to the device has its own generation. A token, or its number, is valid for
//! the generation in which it was made.
//! **In the kernel** `blk_mq_start_request`, `blk_mq_requeue_request`, `blk_mq_free_request`,
//! `blk_mq_complete_request`, `elv_completed_request`.

use super::{BlockQueue, Listener};
use crate::explain::Reason;
use crate::request::{Bio, FlightKey, InFlight, NotInFlight, Op, RequestId, Sector, Stage};
use crate::time::Instant;

impl<L: Listener> BlockQueue<L> {
    /// The token of a command that a driver carried as a number ([`InFlight::key`]). One number is valid for one answer
    /// of the device.
    ///
    /// # Errors
    /// If that command is not in flight, even if its slot has been reused since.
    pub fn in_flight_as(&self, key: FlightKey) -> Result<InFlight, NotInFlight> {
        let (rq, requests) = (key.slot(), &self.core.state.requests);
        let has = requests.is_live(rq) && requests[rq].stage == Stage::InFlight;
        if !has || requests.generation(rq) != key.generation() {
            return Err(NotInFlight(key));
        }
        Ok(self.token(rq))
    }

    #[inline(always)]
    pub(super) fn start(&mut self, now: Instant, rq: RequestId) -> InFlight {
        let token = self.start_fast(now, rq);
        if token.op != Op::Flush {
            self.tell_policies(now, |policy, cx| policy.issued(cx, rq));
        }
        token
    }

    /// The same, without policies.
    #[inline(always)]
    pub(super) fn start_fast(&mut self, now: Instant, rq: RequestId) -> InFlight {
        self.core.state.device.in_flight += 1;
        self.core.state.requests.get_mut(rq).stage = Stage::InFlight;
        self.core.explain(now, |requests| {
            let Bio { op, sectors, submitter, .. } = *requests[rq];
            Reason::Issued { rq, dir: op.dir(), sectors, submitter }
        });
        self.token(rq)
    }

    #[inline(always)]
    pub(super) fn token(&self, rq: RequestId) -> InFlight {
        self.core.state.requests.token(rq, self.core.state.config.limits.fua)
    }

    /// Requests in flight do not change: another queue's command usually starts at another sector.
    #[inline(always)]
    pub(super) fn leave_device(&mut self, key: FlightKey, start: Sector) -> RequestId {
        let (rq, requests) = (key.slot(), &mut self.core.state.requests);
        let has = requests.is_live(rq) && requests[rq].stage == Stage::InFlight;
        let ours = has && requests.generation(rq) == key.generation() && requests[rq].start == start;
        assert!(ours, "{}", NotInFlight(key));
        requests.lands(rq);
        self.core.state.device.in_flight -= 1;
        // A request that the elevator never saw changes none of its answers.
        let request = &self.core.state.requests[rq];
        let unknown = !request.is_plain() && (request.op == Op::Flush || self.passed_by(rq));
        if !unknown || self.core.state.config.slots.era().is_none() {
            self.changed();
        }
        rq
    }

    /// Whether `rq` was issued by an elevator that has been replaced. Asked once per request.
    #[inline(always)]
    pub(super) fn is_orphan(&mut self, rq: RequestId) -> bool {
        if self.of_old_elevator.is_empty() {
            return false;
        }
        let at = self.of_old_elevator.iter().position(|&old| old == rq);
        at.map(|at| self.of_old_elevator.swap_remove(at)).is_some()
    }
}
