//! Where a candidate is found: the request merged last, the hash, the elevator's own look-up; or the newest few.

use super::{Attempt, Gate, Kin, Oversize, Remember, Search, adjoins, fits};
use crate::elevator::{Elevator, Hook, Insert, Lookup};
use crate::explain::{End, Index, Listener, Reason};
use crate::queue::Core;
use crate::request::{Bio, RequestId, SplitId};
use crate::time::Instant;

/// A request that the bio adjoins and may join, if the size allows.
type Hit = (RequestId, End);

impl<L: Listener> Core<L> {
    /// Merge `bio` if the era finds a request for it. The second part of the answer is a request that was absorbed on
    /// the way and is no more.
    #[inline(always)]
    pub(in crate::queue) fn try_merge(
        &mut self,
        elevator: &mut dyn Elevator,
        now: Instant,
        bio: &Bio,
        of: Option<SplitId>,
    ) -> (Attempt, Option<RequestId>) {
        let rules = self.state.merges.rules();
        let tried = match rules.gate {
            Gate::Never => false,
            Gate::WhileBusy => elevator.has_work(),
            Gate::Always => true,
        };
        if !tried || !bio.is_mergeable() {
            return (Attempt::Insert(Insert::Sorted), None);
        }
        if self.hooks.has(Hook::Meet) {
            elevator.meet(&mut self.cx(now), bio);
        }
        let found = match rules.search {
            Search::LastHashOwn => self.search(elevator, now, bio),
            Search::Newest { look_back } => self.search_newest(elevator, now, bio, look_back),
            Search::Own => self.search_own(elevator, now, bio),
        };
        let (rq, end) = match found {
            Ok(hit) => hit,
            Err(at) => return (Attempt::Insert(at), None),
        };
        if !fits(&self.state.requests[rq], bio.sectors, 1, &self.config.limits) {
            return (Attempt::Insert(self.refuse(now, rq, end, rules.oversize)), None);
        }
        let victim = self.join(elevator, now, rq, bio, of, end);
        (Attempt::Joined { into: rq, end }, victim)
    }

    /// Too large together: the request takes nothing any more.
    #[cold]
    fn refuse(&mut self, now: Instant, rq: RequestId, end: End, oversize: Oversize) -> Insert {
        self.explain(now, |_| Reason::Oversize { rq });
        self.seal(rq);
        if self.state.merges.rules().remember != Remember::Survivor {
            self.state.merges.last = None;
        }
        match (oversize, end) {
            (Oversize::Anew, _) => Insert::Sorted,
            (Oversize::Beside, End::Back) => Insert::After(rq),
            (Oversize::Beside, End::Front) => Insert::Before(rq),
        }
    }

    /// `Err` carries the place that the elevator's look-up found on the way.
    #[inline(always)]
    fn search(&mut self, elevator: &mut dyn Elevator, now: Instant, bio: &Bio) -> Result<Hit, Insert> {
        let kin = self.state.merges.rules().kin;
        if let Some(hit) = self.last_merged(elevator, now, bio) {
            return self.ask_again(elevator, now, hit, bio);
        }
        let (hashed, steps) = self.state.merges.find(bio.start);
        self.explain(now, |_| Reason::Searched { index: Index::Hash, steps });
        if let Some(rq) = hashed.filter(|&rq| self.accepts(kin, rq, bio))
            && self.may_merge(elevator, now, rq, bio)
        {
            return self.ask_again(elevator, now, (rq, End::Back), bio);
        }
        if !self.hooks.has(Hook::LookUp) {
            return Err(Insert::Sorted);
        }
        match elevator.look_up(&mut self.cx(now), bio) {
            Lookup::Front(rq) if self.accepts(kin, rq, bio) && self.may_merge(elevator, now, rq, bio) => {
                self.ask_again(elevator, now, (rq, End::Front), bio)
            }
            Lookup::Place(at) => Err(at),
            Lookup::Back(_) | Lookup::Front(_) | Lookup::Nothing => Err(Insert::Sorted),
        }
    }

    /// The request merged last, if the bio adjoins it and may join.
    #[inline(always)]
    fn last_merged(&mut self, elevator: &mut dyn Elevator, now: Instant, bio: &Bio) -> Option<Hit> {
        let last = self.state.merges.last?;
        let end = adjoins(&self.state.requests[last], bio);
        // An elevator that says who may merge is asked of one that the bio does not adjoin, too.
        if end.is_none() && !self.hooks.has(Hook::MayMerge) {
            return None;
        }
        let accepted = self.accepts(self.state.merges.rules().kin, last, bio);
        let allowed = accepted && self.may_merge(elevator, now, last, bio);
        end.filter(|_| allowed).map(|end| (last, end))
    }

    /// The elevator's answer is all there is.
    fn search_own(&mut self, elevator: &mut dyn Elevator, now: Instant, bio: &Bio) -> Result<Hit, Insert> {
        match elevator.look_up(&mut self.cx(now), bio) {
            Lookup::Back(rq) => Ok((rq, End::Back)),
            Lookup::Front(rq) => Ok((rq, End::Front)),
            Lookup::Place(at) => Err(at),
            Lookup::Nothing => Err(Insert::Sorted),
        }
    }

    /// The chosen candidate is asked about once more, just before it is joined (BFQ's answer may have changed).
    fn ask_again(&mut self, elevator: &mut dyn Elevator, now: Instant, hit: Hit, bio: &Bio) -> Result<Hit, Insert> {
        if self.may_merge(elevator, now, hit.0, bio) { Ok(hit) } else { Err(Insert::Sorted) }
    }

    /// The first of the newest that adjoins decides.
    fn search_newest(
        &mut self,
        elevator: &mut dyn Elevator,
        now: Instant,
        bio: &Bio,
        look_back: usize,
    ) -> Result<Hit, Insert> {
        let kin = self.state.merges.rules().kin;
        let mut last = None;
        for _ in 0..look_back {
            let Some(rq) = elevator.newest(bio, last) else { break };
            last = Some(rq);
            let end = adjoins(&self.state.requests[rq], bio);
            if let Some(end) = end.filter(|_| self.accepts(kin, rq, bio))
                && self.may_merge(elevator, now, rq, bio)
            {
                return Ok((rq, end));
            }
        }
        Err(Insert::Sorted)
    }

    #[inline(always)]
    fn may_merge(&mut self, elevator: &mut dyn Elevator, now: Instant, rq: RequestId, bio: &Bio) -> bool {
        !self.hooks.has(Hook::MayMerge) || elevator.may_merge(&mut self.cx(now), rq, bio)
    }

    #[inline(always)]
    fn accepts(&self, kin: Kin, rq: RequestId, bio: &Bio) -> bool {
        kin.accepts(&self.state.requests[rq], bio)
    }
}
