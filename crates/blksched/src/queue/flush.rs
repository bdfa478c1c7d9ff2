//! Flushes: what must be stable before something completes.
//!
//! **Rule** A flush makes everything stable that *completed* before it was sent; it waits for nothing else. A write
//! with `preflush` is sent after a flush; one with `fua` is written through, or followed by a flush where the device
//! cannot. One flush is in flight at a time; wishes that arrive meanwhile share the next. A device without a volatile
//! cache needs none of this.
//! **Origin** 2.6.37 to blk-mq, whose flushes are in `sequence.rs`; before that, barriers drained the queue (not built:
//! no mail or recording needs them).

use super::{BlockQueue, Delivery, Listener, Outcome, Submitted};
use crate::explain::Reason;
use crate::request::{Bio, Carried, Durability, Fragment, InFlight, Op, RequestId, SubmitterId, Tag};
use crate::time::Instant;

/// What waits for a flush.
#[derive(Clone, Copy, Debug)]
enum Wish {
    /// A bare flush.
    Bare(Tag),
    /// This bio's data goes when the flush is done.
    Before(Bio),
    /// These bios' data is written, and complete when the flush is done.
    After(Fragment),
}

/// Flushes wished for and under way.
#[derive(Debug, Default)]
pub(super) struct Flushes {
    wished: Vec<Wish>,
    running: Option<RequestId>,
    covered: Vec<Wish>,
}

impl Flushes {
    pub(super) fn after(&mut self, bios: Fragment) {
        self.wished.push(Wish::After(bios));
    }

    /// The flush came back untried.
    pub(super) fn try_again(&mut self, rq: RequestId) {
        assert_eq!(self.running.take(), Some(rq));
        self.covered.append(&mut self.wished);
        core::mem::swap(&mut self.covered, &mut self.wished);
    }
}

impl<L: Listener> BlockQueue<L> {
    /// A flush, or a write that must be stable.
    pub(super) fn submit_durable(&mut self, now: Instant, bio: Bio) -> Submitted {
        let cached = self.core.config.limits.volatile_cache;
        match (bio.op, cached) {
            (Op::Flush, false) => {
                self.deliveries.push(Delivery::Done { tag: bio.tag, outcome: Outcome::Ok });
                return Submitted::Done;
            }
            (_, false) => return self.submit_data(now, &Bio { durability: Durability::default(), ..bio }),
            // Since blk-mq each holds a slot from start to end.
            (_, true) if self.core.config.slots.era().is_some() => return self.submit_data(now, &bio),
            (Op::Flush, true) => self.flushes.wished.push(Wish::Bare(bio.tag)),
            (_, true) if bio.durability.preflush => self.flushes.wished.push(Wish::Before(bio)),
            (_, true) => return self.submit_data(now, &bio),
        }
        self.core.explain(now, |_| Reason::FlushAsked { submitter: bio.submitter });
        Submitted::Held
    }

    /// A flush goes ahead of everything the elevator holds, once the one before it is done.
    #[inline]
    pub(super) fn next_flush(&mut self, now: Instant) -> Option<InFlight> {
        if self.flushes.wished.is_empty() || self.flushes.running.is_some() {
            return None;
        }
        self.send_flush(now)
    }

    #[cold]
    fn send_flush(&mut self, now: Instant) -> Option<InFlight> {
        core::mem::swap(&mut self.flushes.wished, &mut self.flushes.covered);
        let bios = self.flushes.covered.len() as u32;
        self.core.explain(now, |_| Reason::FlushSent { bios });
        let rq = self.make(now, &Bio::flush(0, SubmitterId::default()), Carried::NOTHING);
        self.flushes.running = Some(rq);
        Some(self.start(now, rq))
    }

    pub(super) fn flush_done(&mut self, now: Instant, rq: RequestId, outcome: Outcome) {
        assert_eq!(self.flushes.running.take(), Some(rq));
        self.core.state.requests.release(rq);
        let mut covered = core::mem::take(&mut self.flushes.covered);
        for wish in covered.drain(..) {
            match wish {
                Wish::Before(bio) if outcome == Outcome::Ok => {
                    let durability = Durability { preflush: false, ..bio.durability };
                    self.submit_held(now, Bio { durability, ..bio });
                }
                Wish::Bare(tag) | Wish::Before(Bio { tag, .. }) => {
                    self.deliveries.push(Delivery::Done { tag, outcome });
                }
                Wish::After(bios) => self.finish_bios(bios, outcome),
            }
        }
        self.flushes.covered = covered;
    }
}
