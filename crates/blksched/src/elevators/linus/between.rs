//! Where in the list a new request belongs: searching from the tail, after the first request between which and its
//! successor it lies.
//!
//! **Rule** Between two neighbours whose starts enclose it. Where the list wraps to a lower sector, everything above
//! the one or below the other belongs there. Direction and length do not matter, and nothing belongs after the last
//! request: a request that finds no place goes to the end.
//! **Origin** docs/behaviour/elevator-linus.md#k4.
//! **In the kernel** `bh_rq_in_between`.

use crate::request::Sector;

/// Whether `at` belongs between a request and the one behind it.
pub(super) fn lies_between(start: Sector, at: Sector, behind: Option<Sector>) -> bool {
    let Some(behind) = behind else { return false };
    if start < at && at < behind {
        return true;
    }
    behind <= start && (at > start || at < behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_neighbours_means_strictly_between_and_at_the_wrap_on_either_side() {
        let between = |a, b, c| lies_between(Sector(a), Sector(b), Some(Sector(c)));
        assert!(between(10, 15, 20) && !between(10, 10, 20) && !between(10, 20, 20) && !between(10, 5, 20));
        assert!(between(100, 150, 20) && between(100, 10, 20) && !between(100, 50, 20));
        assert!(between(100, 150, 100) && between(100, 50, 100) && !between(100, 100, 100));
        assert!(!lies_between(Sector(10), Sector(15), None));
    }
}
