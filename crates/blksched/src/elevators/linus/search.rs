//! The inputs and results of the eras' searches, which change nothing; `scheduler` applies the results.
//!
//! **In the kernel** `elevator_linus_merge`, `elevator_linus_merge_req`.

use super::between::lies_between;
use super::counters::Counters;
use crate::explain::End;
use crate::index::List;
use crate::request::{Bio, Dir, Request, RequestId, Requests, Sector};

/// The bio or request for which a place is searched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) dir: Dir,
    pub(super) start: Sector,
    pub(super) sectors: u32,
    /// Whether it may join a request; otherwise only its place is searched for.
    pub(super) joins: bool,
}

impl Wanted {
    pub(super) fn of_bio(bio: &Bio) -> Wanted {
        Wanted { dir: bio.dir(), start: bio.start, sectors: bio.sectors, joins: bio.is_mergeable() }
    }

    /// For a request that was inserted without a search for a partner, or may have none.
    pub(super) fn of_request(request: &Request) -> Wanted {
        Wanted { dir: request.dir(), start: request.start, sectors: request.sectors, joins: false }
    }
}

/// Where a new request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InsertAt {
    /// To the end of the list.
    Last,
    /// Right behind this one.
    Behind(RequestId),
    /// Before all others.
    First,
}

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// A request that it adjoins, and at which end.
    pub(super) partner: Option<(RequestId, End)>,
    /// Where it is inserted if there is none.
    pub(super) place: InsertAt,
    /// The last request examined.
    pub(super) reached: Option<RequestId>,
}

impl Found {
    /// The result before anything is examined.
    pub(super) const NOTHING: Found = Found { partner: None, place: InsertAt::Last, reached: None };
}

/// The inputs of a search.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) requests: &'a Requests,
    /// The queued requests, without those that the disk has.
    pub(super) list: &'a List,
    pub(super) counters: &'a Counters,
    pub(super) max_sectors: u32,
    /// IDE: the disk's request stays at the head of the list while it is served.
    pub(super) head_is_served: bool,
}

impl View<'_> {
    /// The requests from the last to the first.
    pub(super) fn backwards(&self) -> impl Iterator<Item = RequestId> + '_ {
        core::iter::successors(self.list.tail(), |&rq| self.list.before(rq))
    }

    /// Whether it belongs right behind `rq`.
    pub(super) fn is_place(&self, rq: RequestId, wanted: &Wanted) -> bool {
        let behind = self.list.behind(rq).map(|behind| self.requests[behind].start);
        lies_between(self.requests[rq].start, wanted.start, behind)
    }

    /// The end of `rq` at which it adjoins, regardless of the size.
    pub(super) fn adjoins(&self, rq: RequestId, wanted: &Wanted) -> Option<End> {
        let request = &self.requests[rq];
        if !wanted.joins || !request.is_mergeable() || request.dir() != wanted.dir {
            return None;
        }
        if request.end() == wanted.start {
            Some(End::Back)
        } else if wanted.start + wanted.sectors == request.start {
            Some(End::Front)
        } else {
            None
        }
    }

    /// The same, if the two are not too long together.
    pub(super) fn partner(&self, rq: RequestId, wanted: &Wanted) -> Option<(RequestId, End)> {
        let short = self.is_short(rq, wanted);
        self.adjoins(rq, wanted).filter(|_| short).map(|end| (rq, end))
    }

    pub(super) fn is_short(&self, rq: RequestId, wanted: &Wanted) -> bool {
        self.requests[rq].sectors.saturating_add(wanted.sectors) <= self.max_sectors
    }
}
