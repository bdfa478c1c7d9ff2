//! The schedulers, one folder each.

pub mod anticipatory;
pub mod cfq;
pub mod deadline;
pub mod noop;
mod sorted_dispatch;
