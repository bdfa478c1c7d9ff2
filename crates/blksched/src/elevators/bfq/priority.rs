//! Classes and levels: ionice's words as weights.
//!
//! **Rule** A class is served before the next one; within a class, level `l` has the weight `(8 − l) · 10`. No priority
//! counts as best effort 4, the idle class as level 7.
//! **Origin** docs/behaviour/elevators-6.1.md#b1.
//! **In the kernel** `bfq_set_next_ioprio_data`, `bfq_ioprio_to_weight`, `bfq_weight_to_ioprio`.

#![doc(alias = "bfq_set_next_ioprio_data")]
#![doc(alias = "bfq_ioprio_to_weight")]
#![doc(alias = "bfq_weight_to_ioprio")]

use crate::request::{Class, Priority};

/// The classes in the order in which they are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    RealTime,
    #[default]
    BestEffort,
    Idle,
}

impl Rank {
    pub(super) const ALL: [Rank; 3] = [Rank::RealTime, Rank::BestEffort, Rank::Idle];
}

/// The weight of who never asked for another.
pub(super) const USUAL_WEIGHT: i64 = 40;

/// A process's class and level, as a queue takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Standing {
    pub(super) rank: Rank,
    pub(super) level: u8,
}

impl Standing {
    pub(super) fn of(priority: Priority) -> Standing {
        match priority.class {
            Class::RealTime => Standing { rank: Rank::RealTime, level: priority.level },
            Class::BestEffort => Standing { rank: Rank::BestEffort, level: priority.level },
            Class::None => Standing { rank: Rank::BestEffort, level: 4 },
            Class::Idle => Standing { rank: Rank::Idle, level: 7 },
        }
    }

    pub(super) fn weight(self) -> i64 {
        (8 - i64::from(self.level.min(7))) * 10
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_weight_is_that_of_no_priority_and_of_best_effort_4() {
        for priority in [Priority::default(), Priority::NORMAL] {
            assert_eq!(Standing::of(priority).weight(), USUAL_WEIGHT);
        }
        let idle = Priority { class: Class::Idle, level: 0 };
        assert_eq!((Standing::of(idle).rank, Standing::of(idle).weight()), (Rank::Idle, 10));
    }
}
