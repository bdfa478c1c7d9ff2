//! The search for a candidate: the request merged last, the hash, the elevator's own look-up; or the newest few.
//!
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#e2 and #e3; the newest few: docs/formats/transcripts-6.1.md
//! "Merging".
//! **In the kernel** `elv_merge`, `elv_rqhash_find`, `blk_mq_sched_try_merge`, `blk_bio_list_merge`, `blk_try_merge`,
//! `blk_mq_sched_bio_merge`, `last_merge`, `elv_bio_merge_ok`.

use super::{Attempt, Gate, Kin, Oversize, Remember, Search, fits};
use crate::elevator::{Cx, Elevator, Insert, Lookup};
use crate::explain::{End, Index, Reason};
use crate::request::{Bio, NONE, RequestId, SplitId};

/// A request that the bio adjoins and may join, if the size allows.
pub(in crate::queue) type Hit = (RequestId, End);

impl Cx<'_> {
    /// The request that a mergeable bio may join, if the size allows, or the place where it is to be inserted. What may
    /// follow a hit is out of line and has a context of its own, because a random load has no hits.
    #[inline(always)]
    pub(in crate::queue) fn look_for<E: Elevator + ?Sized>(
        &mut self,
        elevator: &mut E,
        bio: &Bio,
    ) -> Result<Hit, Insert> {
        let rules = elevator.merging();
        let tried = match rules.gate {
            Gate::Never => false,
            Gate::WhileBusy => elevator.has_work(),
            Gate::Always => true,
        };
        if !tried {
            return Err(Insert::Sorted);
        }
        elevator.meet(self, bio);
        match rules.search {
            Search::LastHashOwn => self.search(elevator, rules.kin, bio),
            Search::Newest { look_back } => self.search_newest(elevator, rules.kin, bio, look_back),
            Search::Own => self.search_own(elevator, bio),
        }
    }

    /// The bio joins the request that it found, if that may grow so far.
    #[inline(always)]
    pub(in crate::queue) fn join_if_it_fits<E: Elevator + ?Sized>(
        &mut self,
        elevator: &mut E,
        bio: &Bio,
        of: Option<SplitId>,
        (rq, end): Hit,
    ) -> (Attempt, Option<RequestId>) {
        if !fits(&self.state.requests[rq], bio.sectors, 1, &self.state.config.limits) {
            let oversize = self.state.merges.rules().oversize;
            // A merge that fails here is not followed by an attempt at another request, or at the other end.
            return (Attempt::Insert(self.refuse(rq, end, oversize)), None);
        }
        let victim = self.join(elevator, rq, bio, of, end);
        (Attempt::Joined { into: rq, end }, victim)
    }

    /// Together they would be too large: nothing more merges into the request.
    #[cold]
    fn refuse(&mut self, rq: RequestId, end: End, oversize: Oversize) -> Insert {
        self.tell(|_| Reason::Oversize { rq });
        self.seal(rq);
        if self.state.merges.rules().remember != Remember::Survivor {
            self.state.merges.last = NONE;
        }
        match (oversize, end) {
            (Oversize::Anew, _) => Insert::Sorted,
            (Oversize::Beside, End::Back) => Insert::After(rq),
            (Oversize::Beside, End::Front) => Insert::Before(rq),
        }
    }

    /// `Err` carries the place that the elevator's look-up found on the way.
    #[inline(always)]
    fn search<E: Elevator + ?Sized>(&mut self, elevator: &mut E, kin: Kin, bio: &Bio) -> Result<Hit, Insert> {
        if let Some(last) = self.state.merges.last_merged() {
            let end = self.state.merges.last_at.end_beside(bio);
            // An elevator that changes something when asked is also asked about one that the bio does not adjoin.
            if (end.is_some() || elevator.asking_changes(bio))
                && self.apart().is_allowed(elevator, kin, last, bio)
                && let Some(end) = end
            {
                return self.ask_again(elevator, (last, end), bio);
            }
        }
        let (hashed, steps) = self.state.merges.find(&self.state.requests, bio.start);
        self.explain_search(Index::Hash, steps);
        // Only the request hashed last: if it refuses, others with the same end are not tried.
        if let Some(rq) = hashed
            && self.apart().is_allowed(elevator, kin, rq, bio)
        {
            return self.ask_again(elevator, (rq, End::Back), bio);
        }
        let found = elevator.look_up(self, bio);
        // Checked first, because this is the case in a random load.
        if matches!(found, Lookup::Nothing) {
            return Err(Insert::Sorted);
        }
        match found {
            Lookup::Front(rq) if self.apart().is_allowed(elevator, kin, rq, bio) => {
                self.ask_again(elevator, (rq, End::Front), bio)
            }
            Lookup::Place(at) => Err(at),
            Lookup::Back(_) | Lookup::Front(_) | Lookup::Nothing => Err(Insert::Sorted),
        }
    }

    /// Whether the bio may join, by the era's rule and by the elevator's.
    #[inline(never)]
    fn is_allowed<E: Elevator + ?Sized>(&mut self, elevator: &mut E, kin: Kin, rq: RequestId, bio: &Bio) -> bool {
        self.accepts(kin, rq, bio) && elevator.may_merge(self, rq, bio)
    }

    /// Uses only the elevator's answer.
    fn search_own<E: Elevator + ?Sized>(&mut self, elevator: &mut E, bio: &Bio) -> Result<Hit, Insert> {
        match elevator.look_up(self, bio) {
            Lookup::Back(rq) => Ok((rq, End::Back)),
            Lookup::Front(rq) => Ok((rq, End::Front)),
            Lookup::Place(at) => Err(at),
            Lookup::Nothing => Err(Insert::Sorted),
        }
    }

    /// The elevator is asked about the chosen candidate once more, just before the bio joins (BFQ's answer may have
    /// changed).
    #[inline(always)]
    fn ask_again<E: Elevator + ?Sized>(&mut self, elevator: &mut E, hit: Hit, bio: &Bio) -> Result<Hit, Insert> {
        if elevator.may_merge(&mut self.apart(), hit.0, bio) { Ok(hit) } else { Err(Insert::Sorted) }
    }

    /// The first of the newest requests that adjoins decides.
    #[inline(always)]
    fn search_newest<E: Elevator + ?Sized>(
        &mut self,
        elevator: &mut E,
        kin: Kin,
        bio: &Bio,
        look_back: usize,
    ) -> Result<Hit, Insert> {
        let (mut than, mut left) = (None, look_back);
        while let Some(hit) = elevator.newest_beside(&self.state.requests, bio, than, &mut left) {
            if self.apart().is_allowed(elevator, kin, hit.0, bio) {
                return Ok(hit);
            }
            than = Some(hit.0);
        }
        Err(Insert::Sorted)
    }

    #[inline(always)]
    fn accepts(&self, kin: Kin, rq: RequestId, bio: &Bio) -> bool {
        kin.accepts(&self.state.requests[rq], bio)
    }
}
