//! The rework of 2002-09-25, one day before deadline: reads are inserted before all writes.
//!
//! **Rule** The search goes from the last request towards the first. A write stops at the first read; a read continues
//! past the writes, and its place is before each that it passes. Among requests of its own direction its place is
//! before each that starts above it; the foremost place counts. No request is charged, so writes starve.
//! **Origin** docs/behaviour/elevator-linus.md#w2 to #w4.
//! **In the kernel** `elevator_linus_merge`.

use super::search::{Found, InsertAt, View, Wanted};
use crate::request::Dir;

/// Searches as far as the new request may go.
pub(super) fn search(view: &View<'_>, wanted: &Wanted) -> Found {
    let mut found = Found::NOTHING;
    for rq in view.backwards() {
        let request = &view.requests[rq];
        if request.dir() != wanted.dir {
            if wanted.dir == Dir::Write {
                break;
            }
            found.place = before(view, rq);
            continue;
        }
        found.partner = view.adjoins(rq, wanted).map(|end| (rq, end));
        if found.partner.is_some() {
            break;
        }
        if wanted.start < request.start {
            found.place = before(view, rq);
        }
    }
    found
}

/// The place right before `rq`, which is behind its predecessor. The first request has none, which is taken for "no
/// place", so the new request goes to the end, unless the request being served is still at the head.
fn before(view: &View<'_>, rq: crate::request::RequestId) -> InsertAt {
    match (view.list.before(rq), view.head_is_served) {
        (Some(before), _) => InsertAt::Behind(before),
        (None, true) => InsertAt::First,
        (None, false) => InsertAt::Last,
    }
}
