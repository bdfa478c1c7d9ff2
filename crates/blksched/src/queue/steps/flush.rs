//! Flushes before blk-mq: submitted, begun, ended. The state is in `queue/flush.rs`.
//!
//! **In the kernel** `blk_insert_flush`, `blk_flush_complete_seq`.

use crate::explain::Reason;
use crate::queue::flush::FlushWaiter;
use crate::queue::{BlockQueue, Delivery, Listener, Outcome, Submitted};
use crate::request::{Bio, Carried, Durability, InFlight, Op, RequestId, SubmitterId};
use crate::time::Instant;

impl<L: Listener> BlockQueue<L> {
    /// Submits a flush, or a write that must be stable.
    pub(in crate::queue) fn submit_durable(&mut self, now: Instant, bio: Bio) -> Submitted {
        let cached = self.core.state.config.limits.volatile_cache;
        match (bio.op, cached) {
            (Op::Flush, false) => {
                self.core.state.deliveries.push(Delivery::Done { tag: bio.tag, outcome: Outcome::Ok });
                return Submitted::Done;
            }
            (_, false) => return self.submit_data(now, &Bio { durability: Durability::default(), ..bio }),
            // Since blk-mq, each holds a slot from start to end.
            (_, true) if self.core.state.config.slots.era().is_some() => return self.submit_data(now, &bio),
            (Op::Flush, true) => self.flushes.pending.push(FlushWaiter::Bare(bio.tag)),
            (_, true) if bio.durability.preflush => self.flushes.pending.push(FlushWaiter::Before(bio)),
            (_, true) => return self.submit_data(now, &bio),
        }
        self.core.explain(now, |_| Reason::FlushAsked { submitter: bio.submitter });
        Submitted::Held
    }

    /// Sends a flush, ahead of everything in the elevator, once the one before it has completed.
    #[inline]
    pub(in crate::queue) fn next_flush(&mut self, now: Instant) -> Option<InFlight> {
        if self.flushes.pending.is_empty() || self.flushes.running.is_some() {
            return None;
        }
        self.send_flush(now)
    }

    #[cold]
    fn send_flush(&mut self, now: Instant) -> Option<InFlight> {
        core::mem::swap(&mut self.flushes.pending, &mut self.flushes.covered);
        let bios = self.flushes.covered.len() as u32;
        self.core.explain(now, |_| Reason::FlushSent { bios });
        let rq = self.make(now, &Bio::flush(0, SubmitterId::default()), Carried::NOTHING);
        self.flushes.running = Some(rq);
        Some(self.start(now, rq))
    }

    pub(in crate::queue) fn flush_done(&mut self, now: Instant, rq: RequestId, outcome: Outcome) {
        assert_eq!(self.flushes.running.take(), Some(rq));
        self.core.state.requests.release(rq);
        let mut covered = core::mem::take(&mut self.flushes.covered);
        for wish in covered.drain(..) {
            match wish {
                FlushWaiter::Before(bio) if outcome == Outcome::Ok => {
                    let durability = Durability { preflush: false, ..bio.durability };
                    self.submit_held(now, Bio { durability, ..bio });
                }
                FlushWaiter::Bare(tag) | FlushWaiter::Before(Bio { tag, .. }) => {
                    self.core.state.deliveries.push(Delivery::Done { tag, outcome });
                }
                FlushWaiter::After(bios) => self.finish_bios(bios, outcome),
            }
        }
        self.flushes.covered = covered;
    }
}
