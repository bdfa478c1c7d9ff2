//! Why a slice ends, and the time to which a queue counts as in service.
//!
//! **Origin** docs/behaviour/elevators-6.1.md#b13.
//! **In the kernel** `bfqq_expiration`, `BFQQE_TOO_IDLE`, `BFQQE_BUDGET_TIMEOUT`, `BFQQE_BUDGET_EXHAUSTED`,
//! `BFQQE_NO_MORE_REQUESTS`, `BFQQE_PREEMPTED`.

use crate::explain::{Preempt, SliceEnd};

/// Why a slice ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    IdledInVain,
    OutOfTime,
    OutOfBudget,
    /// The idle class gets one request at a time while others wait; its budget counts as used up.
    IdleClass,
    NothingQueued,
    Preempted(Preempt),
    /// Its process has exited; its budget counts as for `OutOfTime`.
    Gone,
}

impl Why {
    pub(crate) fn in_words(self) -> SliceEnd {
        match self {
            Why::IdledInVain => SliceEnd::IdledInVain,
            Why::OutOfTime => SliceEnd::Used,
            Why::OutOfBudget => SliceEnd::BudgetUsed,
            Why::IdleClass => SliceEnd::IdleClass,
            Why::NothingQueued => SliceEnd::NothingQueued,
            Why::Preempted(why) => SliceEnd::Preempted(why),
            Why::Gone => SliceEnd::Gone,
        }
    }
}

/// The time to which a queue counts as in service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    Now,
    /// The time that the disk idled does not count.
    IdlingBegan,
}
