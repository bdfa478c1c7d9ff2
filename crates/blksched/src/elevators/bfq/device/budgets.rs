//! The greatest budget: the amount the device transfers within `timeout_sync`.
//!
//! **Rule** Until enough budgets have been assigned, the greatest is 16,384 sectors; a new queue's first budget and the
//! least budget are fractions of it.
//! **Origin** docs/behaviour/elevators-6.1.md#b3 and #b13.
//! **In the kernel** `bfq_max_budget`, `bfq_min_budget`, `bfq_calc_max_budget`, `budgets_assigned`,
//! `bfq_default_max_budget`, `timeout_sync`.

use crate::elevators::bfq::device::known::{DEFAULT_MAX, Device};

/// How many budgets must have been assigned, as a decaying average with the limit 256.
const VALID: i64 = 194;

impl Device {
    pub(crate) fn budgets_are_valid(&self) -> bool {
        self.budgets_assigned >= VALID
    }

    /// Counts the budget of a slice that begins.
    pub(crate) fn count_budget(&mut self) {
        self.budgets_assigned = (7 * self.budgets_assigned + 256) / 8;
    }

    pub(crate) fn usual_max_budget(&self) -> i64 {
        if self.budgets_are_valid() { self.max_budget } else { DEFAULT_MAX }
    }

    /// The first budget of a new queue.
    pub(crate) fn first_budget(&self) -> i64 {
        2 * self.usual_max_budget() / 3
    }

    pub(crate) fn min_budget(&self) -> i64 {
        self.usual_max_budget() / 32
    }

    /// Recomputes the greatest budget. `knob`: the user's value \[sectors\]; 0: the amount that the device transfers in
    /// `timeout_ms`.
    pub(crate) fn recompute_max_budget(&mut self, knob: i64, timeout_ms: u64) {
        self.max_budget = if knob == 0 { self.rate.sectors_in_ms(timeout_ms) } else { knob };
    }
}
