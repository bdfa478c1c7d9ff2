//! The steps of the decision: does the in-service queue keep the disk?
//!
//! **Rule** see [`choose`] and the README's picture.
//! **Origin** docs/behaviour/elevators-6.1.md#b7.
//! **In the kernel** `bfq_select_queue`.

#![doc(alias = "bfq_select_queue")]

use crate::elevators::bfq::state::turn_end::Why;

/// What the ladder looks at: the queue in service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecisionInputs {
    pub(crate) has_next: bool,
    /// Its next request fits into what is left of its budget.
    pub(crate) fits: bool,
    /// The disk is being left idle for it.
    pub(crate) waits: bool,
    /// The device has requests of it, and idling is better than going on.
    pub(crate) worth_waiting: bool,
}

/// A rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Its slice goes on.
    Serve,
    /// The disk is its own, but a request of another queue may go meanwhile.
    Inject,
    /// Its slice ends.
    Expire(Why),
}

pub(crate) fn choose(at: DecisionInputs) -> Decision {
    match at {
        DecisionInputs { has_next: true, fits: true, .. } => Decision::Serve,
        DecisionInputs { has_next: true, fits: false, .. } => Decision::Expire(Why::OutOfBudget),
        // It keeps the disk, or its share would go to any queue that has something queued just now.
        DecisionInputs { waits: true, .. } | DecisionInputs { worth_waiting: true, .. } => Decision::Inject,
        _ => Decision::Expire(Why::NothingQueued),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: DecisionInputs = DecisionInputs { has_next: false, fits: false, waits: false, worth_waiting: false };

    #[test]
    fn a_queue_keeps_the_disk_as_long_as_its_budget_lasts() {
        let next = DecisionInputs { has_next: true, ..EMPTY };
        assert_eq!(choose(DecisionInputs { fits: true, ..next }), Decision::Serve);
        assert_eq!(choose(next), Decision::Expire(Why::OutOfBudget));
    }

    #[test]
    fn an_empty_queue_keeps_it_only_if_it_is_waited_for() {
        assert_eq!(choose(EMPTY), Decision::Expire(Why::NothingQueued));
        assert_eq!(choose(DecisionInputs { waits: true, ..EMPTY }), Decision::Inject);
        assert_eq!(choose(DecisionInputs { worth_waiting: true, ..EMPTY }), Decision::Inject);
    }
}
