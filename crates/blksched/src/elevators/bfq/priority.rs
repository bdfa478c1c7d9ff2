//! Levels as weights.
//!
//! **Rule** Within a class, level `l` has the weight `(8 − l) · 10`; no priority counts as best effort 4.
//! **Origin** docs/behaviour/elevators-6.1.md#b1.
//! **In the kernel** `bfq_set_next_ioprio_data`, `bfq_ioprio_to_weight`, `bfq_weight_to_ioprio`.

use crate::elevators::ioprio::Ioprio;

/// The weight of a process that never set a priority.
pub(crate) const USUAL_WEIGHT: i64 = 40;

/// The weight of a level.
pub(crate) fn weight(ioprio: Ioprio) -> i64 {
    (8 - i64::from(ioprio.level)) * 10
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Class, Priority};

    #[test]
    fn the_usual_weight_is_that_of_no_priority_and_of_best_effort_4() {
        for priority in [Priority::default(), Priority::NORMAL] {
            assert_eq!(weight(Ioprio::of(priority)), USUAL_WEIGHT);
        }
        assert_eq!(weight(Ioprio::of(Priority { class: Class::Idle, level: 0 })), 10);
    }
}
