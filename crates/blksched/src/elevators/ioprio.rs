//! ionice's classes and levels, as CFQ and BFQ serve them.
//!
//! **Rule** Real time before best effort before idle. A process that never set a priority is best effort, level 4. The
//! idle class has one level, 7. Bios and requests of different priorities do not merge, except in 4.19, where nothing
//! that schedules reads a request's own priority.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c1, docs/behaviour/elevators-6.1.md#b1,
//! docs/behaviour/elevators-4.19-5.15.md#x1.
//! **In the kernel** `ioprio_class`, `IOPRIO_CLASS_RT`, `IOPRIO_CLASS_BE`, `IOPRIO_CLASS_IDLE`, `IOPRIO_PRIO_CLASS`.

use crate::mechanism;
use crate::queue::merge::Kin;
use crate::request::{Class, Priority};

mechanism! {
    /// whether bios and requests of different priorities merge
    pub(crate) enum MergePriorities = "merge_priorities" {
        /// yes: blk-mq of 4.19
        Any = "any",
        /// no: 5.10 and later
        Same = "same",
    }
}

impl MergePriorities {
    /// The queue's rule.
    pub(crate) fn kin(self) -> Kin {
        match self {
            MergePriorities::Any => Kin::SameOpAndGroup,
            MergePriorities::Same => Kin::SameOpPriorityAndGroup,
        }
    }
}

/// The classes in the order in which they are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum IoprioClass {
    RealTime,
    #[default]
    BestEffort,
    Idle,
}

impl IoprioClass {
    pub(crate) const ALL: [IoprioClass; 3] = [IoprioClass::RealTime, IoprioClass::BestEffort, IoprioClass::Idle];

    /// A request's class; best effort if its process never set one.
    pub(crate) fn of(priority: Priority) -> IoprioClass {
        Ioprio::of(priority).class
    }

    /// In ionice's words.
    pub(crate) fn class(self) -> Class {
        match self {
            IoprioClass::RealTime => Class::RealTime,
            IoprioClass::BestEffort => Class::BestEffort,
            IoprioClass::Idle => Class::Idle,
        }
    }
}

/// A class and a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ioprio {
    pub(crate) class: IoprioClass,
    /// 0 (most) to 7.
    pub(crate) level: u8,
}

impl Ioprio {
    pub(crate) fn of(priority: Priority) -> Ioprio {
        let level = priority.level.min(7);
        match priority.class {
            Class::None => Ioprio { class: IoprioClass::BestEffort, level: 4 },
            Class::RealTime => Ioprio { class: IoprioClass::RealTime, level },
            Class::BestEffort => Ioprio { class: IoprioClass::BestEffort, level },
            Class::Idle => Ioprio { class: IoprioClass::Idle, level: 7 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_never_set_a_priority_is_in_the_middle_of_best_effort() {
        assert_eq!(Ioprio::of(Priority::default()), Ioprio::of(Priority::NORMAL));
        let idle = Ioprio::of(Priority { class: Class::Idle, level: 0 });
        let real_time = Ioprio::of(Priority { class: Class::RealTime, level: 7 });
        assert!(real_time < Ioprio::of(Priority::NORMAL) && Ioprio::of(Priority::NORMAL) < idle);
    }

    #[test]
    fn a_process_without_a_class_counts_as_best_effort_whatever_its_level() {
        let of = |class, level| IoprioClass::of(Priority { class, level });
        assert_eq!(of(Class::None, 0), of(Class::BestEffort, 7));
        assert_eq!(of(Class::RealTime, 7), IoprioClass::RealTime);
        assert_eq!(IoprioClass::ALL.map(|class| of(class.class(), 0)), IoprioClass::ALL);
    }
}
