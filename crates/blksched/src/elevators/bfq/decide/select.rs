//! The decision whether the in-service queue keeps the disk.
//!
//! **Rule** see [`choose`] and the README's picture.
//! **Origin** docs/behaviour/elevators-6.1.md#b7.
//! **In the kernel** `bfq_select_queue`.

use crate::elevators::bfq::state::slice_end::Why;

/// The inputs of the decision: the queue in service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecisionInputs {
    pub(crate) has_next: bool,
    /// Whether its next request fits into the rest of its budget.
    pub(crate) fits: bool,
    /// Whether the disk is being left idle for it.
    pub(crate) waits: bool,
    /// Whether the device has requests of it and idling is better than serving others.
    pub(crate) worth_waiting: bool,
}

/// The decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The slice continues.
    Serve,
    /// It keeps the disk, but a request of another queue may be dispatched meanwhile.
    Inject,
    /// The slice ends.
    Expire(Why),
}

pub(crate) fn choose(at: DecisionInputs) -> Decision {
    match at {
        DecisionInputs { has_next: true, fits: true, .. } => Decision::Serve,
        DecisionInputs { has_next: true, fits: false, .. } => Decision::Expire(Why::OutOfBudget),
        // It keeps the disk, as otherwise its share would go to whichever queue has requests at this moment.
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
