//! A bio joins a request: the request grows, and may now be adjacent to its neighbour.
//!
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#e4 to #e6.
//! **In the kernel** `bio_attempt_back_merge`, `bio_attempt_front_merge`, `attempt_merge`, `elv_merged_request`,
//! `elv_merge_requests`, `attempt_back_merge`, `attempt_front_merge`, `ll_back_merge_fn`, `ll_merge_requests_fn`,
//! `elv_latter_request`, `elv_former_request`.

use super::{Remember, fits};
use crate::elevator::{Cx, Elevator};
use crate::explain::{End, Reason};
use crate::request::{Bio, Carried, RequestId, SplitId};

impl Cx<'_> {
    /// `bio` joins `rq` at `end`; returns the request that was absorbed as a consequence, if there was one.
    #[inline(always)]
    pub(super) fn join<E: Elevator + ?Sized>(
        &mut self,
        elevator: &mut E,
        rq: RequestId,
        bio: &Bio,
        of: Option<SplitId>,
        end: End,
    ) -> Option<RequestId> {
        self.grow(rq, bio, of, end);
        self.tell(|_| Reason::Merged { into: rq, end });
        let remember = self.state.merges.rules().remember;
        if remember != Remember::Survivor {
            self.state.merges.remember(&self.state.requests, rq);
        }
        if let Some((into, victim)) = self.adjacent(elevator, rq, end) {
            self.coalesce(elevator, into, victim);
            return Some(victim);
        }
        elevator.grown(self, rq, end);
        if end == End::Back || remember != Remember::Survivor {
            self.state.merges.rehash(&mut self.state.requests, rq);
        }
        self.state.merges.remember(&self.state.requests, rq);
        None
    }

    /// Adds the bio to the request.
    #[inline(always)]
    pub(in crate::queue) fn grow(&mut self, rq: RequestId, bio: &Bio, of: Option<SplitId>, end: End) {
        let request = self.state.requests.get_mut(rq);
        let (front, last) = self.state.bios.chain(request.carried());
        let piece = self.state.bios.add(bio.tag, of);
        request.bio.sectors += bio.sectors;
        request.segments += 1;
        match end {
            End::Back => {
                self.state.bios.link(last, piece);
                request.carry(Carried::Chain(front, piece.0));
            }
            End::Front => {
                self.state.bios.link(piece.0, front);
                request.carry(Carried::Chain(piece, last));
                request.bio.start = bio.start;
            }
        }
    }

    /// The pair that has become one, lower sector first, if the neighbour at `end` is now adjacent and fits.
    #[inline]
    fn adjacent<E: Elevator + ?Sized>(&self, elevator: &E, rq: RequestId, end: End) -> Option<(RequestId, RequestId)> {
        let neighbours = elevator.neighbours(rq);
        let (into, victim) = match end {
            End::Back => (rq, neighbours.behind?),
            End::Front => (neighbours.before?, rq),
        };
        let (a, b) = (&self.state.requests[into], &self.state.requests[victim]);
        let touch = a.end() == b.start && self.state.merges.rules().kin.accept_each_other(a, b);
        (touch && fits(a, b.sectors, b.segments, &self.state.config.limits)).then_some((into, victim))
    }

    /// `into` absorbs all that `victim` carries. The caller releases the victim's slot in the arena.
    #[inline(never)]
    pub(super) fn coalesce<E: Elevator + ?Sized>(&mut self, elevator: &mut E, into: RequestId, victim: RequestId) {
        self.take_over(into, victim);
        elevator.absorbed(self, into, victim);
        self.tell(|_| Reason::Coalesced { into, victim });
        self.settle(into, victim);
    }

    /// The arena's part of a coalescing.
    pub(super) fn take_over(&mut self, into: RequestId, victim: RequestId) {
        let from = self.state.requests[victim];
        let request = self.state.requests.get_mut(into);
        let ((front, last), (behind, end)) =
            (self.state.bios.chain(request.carried()), self.state.bios.chain(from.carried()));
        self.state.bios.link(last, behind);
        request.carry(Carried::Chain(front, end));
        request.bio.sectors += from.sectors;
        request.segments += from.segments;
        request.queued_at = request.queued_at.min(from.queued_at);
    }

    /// The index's part of a coalescing, after the elevator was told.
    pub(super) fn settle(&mut self, into: RequestId, victim: RequestId) {
        self.state.merges.forget(&mut self.state.requests, victim);
        self.state.merges.rehash(&mut self.state.requests, into);
        // If it is already remembered, its position has changed, too.
        if self.state.merges.rules().remember == Remember::Survivor || self.state.merges.last == into.0 {
            self.state.merges.remember(&self.state.requests, into);
        }
    }
}
