//! The schedulers, one folder each.

pub mod adios;
pub mod anticipatory;
pub mod bfq;
mod by_sector;
pub mod cfq;
pub mod deadline;
mod hz;
mod ioprio;
pub mod kyber;
pub mod linus;
pub mod mq_deadline;
mod nearer;
mod newest;
mod next_request;
pub mod none;
pub mod noop;
mod sorted_dispatch;
mod tags;
