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
pub(super) enum IoprioClass {
    RealTime,
    #[default]
    BestEffort,
    Idle,
}

impl IoprioClass {
    pub(super) const ALL: [IoprioClass; 3] = [IoprioClass::RealTime, IoprioClass::BestEffort, IoprioClass::Idle];
}

/// The weight of who never asked for another.
pub(super) const USUAL_WEIGHT: i64 = 40;

/// A process's class and level, as a queue takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ioprio {
    pub(super) rank: IoprioClass,
    pub(super) level: u8,
}

impl Ioprio {
    pub(super) fn of(priority: Priority) -> Ioprio {
        match priority.class {
            Class::RealTime => Ioprio { rank: IoprioClass::RealTime, level: priority.level },
            Class::BestEffort => Ioprio { rank: IoprioClass::BestEffort, level: priority.level },
            Class::None => Ioprio { rank: IoprioClass::BestEffort, level: 4 },
            Class::Idle => Ioprio { rank: IoprioClass::Idle, level: 7 },
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
            assert_eq!(Ioprio::of(priority).weight(), USUAL_WEIGHT);
        }
        let idle = Priority { class: Class::Idle, level: 0 };
        assert_eq!((Ioprio::of(idle).rank, Ioprio::of(idle).weight()), (IoprioClass::Idle, 10));
    }
}
