//! The device has completed a command.
//!
//! **In the kernel** `blk_mq_complete_request`, `__blk_mq_end_request`, `elv_completed_request`.

use crate::elevator::Elevator;
use crate::explain::Reason;
use crate::queue::step::Step;
use crate::queue::{Outcome, QueueState};
use crate::request::{Bio, Carried, FlightKey, NotInFlight, Op, RequestId, Sector, Stage};

impl Step<'_, dyn Elevator> {
    /// The device has completed a command.
    #[inline(always)]
    pub(in crate::queue) fn complete(&mut self, key: FlightKey, start: Sector, outcome: Outcome) {
        if !self.cx.state.requests.land(key, start) {
            return self.complete_any(key, start, outcome);
        }
        let rq = key.slot();
        self.cx.state.device.in_flight -= 1;
        self.changed();
        self.explain_completed(rq);
        if self.cx.state.of_old_elevator.is_empty() || !self.is_orphan(rq) {
            let run = self.elevator.complete(&mut self.cx, rq);
            self.unplug_for(run);
        }
        self.end_request(rq, outcome);
    }

    #[inline(always)]
    pub(in crate::queue) fn explain_completed(&mut self, rq: RequestId) {
        self.cx.tell_by(|listener, at, requests| {
            let Bio { submitter, sectors, .. } = *requests[rq];
            listener.on_completed(at, rq, requests[rq].dir(), sectors, submitter);
        });
    }

    /// The device has completed any command.
    ///
    /// # Panics
    /// If it is not in flight here.
    #[cold]
    fn complete_any(&mut self, key: FlightKey, start: Sector, outcome: Outcome) {
        let rq = self.leave_device(key, start);
        self.explain_completed(rq);
        if self.cx.state.requests[rq].op == Op::Flush {
            match self.cx.state.config.slots.era() {
                Some(_) => self.sequence_flushed(rq, outcome),
                None => self.flush_done(rq, outcome),
            }
            return;
        }
        if !self.passed_by(rq) && !self.is_orphan(rq) {
            let run = self.elevator.complete(&mut self.cx, rq);
            self.unplug_for(run);
        }
        if !self.sequence_goes_on(rq, outcome) {
            self.hold_for_flush(rq, outcome);
            self.end_request(rq, outcome);
        }
    }

    /// Before blk-mq, bios whose data must still be flushed are not delivered with their request.
    fn hold_for_flush(&mut self, rq: RequestId, outcome: Outcome) {
        let QueueState { config, requests, bios, flushes, .. } = &mut *self.cx.state;
        let needs_flush = requests[rq].durability.fua && !config.limits.fua;
        if needs_flush && outcome == Outcome::Ok && config.slots.era().is_none() {
            let (carried, _) = bios.chain(requests[rq].carried());
            flushes.after(carried);
            requests.get_mut(rq).carry(Carried::NOTHING);
            self.cx.tell(|requests| Reason::FlushAsked { submitter: requests[rq].submitter });
        }
    }

    /// A command leaves the device. Requests in flight do not change: another queue's command usually starts at another
    /// sector.
    pub(in crate::queue) fn leave_device(&mut self, key: FlightKey, start: Sector) -> RequestId {
        let (rq, requests) = (key.slot(), &mut self.cx.state.requests);
        let has = requests.is_live(rq) && requests[rq].stage == Stage::InFlight;
        let ours = has && requests.generation(rq) == key.generation() && requests[rq].start == start;
        assert!(ours, "{}", NotInFlight(key));
        requests.lands(rq);
        self.cx.state.device.in_flight -= 1;
        // A request that the elevator never saw changes none of its answers.
        let request = &self.cx.state.requests[rq];
        let unknown = !request.is_plain() && (request.op == Op::Flush || self.passed_by(rq));
        if !unknown || self.cx.state.config.slots.era().is_none() {
            self.changed();
        }
        rq
    }

    /// Whether `rq` was issued by an elevator that has been replaced. Asked once per request.
    pub(in crate::queue) fn is_orphan(&mut self, rq: RequestId) -> bool {
        let at = self.cx.state.of_old_elevator.iter().position(|&old| old == rq);
        at.map(|at| self.cx.state.of_old_elevator.swap_remove(at)).is_some()
    }
}
