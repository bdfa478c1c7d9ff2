//! Merging: a bio joins a queued request it adjoins, and two requests that have become adjacent become one.
//!
//! The rules of each era are a row of [`Merging`]; this file has the state, `search` finds a candidate, `join` carries
//! out the merge, and `on_insert` is 6.1's second attempt.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#e1 to #e8 (2.6), #d25.2 and #d25.3 (2.5),
//! docs/behaviour/elevators-4.20.md#e420 (4.20), docs/formats/transcripts-6.1.md "Merging".
//! **In the kernel** `elv_merge`, `elv_rq_merge_ok`, `blk_rq_merge_ok`, `REQ_NOMERGE`.

#![doc(alias = "elv_merge")]
#![doc(alias = "elv_rq_merge_ok")]

use crate::answer::Insert;
use crate::explain::End;
use crate::request::{Bio, Links, NONE, Request, RequestId, Requests, Sector};

use super::Limits;
use crate::time::Instant;
use hash::EndHash;

mod hash;
mod join;
mod on_insert;
mod search;

pub(super) use search::Hit;

/// How one era merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merging {
    /// When the search is tried.
    pub gate: Gate,
    /// The source of candidates.
    pub search: Search,
    /// Which bios and requests may merge.
    pub kin: Kin,
    /// The request that is remembered as the last merged.
    pub remember: Remember,
    /// What happens if the merged request would be too large.
    pub oversize: Oversize,
    /// Whether a new request is tried once more as it is inserted.
    pub on_insert: OnInsert,
    /// How a long bio is submitted.
    pub pieces: Pieces,
    /// Buckets of the merge hash, as a power of two; `None`: as many as there are requests.
    pub hash_bits: Option<u32>,
}

/// When a merge is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Never.
    Never,
    /// While the elevator has work (until 2.6.38).
    WhileBusy,
    /// Always.
    Always,
}

/// The order of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// The request merged last, then the hash, then the elevator's own look-up.
    LastHashOwn,
    /// The newest requests that the elevator has not yet examined, newest first (Kyber).
    Newest {
        /// The number of requests examined.
        look_back: usize,
    },
    /// The elevator's own look-up, for either end (2.4, and 2.5 until 2.5.38).
    Own,
}

/// How a long bio is submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pieces {
    /// Whole, as far as the device allows.
    Whole,
    /// As buffers of 4 KiB, each of which searches for a request to join (2.4).
    Buffers,
}

impl Pieces {
    /// The longest piece \[512-byte sectors\].
    pub(super) fn longest(self, max_sectors: u32) -> u32 {
        match self {
            Pieces::Whole => max_sectors,
            Pieces::Buffers => max_sectors.min(8),
        }
    }
}

/// Which bios and requests may merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kin {
    /// The same direction (2.5, 2.6, 4.20).
    SameDirection,
    /// The same operation and group (blk-mq of 4.19).
    SameOpAndGroup,
    /// The same operation, priority and group (blk-mq).
    SameOpPriorityAndGroup,
}

impl Kin {
    #[inline]
    pub(super) fn accepts(self, request: &Request, bio: &Bio) -> bool {
        request.mergeable && request.op == bio.op && self.are_alike(request, bio)
    }

    fn accept_each_other(self, a: &Request, b: &Request) -> bool {
        a.mergeable && b.mergeable && a.op == b.op && self.are_alike(a, b)
    }

    #[inline]
    fn are_alike(self, a: &Bio, b: &Bio) -> bool {
        match self {
            Kin::SameDirection => true,
            Kin::SameOpAndGroup => a.group == b.group,
            Kin::SameOpPriorityAndGroup => a.priority == b.priority && a.group == b.group,
        }
    }
}

/// The request that is remembered as the last merged; if none is, the first one inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remember {
    /// The request that grew; forgotten if it is then absorbed, and whenever a search ends at one that is too large
    /// (2.5).
    Grown,
    /// The survivor (2.6 and later).
    Survivor,
}

/// What happens if the merged request would be too large. In any case nothing more merges into the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oversize {
    /// The bio becomes a request in the usual place.
    Anew,
    /// The bio becomes a request directly beside it, in whichever list that is (2.5).
    Beside,
}

/// Whether a new request is tried once more as it is inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnInsert {
    /// No.
    Plain,
    /// It may continue the last merged request, or, repeatedly, one that the hash finds (6.1).
    Merge,
}

impl Merging {
    /// Whether requests are in the merge hash.
    #[inline(always)]
    pub(super) fn uses_hash(&self) -> bool {
        self.gate != Gate::Never && self.search == Search::LastHashOwn
    }

    /// Nothing merges.
    pub const NEVER: Merging = Merging { gate: Gate::Never, ..Merging::LINUX_2_6 };
    /// 2.4.
    pub const LINUX_2_4: Merging = Merging { pieces: Pieces::Buffers, ..Merging::LINUX_2_5_LINUS };
    /// 2.5 until deadline. The elevator handles requests that are too large.
    pub const LINUX_2_5_LINUS: Merging =
        Merging { search: Search::Own, remember: Remember::Survivor, ..Merging::LINUX_2_5 };
    /// 2.5.38 and 2.5.45.
    pub const LINUX_2_5: Merging = Merging {
        gate: Gate::WhileBusy,
        search: Search::LastHashOwn,
        kin: Kin::SameDirection,
        remember: Remember::Grown,
        oversize: Oversize::Beside,
        on_insert: OnInsert::Plain,
        pieces: Pieces::Whole,
        hash_bits: Some(8),
    };
    /// 2.5.45 with the patch of 2002-10-31: no insertion hints. (In that patch any request that a search hits is
    /// remembered at once; but the bio either joins the hit, which remembers it anyway, or is refused, which forgets
    /// it.)
    pub const LINUX_2_5_TREE: Merging = Merging { oversize: Oversize::Anew, ..Merging::LINUX_2_5 };
    /// 2.6.31 to 2.6.33.
    pub const LINUX_2_6: Merging = Merging {
        gate: Gate::WhileBusy,
        search: Search::LastHashOwn,
        kin: Kin::SameDirection,
        remember: Remember::Survivor,
        oversize: Oversize::Anew,
        on_insert: OnInsert::Plain,
        pieces: Pieces::Whole,
        hash_bits: None,
    };
    /// 4.19 and 4.20.
    pub const LINUX_4_20: Merging = Merging { gate: Gate::Always, ..Merging::LINUX_2_6 };
    /// mq-deadline and BFQ of 6.1.
    pub const LINUX_6_1: Merging =
        Merging { kin: Kin::SameOpPriorityAndGroup, on_insert: OnInsert::Merge, ..Merging::LINUX_4_20 };
    /// Kyber and `none` of 6.1.
    pub const LINUX_6_1_NEWEST: Merging =
        Merging { search: Search::Newest { look_back: 8 }, on_insert: OnInsert::Plain, ..Merging::LINUX_6_1 };
}

/// The result of a merge attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    /// The bio joined a request.
    Joined { into: RequestId, end: End },
    /// It must become a request, inserted here.
    Insert(Insert),
}

/// The end of `request` that `bio` adjoins.
#[inline]
pub(crate) fn adjoins(request: &Request, bio: &Bio) -> Option<End> {
    Extent::of(request).end_beside(bio)
}

/// Finds the first of the requests that `newest` returns, from `than` on, that `bio` adjoins, and at which end.
/// `left`: how many may still be looked at.
#[inline]
pub(crate) fn first_beside(
    requests: &Requests,
    bio: &Bio,
    mut than: Option<RequestId>,
    left: &mut usize,
    newest: impl Fn(Option<RequestId>) -> Option<RequestId>,
) -> Option<(RequestId, End)> {
    while *left > 0 {
        *left -= 1;
        let rq = newest(than)?;
        if let Some(end) = adjoins(&requests[rq], bio) {
            return Some((rq, end));
        }
        than = Some(rq);
    }
    None
}

/// The position of a request: for elevators that keep a copy where they search for a request that a bio adjoins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    start: Sector,
    end: Sector,
}

impl Extent {
    /// Its present position.
    #[inline(always)]
    pub(crate) fn of(request: &Bio) -> Extent {
        Extent { start: request.start, end: request.end() }
    }

    /// The end of it that `bio` adjoins.
    #[inline(always)]
    pub(crate) fn end_beside(self, bio: &Bio) -> Option<End> {
        if self.end == bio.start {
            Some(End::Back)
        } else if bio.end() == self.start {
            Some(End::Front)
        } else {
            None
        }
    }
}

/// Whether `request` may grow by this much.
pub(super) fn fits(request: &Request, sectors: u32, segments: u16, limits: &Limits) -> bool {
    let short = request.sectors.checked_add(sectors).is_some_and(|sum| sum <= limits.max_sectors);
    short && request.segments.checked_add(segments).is_some_and(|sum| sum <= limits.max_segments)
}

/// The queued requests that a bio may find.
#[derive(Debug)]
pub struct MergeIndex {
    rules: Merging,
    hash: EndHash,
    /// The request merged last, or `NONE`, and its position.
    last: u32,
    last_at: Extent,
    /// Whether requests are in the hash.
    uses_hash: bool,
    /// No request that can be found ends here, until the next one is hashed. The request merged last is hashed, too.
    nothing_at: Sector,
}

impl MergeIndex {
    pub(super) fn new(rules: Merging, requests: usize) -> MergeIndex {
        let bits = rules.hash_bits.unwrap_or_else(|| (2 * requests).ilog2().clamp(8, 20));
        let uses_hash = rules.uses_hash();
        MergeIndex {
            rules,
            hash: EndHash::with_bits(bits),
            last: NONE,
            last_at: Extent::default(),
            uses_hash,
            nothing_at: NOWHERE,
        }
    }

    pub(super) fn rules(&self) -> Merging {
        self.rules
    }

    /// A request is about to be inserted: bios can find it from now on.
    #[inline(always)]
    pub(super) fn admit(&mut self, requests: &mut Requests, rq: RequestId) {
        if self.uses_hash && requests[rq].mergeable {
            self.nothing_at = NOWHERE;
            self.hash.insert(requests, rq);
            self.is_first_or(rq, Extent::of(&requests[rq]));
        }
    }

    /// The same for one that is being made.
    #[inline(always)]
    pub(super) fn make(&mut self, requests: &mut Requests, now: Instant, bio: &Bio, tag: u32) -> RequestId {
        self.nothing_at = NOWHERE;
        let (bucket, first) = self.hash.at(bio.end());
        let rq = requests.make_hashed(now, bio, tag, first, bucket);
        self.is_first_or(rq, Extent::of(bio));
        rq
    }

    /// The first request counts as the one merged last.
    #[inline(always)]
    fn is_first_or(&mut self, rq: RequestId, at: Extent) {
        if self.last == NONE {
            (self.last, self.last_at) = (rq.0, at);
        }
    }

    /// Bios can no longer find this request.
    #[inline(always)]
    pub(crate) fn forget(&mut self, requests: &mut Requests, rq: RequestId) {
        self.hash.remove(requests, rq);
        self.is_not_last(rq);
    }

    /// The same for one that has left the hash.
    #[inline(always)]
    pub(super) fn forget_hashed(&mut self, requests: &mut Requests, rq: RequestId, links: Links) {
        self.hash.mend(requests, links);
        self.is_not_last(rq);
    }

    #[inline(always)]
    fn is_not_last(&mut self, rq: RequestId) {
        if self.last == rq.0 {
            self.last = NONE;
        }
    }

    /// Its end moved: it is now the newest of its chain.
    #[inline(always)]
    fn rehash(&mut self, requests: &mut Requests, rq: RequestId) {
        if self.uses_hash {
            self.rehash_hashed(requests, rq);
        }
    }

    #[inline(never)]
    fn rehash_hashed(&mut self, requests: &mut Requests, rq: RequestId) {
        self.nothing_at = NOWHERE;
        self.hash.remove(requests, rq);
        self.hash.insert(requests, rq);
    }

    /// The request hashed last that ends here, and the number of entries examined.
    #[inline(always)]
    fn find(&mut self, requests: &Requests, end: Sector) -> (Option<RequestId>, u32) {
        let (found, steps) = self.hash.find(requests, end);
        if found == NONE {
            self.nothing_at = end;
            return (None, steps);
        }
        (Some(RequestId(found)), steps)
    }

    #[inline(always)]
    fn last_merged(&self) -> Option<RequestId> {
        (self.last != NONE).then_some(RequestId(self.last))
    }

    /// Remembers this request as the one merged last.
    fn remember(&mut self, requests: &Requests, rq: RequestId) {
        (self.last, self.last_at) = (rq.0, Extent::of(&requests[rq]));
    }

    /// Checks what is remembered of the request merged last.
    ///
    /// # Panics
    /// If it is wrong.
    pub(super) fn check(&self, requests: &Requests) {
        if let Some(last) = self.last_merged() {
            assert_eq!(self.last_at, Extent::of(&requests[last]), "{last:?}");
        }
    }

    #[inline(always)]
    pub(super) fn nothing_ends_at(&self, sector: Sector) -> bool {
        self.nothing_at == sector
    }
}

/// No request begins there, so no request is searched for that ends there.
const NOWHERE: Sector = Sector(u64::MAX);
