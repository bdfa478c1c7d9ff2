//! A queue's next budget, depending on how its slice ended.
//!
//! **Rule** Used up → four times as much; out of time → twice; idled in vain → four minimum budgets less; no requests
//! left → the amount used. Never more than the greatest budget.
//! **Origin** docs/behaviour/elevators-6.1.md#b3.
//! **In the kernel** `__bfq_bfqq_recalc_budget`.

use crate::elevators::bfq::state::slice_end::Why;

/// What a queue's next budget depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Feedback {
    pub(crate) assigned: i64,
    pub(crate) served: i64,
    pub(crate) least: i64,
    pub(crate) most: i64,
    pub(crate) in_device: bool,
}

/// The next budget of a queue of synchronous requests.
pub(crate) fn after(slice: Why, at: Feedback) -> i64 {
    let Feedback { assigned, served, least, most, in_device } = at;
    match slice {
        // Its process may be waiting for these very requests, so it was not slow by itself.
        Why::IdledInVain if in_device => (2 * assigned).min(most),
        // It has little to do: with a smaller budget its finish time is earlier, so it is served sooner when it
        // returns.
        Why::IdledInVain if assigned > 5 * least => assigned - 4 * least,
        Why::IdledInVain => least,
        // No source says why a queue that could not use up its budget is given a larger one. It is charged for its time
        // nevertheless (`steps/expire.rs`).
        Why::OutOfTime | Why::Gone => (2 * assigned).min(most),
        // It could have used more, and with larger budgets the disk changes position less often.
        Why::OutOfBudget | Why::IdleClass => (4 * assigned).min(most),
        Why::NothingQueued => served.max(least),
        Why::Preempted(_) => assigned,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Feedback = Feedback { assigned: 4096, served: 1000, least: 512, most: 16_384, in_device: false };

    #[test]
    fn a_queue_that_uses_its_budget_up_gets_four_times_as_much_within_the_greatest() {
        assert_eq!(after(Why::OutOfBudget, AT), 16_384);
        assert_eq!(after(Why::OutOfBudget, Feedback { assigned: 8192, ..AT }), 16_384);
        assert_eq!(after(Why::OutOfTime, AT), 8192);
    }

    #[test]
    fn a_queue_idled_for_in_vain_gets_less_unless_the_disk_still_has_its_requests() {
        assert_eq!(after(Why::IdledInVain, AT), 2048);
        assert_eq!(after(Why::IdledInVain, Feedback { assigned: 2560, ..AT }), 512);
        assert_eq!(after(Why::IdledInVain, Feedback { in_device: true, ..AT }), 8192);
    }

    #[test]
    fn a_queue_with_nothing_left_gets_what_it_used() {
        assert_eq!(after(Why::NothingQueued, AT), 1000);
        assert_eq!(after(Why::NothingQueued, Feedback { served: 8, ..AT }), 512);
    }
}
