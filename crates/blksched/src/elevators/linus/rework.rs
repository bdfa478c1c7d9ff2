//! The rework of 2002-09-25, one day before deadline: reads go before all writes.
//!
//! **Rule** From the last request towards the first. A write stops at the first read; a read goes on past the writes,
//! and its place is before each that it passes. Among its own direction its place is before each that starts above it;
//! the foremost place counts. No request is charged, so writes starve.
//! **Origin** docs/behaviour/elevator-linus.md#w2 to #w4.
//! **In the kernel** `elevator_linus_merge`.

#![doc(alias = "elevator_linus_merge")]

use super::search::{Found, InsertAt, View, Wanted};
use crate::request::Dir;

/// Looks as far as the new request may go.
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

/// Right before `rq`: behind what stands there. Before the first there is nothing to stand behind, which is taken for
/// "no place" and leads to the end, unless the disk's own request stands there.
fn before(view: &View<'_>, rq: crate::request::RequestId) -> InsertAt {
    match (view.list.before(rq), view.head_is_served) {
        (Some(before), _) => InsertAt::Behind(before),
        (None, true) => InsertAt::First,
        (None, false) => InsertAt::Last,
    }
}
