//! The requests of a queue by sector, kept in the same way by CFQ and BFQ: neighbours, and merge candidates.
//!
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c3, docs/behaviour/elevators-6.1.md#b4: after a dispatched request,
//! the one behind it or the one before it is next; after the last comes the first.
//! **In the kernel** `elv_rb_find`, `elv_rb_former_request`, `elv_rb_latter_request`, `elv_rb_add`, `elv_rb_del`.

use crate::elevator::{Lookup, Neighbours};
use crate::index::{Forest, Root};
use crate::request::{Bio, RequestId, Sector};

/// The request of a queue that begins where a bio ends.
#[inline(always)]
pub(crate) fn look_up(sorted: &mut Forest<Sector>, queue: Root, bio: &Bio) -> Lookup {
    match sorted.find(queue, bio.end()) {
        Some(rq) => Lookup::Front(RequestId::from_index(rq)),
        None => Lookup::Nothing,
    }
}

/// The neighbours of a request in its queue.
#[inline(always)]
pub(crate) fn neighbours(sorted: &Forest<Sector>, rq: RequestId) -> Neighbours {
    let (before, behind) = sorted.neighbours(rq.index() as u32);
    Neighbours { before: before.map(RequestId::from_index), behind: behind.map(RequestId::from_index) }
}

/// The candidates for the next request once one is taken: the one after it, or else the lowest; and the one before it.
#[inline(always)]
pub(crate) fn candidates_after(
    sorted: &Forest<Sector>,
    queue: Root,
    taken: RequestId,
) -> (Option<RequestId>, Option<RequestId>) {
    let Neighbours { before, behind } = neighbours(sorted, taken);
    let lowest = || queue.first().map(RequestId::from_index).filter(|&first| first != taken);
    (behind.or_else(lowest), before)
}
