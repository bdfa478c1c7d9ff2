//! ionice's classes and levels, as CFQ serves them.
//!
//! **Rule** Real time before best effort before idle. A process that never set a priority is best effort, level 4. The
//! idle class has one level, 7.
//! **Origin** note C1.

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
    pub(super) fn class(self) -> Class {
        match self {
            Rank::RealTime => Class::RealTime,
            Rank::BestEffort => Class::BestEffort,
            Rank::Idle => Class::Idle,
        }
    }
}

/// A class and a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Standing {
    pub(super) rank: Rank,
    /// 0 (most) to 7.
    pub(super) level: u8,
}

impl Standing {
    pub(super) fn of(priority: Priority) -> Standing {
        let level = priority.level.min(7);
        match priority.class {
            Class::None => Standing { rank: Rank::BestEffort, level: 4 },
            Class::RealTime => Standing { rank: Rank::RealTime, level },
            Class::BestEffort => Standing { rank: Rank::BestEffort, level },
            Class::Idle => Standing { rank: Rank::Idle, level: 7 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_never_set_a_priority_is_in_the_middle_of_best_effort() {
        assert_eq!(Standing::of(Priority::default()), Standing::of(Priority::NORMAL));
        let idle = Standing::of(Priority { class: Class::Idle, level: 0 });
        let real_time = Standing::of(Priority { class: Class::RealTime, level: 7 });
        assert!(real_time < Standing::of(Priority::NORMAL) && Standing::of(Priority::NORMAL) < idle);
    }
}
