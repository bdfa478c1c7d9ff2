//! How requests waited: from when they were queued to when they were issued, split over the causes.

use blksched::author::{PerDir, RequestId};
use blksched::{Dir, Instant, Span};

use super::cause::{Cause, Serving};
use super::disk::Integrals;
use super::kept::Kept;
use super::submitters::Asker;
use crate::histogram::Histogram;

/// How the requests of one direction waited.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waiting {
    /// How long each waited.
    pub histogram: Histogram,
    ns: [u64; Cause::COUNT],
    /// The one that waited longest.
    pub longest: Option<Longest>,
}

/// The request of its direction that waited longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Longest {
    /// When it was queued.
    pub queued_at: Instant,
    /// When it was issued.
    pub issued_at: Instant,
    ns: Integrals,
}

impl Longest {
    /// How long it waited.
    pub fn waited(&self) -> Span {
        self.issued_at.since(self.queued_at)
    }

    /// How much of that was for this cause.
    pub fn on(&self, cause: Cause) -> Span {
        Span::from_ns(self.ns[cause.index()])
    }
}

impl Waiting {
    /// How many requests were issued.
    pub fn requests(&self) -> u64 {
        self.histogram.count()
    }

    /// The total time that they waited.
    pub fn total(&self) -> Span {
        Span::from_ns(u64::try_from(self.histogram.moments().sum()).unwrap_or(u64::MAX))
    }

    /// How much of that was for this cause.
    pub fn on(&self, cause: Cause) -> Span {
        Span::from_ns(self.ns[cause.index()])
    }

    /// [`Waiting::on`] as a part of [`Waiting::total`]; 0 if none waited.
    pub fn share(&self, cause: Cause) -> f64 {
        if self.total().is_zero() { 0.0 } else { self.on(cause).as_ns() as f64 / self.total().as_ns() as f64 }
    }

    /// Every cause that a request waited for, the costliest first (of equals the first in [`Cause::all`]).
    pub fn causes(&self) -> Vec<(Cause, Span)> {
        let mut causes: Vec<_> = Cause::all().map(|c| (c, self.on(c))).filter(|(_, span)| !span.is_zero()).collect();
        causes.sort_by_key(|&(_, span)| core::cmp::Reverse(span));
        causes
    }

    /// Adds what another run's requests waited for.
    pub fn merge(&mut self, other: &Waiting) {
        self.histogram.merge(&other.histogram);
        self.ns.iter_mut().zip(other.ns).for_each(|(ours, theirs)| *ours += theirs);
        let longer = |l: &Longest| self.longest.is_none_or(|ours| l.waited() > ours.waited());
        self.longest = other.longest.filter(longer).or(self.longest);
    }

    fn record(&mut self, queued_at: Instant, issued_at: Instant, ns: Integrals) {
        let waited = issued_at.since(queued_at);
        debug_assert_eq!(ns.iter().sum::<u64>(), waited.as_ns(), "causes must add up to the waiting");
        self.histogram.record(waited);
        self.ns.iter_mut().zip(ns).for_each(|(sum, part)| *sum += part);
        if self.longest.is_none_or(|longest| waited > longest.waited()) {
            self.longest = Some(Longest { queued_at, issued_at, ns });
        }
    }
}

/// Where a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestPlace {
    Nowhere,
    /// In the elevator since this time.
    Queued(Instant),
    /// In the disk; `given` is [`Disk`](super::disk::Disk)'s mark.
    InFlight {
        serving: Serving,
        given: u64,
    },
}

/// One request.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitingRequest {
    pub(super) dir: Dir,
    /// The process that it belongs to; the queue's own flush has none.
    pub(super) submitter: Option<Asker>,
    pub(super) place: RequestPlace,
    /// What it was issued for before the disk handed it back.
    pub(super) served_before: Option<Serving>,
}

impl WaitingRequest {
    pub(super) fn new(dir: Dir, submitter: Option<Asker>) -> WaitingRequest {
        WaitingRequest { dir, submitter, place: RequestPlace::Nowhere, served_before: None }
    }
}

/// Every request, by its index, and totals of those that are gone.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    entries: Vec<WaitingRequest>,
    /// The integrals at the time when each was queued.
    integrals: Vec<Integrals>,
    pub(super) queued: PerDir<u32>,
    pub(super) waiting: PerDir<Waiting>,
    pub(super) kept: Kept,
}

impl Tables {
    pub(super) fn anything_queued(&self) -> bool {
        self.queued.read + self.queued.write > 0
    }

    pub(super) fn is_queued(&self, rq: RequestId) -> bool {
        self.entries.get(rq.index()).is_some_and(|entry| matches!(entry.place, RequestPlace::Queued(_)))
    }

    #[inline]
    pub(super) fn entry_mut(&mut self, rq: RequestId) -> &mut WaitingRequest {
        if self.entries.len() <= rq.index() {
            self.grow(rq);
        }
        &mut self.entries[rq.index()]
    }

    #[cold]
    fn grow(&mut self, rq: RequestId) {
        self.entries.resize(rq.index() + 1, WaitingRequest::new(Dir::Read, None));
        if self.kept == Kept::All {
            self.integrals.resize(rq.index() + 1, [0; Cause::COUNT]);
        }
    }

    /// `rq` is queued at `at`, with these integrals.
    #[inline]
    pub(super) fn enter(&mut self, rq: RequestId, entry: WaitingRequest, at: Instant, integrals: &Integrals) {
        self.queued[entry.dir] += 1;
        *self.entry_mut(rq) = WaitingRequest { place: RequestPlace::Queued(at), ..entry };
        if self.kept == Kept::All {
            self.integrals[rq.index()] = *integrals;
        }
    }

    /// `rq` goes to the disk; if it was queued, it waited until now. Returns since when, and for what.
    pub(super) fn leave(
        &mut self,
        rq: RequestId,
        now: Instant,
        serving: Serving,
        given: u64,
        integrals: &Integrals,
    ) -> (Option<Instant>, Integrals) {
        let entry = self.entry_mut(rq);
        let (dir, left) = (entry.dir, core::mem::replace(&mut entry.place, RequestPlace::InFlight { serving, given }));
        let RequestPlace::Queued(at) = left else { return (None, [0; Cause::COUNT]) };
        self.queued[dir] -= 1;
        if self.kept == Kept::Shares {
            return (Some(at), [0; Cause::COUNT]);
        }
        let then = &self.integrals[rq.index()];
        let waited = core::array::from_fn(|i| integrals[i] - then[i]);
        self.waiting[dir].record(at, now, waited);
        (Some(at), waited)
    }

    /// `victim` is gone; `into` has waited as long as the older of the two. Returns the victim's submitter, if it was
    /// queued.
    pub(super) fn absorb(&mut self, into: RequestId, victim: RequestId) -> Option<Asker> {
        let gone = *self.entry_mut(victim);
        let RequestPlace::Queued(theirs) = gone.place else { return None };
        self.queued[gone.dir] -= 1;
        self.entry_mut(victim).place = RequestPlace::Nowhere;
        let survivor = self.entry_mut(into);
        if matches!(survivor.place, RequestPlace::Queued(at) if theirs < at) {
            survivor.place = gone.place;
            if self.kept == Kept::All {
                self.integrals[into.index()] = self.integrals[victim.index()];
            }
        }
        gone.submitter
    }

    /// Every request in the disk, and its mark.
    pub(super) fn in_flight(&mut self, mut each: impl FnMut(&WaitingRequest, Serving, &mut u64)) {
        for entry in &mut self.entries {
            let whole = *entry;
            if let RequestPlace::InFlight { serving, given } = &mut entry.place {
                each(&whole, *serving, given);
            }
        }
    }
}
