//! The bios of a finished request are delivered to their submitters.
//!
//! **Origin** since blk-mq docs/behaviour/blk-mq-6.x.md#c.
//! **In the kernel** `bio_endio`, `blk_update_request`, `blk_mq_end_request`.

use super::{BlockQueue, Delivery, Listener, Outcome, QueueState};
use crate::explain::Reason;
use crate::request::{Carried, Fragment, RequestId};
use crate::time::Instant;

impl<L: Listener> BlockQueue<L> {
    /// Delivers the bios of a finished request, unless their data must still be flushed.
    #[inline]
    pub(super) fn deliver(&mut self, now: Instant, rq: RequestId, outcome: Outcome) {
        let request = &self.core.state.requests[rq];
        match request.carried() {
            Carried::Lone(tag) if request.is_plain() => {
                self.core.state.deliveries.push(Delivery::Done { tag, outcome })
            }
            carried => self.deliver_chain(now, rq, carried, outcome),
        }
    }

    #[inline(never)]
    pub(super) fn deliver_chain(&mut self, now: Instant, rq: RequestId, carried: Carried, outcome: Outcome) {
        let (bios, _) = self.core.state.bios.chain(carried);
        let needs_flush = self.core.state.requests[rq].durability.fua && !self.core.state.config.limits.fua;
        if needs_flush && outcome == Outcome::Ok && self.core.state.config.slots.era().is_none() {
            self.flushes.after(bios);
            self.core.explain(now, |requests| Reason::FlushAsked { submitter: requests[rq].submitter });
        } else {
            self.finish_bios(bios, outcome);
        }
    }

    pub(super) fn finish_bios(&mut self, bios: Fragment, outcome: Outcome) {
        self.core.state.finish_bios(bios, outcome);
    }
}

impl QueueState {
    /// Delivers the bios of a finished request in their order.
    pub(super) fn finish_bios(&mut self, bios: Fragment, outcome: Outcome) {
        let deliveries = &mut self.deliveries;
        self.bios.finish(bios, outcome == Outcome::Failed, |tag, failed| {
            let outcome = if failed { Outcome::Failed } else { Outcome::Ok };
            deliveries.push(Delivery::Done { tag, outcome });
        });
    }
}
