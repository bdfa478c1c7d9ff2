//! What is known of the device: how fast it is, whether it queues by itself, what it has, and the greatest budget that
//! follows.
//!
//! Nothing here knows queues or the elevator.

pub(crate) mod budgets;
pub(crate) mod ncq;
pub(crate) mod peak_rate;

mod known;
pub(crate) use known::Device;
