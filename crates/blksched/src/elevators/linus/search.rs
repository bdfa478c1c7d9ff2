//! What the eras' searches look at, and what they answer. They only look; `scheduler` applies.
//! **In the kernel** `elevator_linus_merge`.

#![doc(alias = "elevator_linus_merge")]
#![doc(alias = "elevator_linus_merge_req")]

use super::between::lies_between;
use super::counters::Counters;
use crate::explain::End;
use crate::index::List;
use crate::request::{Bio, Dir, Request, RequestId, Requests, Sector};

/// What a place is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) dir: Dir,
    pub(super) start: Sector,
    pub(super) sectors: u32,
    /// May it join a request, or is only its place wanted?
    pub(super) joins: bool,
}

impl Wanted {
    pub(super) fn of_bio(bio: &Bio) -> Wanted {
        Wanted { dir: bio.dir(), start: bio.start, sectors: bio.sectors, joins: bio.is_mergeable() }
    }

    /// A request that did not look for a partner, or may have none.
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
    /// Where it goes if there is none.
    pub(super) place: InsertAt,
    /// The last request that was looked at.
    pub(super) reached: Option<RequestId>,
}

impl Found {
    /// Before anything is looked at.
    pub(super) const NOTHING: Found = Found { partner: None, place: InsertAt::Last, reached: None };
}

/// What a search looks at.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) requests: &'a Requests,
    /// Without what the disk has.
    pub(super) list: &'a List,
    pub(super) counters: &'a Counters,
    pub(super) max_sectors: u32,
    /// IDE: the disk's request stays at the head of the list while it is served.
    pub(super) head_is_served: bool,
}

impl View<'_> {
    /// From the last request to the first.
    pub(super) fn backwards(&self) -> impl Iterator<Item = RequestId> + '_ {
        core::iter::successors(self.list.tail(), |&rq| self.list.before(rq))
    }

    /// Does it belong right behind `rq`?
    pub(super) fn is_place(&self, rq: RequestId, wanted: &Wanted) -> bool {
        let behind = self.list.behind(rq).map(|behind| self.requests[behind].start);
        lies_between(self.requests[rq].start, wanted.start, behind)
    }

    /// The end of `rq` at which it would join it, whatever the size.
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

    /// The same, if they are not too long together.
    pub(super) fn partner(&self, rq: RequestId, wanted: &Wanted) -> Option<(RequestId, End)> {
        let short = self.is_short(rq, wanted);
        self.adjoins(rq, wanted).filter(|_| short).map(|end| (rq, end))
    }

    pub(super) fn is_short(&self, rq: RequestId, wanted: &Wanted) -> bool {
        self.requests[rq].sectors.saturating_add(wanted.sectors) <= self.max_sectors
    }
}
