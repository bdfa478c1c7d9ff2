//! The nearer of two requests, for an arm that moves upward and turns back only for a short seek.
//!
//! **Rule** The smaller cost: the distance ahead, or the distance back times a penalty, if it is within reach; a
//! request beyond reach counts as if it were behind the end of the disk. With equal costs, the higher sector, which is
//! the one ahead; of two beyond reach, the lower one.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#a.2 and #c3, docs/behaviour/elevators-6.1.md#b4: common to the
//! anticipatory scheduler, CFQ and BFQ.
//! **In the kernel** `back_seek_max`, `back_seek_penalty`.

use crate::request::Sector;

/// How far back the arm may turn, and at what cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurningBack {
    pub(crate) reach_sectors: u64,
    /// The cost of a sector back, in sectors ahead.
    pub(crate) penalty: u64,
}

impl TurningBack {
    /// Whether the first of two requests is to be taken; `first` and `second` are their start sectors.
    #[inline(always)]
    pub(super) fn prefers_first(self, arm: Sector, first: Sector, second: Sector) -> bool {
        match (first >= arm, second >= arm) {
            (true, true) => first <= second,
            (true, false) => !self.turns_back(arm, second, first),
            (false, true) => self.turns_back(arm, first, second),
            (false, false) => {
                let within_reach = arm.0 - first.max(second).0 <= self.reach_sectors;
                if within_reach { first >= second } else { first <= second }
            }
        }
    }

    /// Whether the arm turns back for a request although another one is ahead of it.
    #[inline(always)]
    fn turns_back(self, arm: Sector, behind: Sector, ahead: Sector) -> bool {
        let back = arm.0 - behind.0;
        back <= self.reach_sectors && back.saturating_mul(self.penalty) < ahead.0 - arm.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARM: Sector = Sector(1 << 30);
    const LINUX_2_6: TurningBack = TurningBack { reach_sectors: 1 << 20, penalty: 2 };

    fn first_wins(first: Sector, second: Sector) -> bool {
        LINUX_2_6.prefers_first(ARM, first, second)
    }

    fn at(offset: i64) -> Sector {
        Sector(ARM.0.checked_add_signed(offset).unwrap())
    }

    /// The rule as written: by costs \[sectors ahead\]; `None`: too far back.
    fn first_wins_by_cost(rule: TurningBack, arm: u64, first: u64, second: u64) -> bool {
        let cost = |start: u64| match arm.checked_sub(start) {
            None | Some(0) => Some(start - arm),
            Some(back) => (back <= rule.reach_sectors).then(|| back.saturating_mul(rule.penalty)),
        };
        match (cost(first), cost(second)) {
            (Some(one), Some(other)) if one != other => one < other,
            (Some(_), Some(_)) => first >= second,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => first <= second,
        }
    }

    #[test]
    fn of_any_two_the_one_of_smaller_cost_wins() {
        for (reach_sectors, penalty) in [(0, 1), (3, 1), (3, 2), (5, 3), (8, u64::MAX)] {
            let rule = TurningBack { reach_sectors, penalty };
            for (arm, first, second) in (0..20 * 20 * 20).map(|n| (n / 400, n / 20 % 20, n % 20)) {
                let wins = rule.prefers_first(Sector(arm), Sector(first), Sector(second));
                assert_eq!(wins, first_wins_by_cost(rule, arm, first, second), "{rule:?}: {arm} {first} {second}");
            }
        }
    }

    #[test]
    fn a_step_back_counts_double_and_of_equals_the_one_ahead_wins() {
        assert!(first_wins(at(-10), at(21)));
        assert!(!first_wins(at(-10), at(20)));
        assert!(first_wins(at(20), at(-10)));
    }

    #[test]
    fn a_request_more_than_a_mebisector_back_loses_to_any_that_the_arm_can_reach() {
        let (reach, beyond) = (-(1 << 20), -(1 << 20) - 1);
        assert!(first_wins(at(reach), at(1 << 40)));
        assert!(!first_wins(at(beyond), at(1 << 40)));
    }

    #[test]
    fn of_two_beyond_reach_the_lower_one_wins() {
        assert!(!first_wins(at(-(1 << 21)), at(-(1 << 22))));
        assert!(first_wins(at(-(1 << 21)), at(-(1 << 21))));
    }
}
