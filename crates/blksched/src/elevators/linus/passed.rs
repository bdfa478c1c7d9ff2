//! 2.4.20 to 2.4.37: a request pays for each request inserted before it.
//!
//! **Rule** Search from the last request towards the first, up to a wall: remember the first place, and continue to
//! search for a request to join. Then each request behind the partner pays 1, or each behind the place 16; a partner
//! that grows at its front pays 1 itself. An insertion at the end costs nothing.
//! **Origin** docs/behaviour/elevator-linus.md#k3 and #k5.
//! **Shown by** a stream beside a lone read: each 64 KiB request costs the read 31, so 66 of them may pass.
//! **In the kernel** `elevator_linus_merge`.

use super::search::{Found, InsertAt, View, Wanted};

/// The cost to a request of one inserted before it; a buffer that joins one there costs 1.
pub(super) const SEEK: i32 = 16;

/// Searches up to a wall.
pub(super) fn search(view: &View<'_>, wanted: &Wanted) -> Found {
    let mut found = Found::NOTHING;
    for rq in view.backwards() {
        if view.counters.is_wall(rq) {
            break;
        }
        if found.place == InsertAt::Last && view.is_place(rq, wanted) {
            found.place = InsertAt::Behind(rq);
        }
        found.partner = view.partner(rq, wanted);
        if found.partner.is_some() {
            break;
        }
    }
    found
}
