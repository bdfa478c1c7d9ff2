//! The schedulers, one folder each.

pub mod adios;
pub mod anticipatory;
pub mod bfq;
pub mod cfq;
pub mod deadline;
pub mod kyber;
pub mod linus;
pub mod mq_deadline;
mod nearer;
pub mod none;
pub mod noop;
mod sorted_dispatch;
mod tags;
