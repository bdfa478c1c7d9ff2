//! The rule that chooses the next request in sector order.
//!
//! **Rule** From where the arm was left by the last request of the class: the nearer one, a step back counting double
//! and no further back than 1 Mi sectors; beyond that it is as if it lay behind the end of the disk. Equally near: the
//! one ahead. Both beyond: the lower one. Only the two neighbours of the request just taken are compared, and each
//! new one with the present choice.
//! **Origin** notes A2 and C3.

use crate::request::Sector;

/// How far back a request may lie \[sectors\].
const BACK_MAX: u64 = 1024 * 1024;
/// What a sector back costs in sectors ahead.
const BACK_PENALTY: u64 = 2;

/// Which of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nearer {
    First,
    Second,
}

/// How far the arm would go \[sectors, a step back counting double\]; `None`: it would have to start over.
fn cost(arm: Sector, start: Sector) -> Option<u64> {
    if start >= arm {
        return Some(start.0 - arm.0);
    }
    let back = arm.0 - start.0;
    (back <= BACK_MAX).then_some(back * BACK_PENALTY)
}

/// The nearer of two requests that start at `first` and `second`.
pub(super) fn choose(arm: Sector, first: Sector, second: Sector) -> Nearer {
    let is_first = match (cost(arm, first), cost(arm, second)) {
        (Some(a), Some(b)) if a == b => first >= second,
        (Some(a), Some(b)) => a < b,
        (Some(_), None) => true,
        (None, Some(_)) => false,
        (None, None) => first <= second,
    };
    if is_first { Nearer::First } else { Nearer::Second }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARM: Sector = Sector(1 << 30);

    fn at(offset: i64) -> Sector {
        Sector(ARM.0.checked_add_signed(offset).unwrap())
    }

    #[test]
    fn a_step_back_counts_double_and_of_equals_the_one_ahead_wins() {
        assert_eq!(choose(ARM, at(-10), at(21)), Nearer::First);
        assert_eq!(choose(ARM, at(-10), at(20)), Nearer::Second);
        assert_eq!(choose(ARM, at(20), at(-10)), Nearer::First);
    }

    #[test]
    fn a_request_more_than_a_mebisector_back_loses_to_any_that_the_arm_can_reach() {
        let (reach, beyond) = (-(1 << 20), -(1 << 20) - 1);
        assert_eq!(choose(ARM, at(reach), at(1 << 40)), Nearer::First);
        assert_eq!(choose(ARM, at(beyond), at(1 << 40)), Nearer::Second);
    }

    #[test]
    fn of_two_beyond_reach_the_lower_one_wins() {
        assert_eq!(choose(ARM, at(-(1 << 21)), at(-(1 << 22))), Nearer::Second);
        assert_eq!(choose(ARM, at(-(1 << 21)), at(-(1 << 21))), Nearer::First);
    }
}
