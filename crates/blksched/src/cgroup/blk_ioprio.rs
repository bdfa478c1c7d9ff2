//! `io.prio.class`: the priority of a group's bios, overriding their processes'.
//!
//! **Rule** The larger of the bio's and the group's, as numbers: class × 8192 + level, none being 0. Only
//! `promote-to-rt` of 6.12 and later sets outright.
//! **Origin** docs/behaviour/cgroup-io.md#p. It applies before merging: elevators and merges see the changed priority.
//! **In the kernel** `blkcg_set_ioprio`, `ioprio_set_prio_policy`, `blkcg_ioprio`.

#![doc(alias = "blkcg_set_ioprio")]
#![doc(alias = "ioprio_set_prio_policy")]
#![doc(alias = "blkcg_ioprio")]

use crate::request::{Class, Priority};

/// A group's `io.prio.class`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum PrioClass {
    /// The process's priority is kept.
    #[default]
    NoChange,
    /// 6.12 and later (`none-to-rt` is its old name): everything except real time becomes real time, level 4.
    PromoteToRt,
    /// Real time and bios without a class become best effort, level 0.
    RestrictToBe,
    /// Everything becomes idle.
    Idle,
    /// `none-to-rt` of 6.1: bios without a class become real time, level 0.
    NoneToRt,
}

impl PrioClass {
    /// The words written to the file, on 6.12 and later.
    pub const NAMES: [(&'static str, PrioClass); 5] = [
        ("no-change", PrioClass::NoChange),
        ("promote-to-rt", PrioClass::PromoteToRt),
        ("restrict-to-be", PrioClass::RestrictToBe),
        ("idle", PrioClass::Idle),
        ("none-to-rt", PrioClass::PromoteToRt),
    ];

    /// The priority that a bio gets.
    pub fn apply(self, own: Priority) -> Priority {
        let at_least = |class, level| {
            let set = Priority { class, level };
            if number(own) < number(set) { set } else { own }
        };
        match self {
            PrioClass::NoChange => own,
            PrioClass::PromoteToRt if own.class == Class::RealTime => own,
            PrioClass::PromoteToRt => Priority { class: Class::RealTime, level: 4 },
            PrioClass::RestrictToBe => at_least(Class::BestEffort, 0),
            PrioClass::Idle => at_least(Class::Idle, 0),
            PrioClass::NoneToRt => at_least(Class::RealTime, 0),
        }
    }
}

/// The number by which the kernel compares priorities: a larger number is a lower priority, but "none" is the smallest.
fn number(priority: Priority) -> u32 {
    let class = match priority.class {
        Class::None => return 0,
        Class::RealTime => 1,
        Class::BestEffort => 2,
        Class::Idle => 3,
    };
    class * 8192 + u32::from(priority.level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_changes_what_its_rule_says_and_nothing_else() {
        use Class::{BestEffort, Idle, None, RealTime};
        let own =
            [(None, 0), (RealTime, 3), (BestEffort, 6), (Idle, 2)].map(|(class, level)| Priority { class, level });
        let after = |policy: PrioClass| own.map(|own| policy.apply(own)).map(|to| (to.class, to.level));
        assert_eq!(after(PrioClass::NoChange), [(None, 0), (RealTime, 3), (BestEffort, 6), (Idle, 2)]);
        assert_eq!(after(PrioClass::RestrictToBe), [(BestEffort, 0), (BestEffort, 0), (BestEffort, 6), (Idle, 2)]);
        assert_eq!(after(PrioClass::Idle), [(Idle, 0), (Idle, 0), (Idle, 0), (Idle, 2)]);
        assert_eq!(after(PrioClass::NoneToRt), [(RealTime, 0), (RealTime, 3), (BestEffort, 6), (Idle, 2)]);
        assert_eq!(after(PrioClass::PromoteToRt), [(RealTime, 4), (RealTime, 3), (RealTime, 4), (RealTime, 4)]);
    }
}
