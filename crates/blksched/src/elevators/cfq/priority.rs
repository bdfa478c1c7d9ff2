//! ionice's classes and levels, as CFQ serves them.
//!
//! **Rule** Real time before best effort before idle. A process that never set a priority is best effort, level 4. The
//! idle class has one level, 7.
//! **Boost** Since 4.20 a request marked as worth a preference (metadata, [`Hints::meta`](crate::Hints)) lifts its
//! process's queue to best effort, level 4, until the process's next request without the mark, so that nobody waits for
//! a journal that the idle class holds.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c1; docs/behaviour/elevators-4.20.md#p.3.
//! **In the kernel** `cfq_init_prio_data`, `cfq_prio_boost`, `ioprio_class`, `org_ioprio`.

#![doc(alias = "cfq_init_prio_data")]
#![doc(alias = "cfq_prio_boost")]
#![doc(alias = "ioprio_class")]
#![doc(alias = "org_ioprio")]

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
    pub(super) fn class(self) -> Class {
        match self {
            IoprioClass::RealTime => Class::RealTime,
            IoprioClass::BestEffort => Class::BestEffort,
            IoprioClass::Idle => Class::Idle,
        }
    }
}

/// A class and a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ioprio {
    pub(super) rank: IoprioClass,
    /// 0 (most) to 7.
    pub(super) level: u8,
}

impl Ioprio {
    pub(super) fn of(priority: Priority) -> Ioprio {
        let level = priority.level.min(7);
        match priority.class {
            Class::None => Ioprio { rank: IoprioClass::BestEffort, level: 4 },
            Class::RealTime => Ioprio { rank: IoprioClass::RealTime, level },
            Class::BestEffort => Ioprio { rank: IoprioClass::BestEffort, level },
            Class::Idle => Ioprio { rank: IoprioClass::Idle, level: 7 },
        }
    }
}

/// Whether requests marked as worth a preference lift their queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boost {
    /// They do not (2.6.31 to 2.6.33).
    Off,
    /// To best effort, level 4 (4.20).
    On,
}

impl Boost {
    pub(super) fn is_on(self) -> bool {
        self == Boost::On
    }

    /// As which a queue is served whose process sends a request.
    pub(super) fn ioprio(self, own: Ioprio, prefers: bool) -> Ioprio {
        if self == Boost::Off || !prefers {
            return own;
        }
        Ioprio { rank: own.rank.min(IoprioClass::BestEffort), level: own.level.min(4) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preferred_request_lifts_the_idle_class_and_low_levels_to_the_middle_of_best_effort() {
        let of = |class, level| Ioprio::of(Priority { class, level });
        let lifted = |class, level| Boost::On.ioprio(of(class, level), true);
        assert_eq!(lifted(Class::Idle, 0), of(Class::BestEffort, 4));
        assert_eq!(lifted(Class::BestEffort, 7), of(Class::BestEffort, 4));
        assert_eq!(lifted(Class::BestEffort, 1), of(Class::BestEffort, 1));
        assert_eq!(lifted(Class::RealTime, 6), of(Class::RealTime, 4));
        assert_eq!(Boost::On.ioprio(of(Class::Idle, 7), false), of(Class::Idle, 7));
        assert_eq!(Boost::Off.ioprio(of(Class::Idle, 7), true), of(Class::Idle, 7));
    }

    #[test]
    fn whoever_never_set_a_priority_is_in_the_middle_of_best_effort() {
        assert_eq!(Ioprio::of(Priority::default()), Ioprio::of(Priority::NORMAL));
        let idle = Ioprio::of(Priority { class: Class::Idle, level: 0 });
        let real_time = Ioprio::of(Priority { class: Class::RealTime, level: 7 });
        assert!(real_time < Ioprio::of(Priority::NORMAL) && Ioprio::of(Priority::NORMAL) < idle);
    }
}
