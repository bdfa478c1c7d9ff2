//! What BFQ knows about the device: its rate, whether it queues, and the greatest budget, which is the amount that it
//! transfers within `timeout_sync`.
//!
//! **Rule** Until enough budgets have been assigned, the greatest is 16,384 sectors; a new queue's first budget and the
//! least budget are fractions of it.
//! **Origin** docs/behaviour/elevators-6.1.md#b3 and #b13.
//! **In the kernel** the fields of `bfq_data` that are about the device: `hw_tag`, `tot_rq_in_driver`, `last_position`,
//! `bfq_max_budget`, `budgets_assigned`; and `bfq_min_budget`, `bfq_calc_max_budget`, `bfq_default_max_budget`,
//! `timeout_sync`.

use super::ncq::Ncq;
use super::peak_rate::PeakRate;
use crate::elevators::bfq::rules::Queueing;
use crate::request::Sector;

/// The greatest budget until enough slices have been seen \[sectors\].
const DEFAULT_MAX: i64 = 16_384;

/// How many budgets must have been assigned, as a decaying average with the limit 256.
const VALID: i64 = 194;

/// What BFQ knows about the device.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub(crate) rate: PeakRate,
    pub(crate) ncq: Ncq,
    max_budget: i64,
    budgets_assigned: i64,
    /// The number of requests in the device.
    in_device: u32,
    /// The end of the last request that went to it.
    last_position: Sector,
}

impl Device {
    pub(crate) fn new(rotational: bool, queueing: Queueing) -> Device {
        Device {
            rate: PeakRate::new(rotational),
            ncq: Ncq::new(rotational, queueing),
            max_budget: DEFAULT_MAX,
            budgets_assigned: 0,
            in_device: 0,
            last_position: Sector(0),
        }
    }
    /// The number of requests in the device.
    #[inline]
    pub(crate) fn in_device(&self) -> u32 {
        self.in_device
    }

    /// A request goes to the device.
    #[inline(always)]
    pub(crate) fn sent(&mut self) {
        self.in_device += 1;
    }

    /// A request comes back.
    #[inline(always)]
    pub(crate) fn returned(&mut self) {
        self.in_device -= 1;
    }

    /// The end of the last request that went to it.
    #[inline(always)]
    pub(crate) fn last_position(&self) -> Sector {
        self.last_position
    }

    #[inline(always)]
    pub(crate) fn move_to(&mut self, position: Sector) {
        self.last_position = position;
    }

    /// The greatest budget \[sectors\].
    #[inline]
    pub(crate) fn max_budget(&self) -> i64 {
        self.max_budget
    }

    pub(crate) fn budgets_are_valid(&self) -> bool {
        self.budgets_assigned >= VALID
    }

    /// Counts the budget of a slice that begins.
    pub(crate) fn count_budget(&mut self) {
        self.budgets_assigned = (7 * self.budgets_assigned + 256) / 8;
    }

    fn usual_max_budget(&self) -> i64 {
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
