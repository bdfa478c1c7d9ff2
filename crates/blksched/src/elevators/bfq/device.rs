//! Knowledge of the device: its speed, whether it queues commands itself, the requests it has, and the resulting
//! greatest budget.
//!
//! Nothing here depends on queues or the elevator.

pub(crate) mod ncq;
pub(crate) mod peak_rate;

mod known;
pub(crate) use known::Device;
