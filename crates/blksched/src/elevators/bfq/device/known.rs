//! What BFQ knows about the device.
//!
//! **In the kernel** the fields of `bfq_data` that are about the device: `hw_tag`, `tot_rq_in_driver`, `last_position`.

use super::ncq::Ncq;
use super::peak_rate::PeakRate;
use crate::elevators::bfq::rules::Queueing;
use crate::request::Sector;

/// The greatest budget until enough slices have been seen \[sectors\].
pub(crate) const DEFAULT_MAX: i64 = 16_384;

/// What BFQ knows about the device.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub(crate) rate: PeakRate,
    pub(crate) ncq: Ncq,
    /// \[sectors\]
    pub(crate) max_budget: i64,
    pub(crate) budgets_assigned: i64,
    /// The number of requests in the device.
    pub(crate) in_device: u32,
    /// The end of the last request that went to it.
    pub(crate) last_position: Sector,
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
}
