//! 2.4.18, and 2.5.38 as far as it is known: a request pays for being looked at.
//!
//! **Rule** From the last request towards the first, each pays 1 for being looked at; at a wall, or at a request whose
//! counter does not reach as far as the new one is long, the search ends. A partner that grows at its front pays the
//! new one's length, and each request behind a partner that grows pays it too.
//! **Origin** docs/behaviour/elevator-linus.md#a2, #a3 and, of 2.5.38, #b2.
//! **In the kernel** `elevator_linus_merge`, `elevator_linus_merge_cleanup`.

#![doc(alias = "elevator_linus_merge")]
#![doc(alias = "elevator_linus_merge_cleanup")]

use super::search::{Found, InsertAt, View, Wanted};

/// When a counter that is too short ends the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::elevators) enum Short {
    /// Once the place was looked at and the partner would be short enough (2.4.18).
    BehindThePlace,
    /// Before the place is looked at (2.5.38).
    BeforeThePlace,
}

/// Looks up to a wall, or to a counter that is too short.
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
