//! The bios of a finished request are delivered to their submitters.
//!
//! **Origin** since blk-mq docs/behaviour/blk-mq-6.x.md#c.
//! **In the kernel** `bio_endio`, `blk_update_request`, `blk_mq_end_request`.

use super::slot_pools::SlotPools;
use super::step::Step;
use super::{Delivery, Outcome, QueueState};
use crate::elevator::Elevator;
use crate::request::{Carried, Dir, Ended, Fragment, NONE, RequestId};

impl Step<'_, dyn Elevator> {
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
