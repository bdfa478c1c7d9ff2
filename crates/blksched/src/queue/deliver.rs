//! The bios of a finished request are delivered to their submitters.
//!
//! **Origin** since blk-mq docs/behaviour/blk-mq-6.x.md#c.
//! **In the kernel** `bio_endio`, `blk_update_request`, `blk_mq_end_request`.

use super::slot_pools::SlotPools;
use super::step::Step;
use super::{Delivery, Outcome, QueueState};
use crate::elevator::Elevator;
use crate::explain::Reason;
use crate::request::{Bio, Carried, Dir, Ended, FlightKey, Fragment, NONE, NotInFlight, Op, RequestId, Sector, Stage};

impl Step<'_, dyn Elevator> {
    /// The device has completed a command.
    #[inline(always)]
    pub(super) fn complete(&mut self, key: FlightKey, start: Sector, outcome: Outcome) {
        if !self.cx.state.requests.land(key, start) {
            return self.complete_any(key, start, outcome);
        }
        let rq = key.slot();
        self.cx.state.device.in_flight -= 1;
        self.changed();
        self.explain_completed(rq);
        if self.cx.state.of_old_elevator.is_empty() || !self.is_orphan(rq) {
            let run = self.elevator.complete(&mut self.cx, rq);
            self.run_hw_queue(run);
        }
        self.end_request(rq, outcome);
    }

    #[inline(always)]
    pub(super) fn explain_completed(&mut self, rq: RequestId) {
        self.cx.tell_by(|listener, at, requests| {
            let Bio { submitter, sectors, .. } = *requests[rq];
            listener.on_completed(at, rq, requests[rq].dir(), sectors, submitter);
        });
    }

    /// Ends `rq`: its bios end, the policies are told, its slot becomes free, in this order.
    #[inline(always)]
    pub(super) fn end_request(&mut self, rq: RequestId, outcome: Outcome) {
        if !self.cx.state.policies.is_empty() {
            self.cx.state.tell_done(rq);
        }
        let Ended { lone, bios, dir, tag } = self.cx.state.requests.end(rq);
        if lone {
            self.cx.state.deliveries.push(Delivery::Done { tag: bios, outcome });
        } else {
            self.cx.state.deliver_chain(Carried::chain_of(bios), outcome);
        }
        self.cx.state.free_slot(dir, tag);
    }
}

impl Step<'_, dyn Elevator> {
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
            self.run_hw_queue(run);
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
    pub(super) fn leave_device(&mut self, key: FlightKey, start: Sector) -> RequestId {
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
    pub(super) fn is_orphan(&mut self, rq: RequestId) -> bool {
        let at = self.cx.state.of_old_elevator.iter().position(|&old| old == rq);
        at.map(|at| self.cx.state.of_old_elevator.swap_remove(at)).is_some()
    }
}

impl QueueState {
    /// A request was absorbed by another, which carries its bios now.
    pub(super) fn release(&mut self, rq: RequestId) {
        let Ended { dir, tag, .. } = self.requests.end(rq);
        self.free_slot(dir, tag);
    }

    /// The slot of a request that has ended becomes free; tasks that are woken are reported.
    #[inline(always)]
    fn free_slot(&mut self, dir: Dir, tag: u32) {
        match &mut self.slots {
            SlotPools::Pools(pools) => pools.release(dir, &mut self.woke),
            SlotPools::Tags(tasks) if tag != NONE => tasks.give_back(tag, &mut self.woke),
            SlotPools::Tags(_) => {}
        }
        self.woken();
    }

    /// Delivers the bios of a finished request that carries several.
    #[inline(never)]
    fn deliver_chain(&mut self, carried: Carried, outcome: Outcome) {
        let (bios, _) = self.bios.chain(carried);
        self.finish_bios(bios, outcome);
    }

    /// Delivers the bios of a finished request in their order.
    pub(super) fn finish_bios(&mut self, bios: Fragment, outcome: Outcome) {
        let deliveries = &mut self.deliveries;
        self.bios.finish(bios, outcome == Outcome::Failed, |tag, failed| {
            let outcome = if failed { Outcome::Failed } else { Outcome::Ok };
            deliveries.push(Delivery::Done { tag, outcome });
        });
    }
}
