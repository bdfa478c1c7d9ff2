//! noop of 2.4: the whole list is searched for a request to join; a bio that finds none goes to its end.
//!
//! **Origin** docs/behaviour/elevator-linus.md#n.
//! **In the kernel** `elevator_noop_merge`.

use super::search::{Found, View, Wanted};

/// Searches from the last request to the first.
pub(super) fn search(view: &View<'_>, wanted: &Wanted) -> Found {
    let partner = view.backwards().find_map(|rq| view.partner(rq, wanted));
    Found { partner, ..Found::NOTHING }
}
