//! The schedulers, one folder each.

pub mod deadline;
pub mod noop;
