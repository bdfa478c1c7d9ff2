//! Flushes before blk-mq: submitted, begun, ended. The state is in `queue/flush.rs`.
//!
//! **In the kernel** `blk_insert_flush`, `blk_flush_complete_seq`.

use crate::elevator::Elevator;
use crate::explain::Reason;
use crate::queue::flush::FlushWaiter;
use crate::queue::split::SplitPiece;
use crate::queue::step::Step;
use crate::queue::{Delivery, Outcome, Submitted};
use crate::request::{Bio, Carried, Durability, InFlight, NONE, Op, RequestId, SubmitterId};

impl Step<'_, dyn Elevator> {
    /// Submits a flush, or a write that must be stable.
    pub(in crate::queue) fn submit_durable(&mut self, bio: Bio) -> Submitted {
        let cached = self.cx.state.config.limits.volatile_cache;
        match (bio.op, cached) {
            (Op::Flush, false) => {
                self.cx.state.deliveries.push(Delivery::Done { tag: bio.tag, outcome: Outcome::Ok });
                return Submitted::Done;
            }
            (_, false) => return self.submit_data(&Bio { durability: Durability::default(), ..bio }),
            // Since blk-mq, each holds a slot from start to end.
            (_, true) if self.cx.state.config.slots.era().is_some() => return self.submit_data(&bio),
            (Op::Flush, true) => self.cx.state.flushes.ask(FlushWaiter::Bare(bio.tag)),
            (_, true) if bio.durability.preflush => self.cx.state.flushes.ask(FlushWaiter::Before(bio)),
            (_, true) => return self.submit_data(&bio),
        }
        self.cx.tell(|_| Reason::FlushAsked { submitter: bio.submitter });
        Submitted::Held
    }

    /// Sends a flush, ahead of everything in the elevator, once the one before it has completed.
    pub(in crate::queue) fn next_flush(&mut self) -> Option<InFlight> {
        if self.cx.state.flushes.are_due() { self.send_flush() } else { None }
    }

    /// The flush itself, which needs no slot.
    pub(in crate::queue) fn make_flush(&mut self) -> RequestId {
        let flush = self.cx.state.make(&Bio::flush(0, SubmitterId::default()), SplitPiece::WHOLE, NONE);
        self.cx.state.requests.get_mut(flush).carry(Carried::NOTHING);
        flush
    }

    fn send_flush(&mut self) -> Option<InFlight> {
        let bios = self.cx.state.flushes.cover();
        self.cx.tell(|_| Reason::FlushSent { bios });
        let rq = self.make_flush();
        self.cx.state.flushes.begin(rq);
        Some(self.start(rq))
    }

    pub(in crate::queue) fn flush_done(&mut self, rq: RequestId, outcome: Outcome) {
        let mut covered = self.cx.state.flushes.end(rq);
        self.cx.state.requests.end(rq);
        for waiter in covered.drain(..) {
            match waiter {
                FlushWaiter::Before(bio) if outcome == Outcome::Ok => {
                    let durability = Durability { preflush: false, ..bio.durability };
                    self.submit_held(Bio { durability, ..bio });
                }
                FlushWaiter::Bare(tag) | FlushWaiter::Before(Bio { tag, .. }) => {
                    self.cx.state.deliveries.push(Delivery::Done { tag, outcome });
                }
                FlushWaiter::After(bios) => self.cx.state.finish_bios(bios, outcome),
            }
        }
        self.cx.state.flushes.keep(covered);
    }
}
