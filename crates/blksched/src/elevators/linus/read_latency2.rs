//! The read-latency2 patch on 2.4.20: a read that meets no other read jumps over the writes.
//!
//! **Rule** The search goes from the last request to the first, and each request pays 1 for being examined; beyond a
//! wall only a partner is searched for. Requests pay for being passed as in 2.4.20. A read that found neither a partner
//! nor another read is then inserted behind the first few writes of the list instead, as many as cost
//! `max_bomb_segments` (1, and 1 per 32 KiB), unless its place is nearer to the head still; no request is charged for
//! that.
//! **Origin** docs/behaviour/elevator-linus.md#r2 to #r4.
//! **In the kernel** `elevator_linus_merge`, `max_bomb_segments`.

use super::search::{Found, InsertAt, View, Wanted};
use crate::request::Dir;

/// A write costs one more for each of this many sectors.
const SEGMENT: u32 = 64;

/// Whether the search met a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Met {
    NoRead,
    ARead,
}

/// Searches all requests, up to a partner.
pub(super) fn search(view: &View<'_>, wanted: &Wanted) -> (Found, Met) {
    let mut found = Found::NOTHING;
    let mut met = Met::NoRead;
    let mut beyond_a_wall = false;
    for rq in view.backwards() {
        found.reached = Some(rq);
        beyond_a_wall |= view.counters.is_wall(rq);
        if !beyond_a_wall && found.place == InsertAt::Last && view.is_place(rq, wanted) {
            found.place = InsertAt::Behind(rq);
        }
        if view.requests[rq].dir() == Dir::Read {
            met = Met::ARead;
        }
        found.partner = view.partner(rq, wanted);
        if found.partner.is_some() {
            break;
        }
    }
    (found, met)
}

/// Where a read that may jump is inserted.
pub(super) fn jump(view: &View<'_>, place: InsertAt, max_bomb_segments: i32) -> InsertAt {
    let mut cost = 0;
    for rq in view.list.iter() {
        if place == InsertAt::Behind(rq) {
            return place;
        }
        if view.requests[rq].dir() == Dir::Write {
            cost += 1 + i64::from(view.requests[rq].sectors / SEGMENT);
        }
        if cost >= i64::from(max_bomb_segments) {
            return InsertAt::Behind(rq);
        }
    }
    place
}
