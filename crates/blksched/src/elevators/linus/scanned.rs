//! 2.4.18, and 2.5.38 as far as it is known: a request pays for being examined.
//!
//! **Rule** The search goes from the last request towards the first, and each request pays 1 for being examined; it
//! ends at a wall, or at a request whose counter is less than the new one's length. A partner that grows at its front
//! pays the new one's length, and each request behind a partner that grows pays it too.
//! **Origin** docs/behaviour/elevator-linus.md#a2, #a3 and, of 2.5.38, #b2.
//! **In the kernel** `elevator_linus_merge`, `elevator_linus_merge_cleanup`.

use super::search::{Found, InsertAt, View, Wanted};

/// When a counter that is too small ends the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::elevators) enum Short {
    /// After the place was tested, and only if the two would be short enough together (2.4.18).
    BehindThePlace,
    /// Before the place is tested (2.5.38).
    BeforeThePlace,
}

/// Searches up to a wall, or to a counter that is too small.
pub(super) fn search(view: &View<'_>, wanted: &Wanted, short: Short) -> Found {
    let mut found = Found::NOTHING;
    for rq in view.backwards() {
        found.reached = Some(rq);
        let left = view.counters.left(rq).saturating_sub(1);
        let is_short = i64::from(left) < i64::from(wanted.sectors);
        if view.counters.is_wall(rq) || short == Short::BeforeThePlace && is_short {
            break;
        }
        if found.place == InsertAt::Last && view.is_place(rq, wanted) {
            found.place = InsertAt::Behind(rq);
        }
        found.partner = match short {
            Short::BehindThePlace => {
                let other = view.requests[rq].dir() != wanted.dir || !view.is_short(rq, wanted);
                if !other && is_short {
                    break;
                }
                view.partner(rq, wanted)
            }
            Short::BeforeThePlace => view.adjoins(rq, wanted).map(|end| (rq, end)),
        };
        if found.partner.is_some() {
            break;
        }
    }
    found
}
