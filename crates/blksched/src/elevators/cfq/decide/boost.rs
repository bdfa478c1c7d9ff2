//! Metadata boosts its queue.
//!
//! **Rule** Since 4.20 a request with the priority mark (metadata, [`Hints::meta`](crate::Hints)) boosts its process's
//! queue to best effort, level 4, until the process's next request without the mark.
//! **What for** No process should wait for a journal whose I/O is in the idle class.
//! **Origin** docs/behaviour/elevators-4.20.md#p.3.
//! **In the kernel** `cfq_prio_boost`, `REQ_PRIO`, `org_ioprio`.

use crate::elevators::cfq::rules::Boost;
use crate::elevators::ioprio::{Ioprio, IoprioClass};

impl Boost {
    pub(crate) fn is_on(self) -> bool {
        self == Boost::On
    }

    /// The class and level by which a queue is served after a request of its process; `prefers`: with the priority
    /// mark.
    pub(crate) fn ioprio(self, own: Ioprio, prefers: bool) -> Ioprio {
        if self == Boost::Off || !prefers {
            return own;
        }
        Ioprio { class: own.class.min(IoprioClass::BestEffort), level: own.level.min(4) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Class, Priority};

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
}
