//! The controllers of cgroup v2's `io` files, each as a pure state machine, by its kernel name.
//!
//! | file of a group | controller |
//! |---|---|
//! | `io.weight`, `io.cost.model`, `io.cost.qos` | [`blk_iocost`] |
//! | `io.latency` | [`blk_iolatency`] |
//! | `io.max` | [`blk_throttle`] |
//! | `io.prio.class` | [`blk_ioprio`] |
//!
//! **In the kernel** `blkcg`, `blkcg_policy`.

#![doc(alias = "blkcg")]
#![doc(alias = "blkcg_policy")]

pub mod blk_iocost;
pub mod blk_iolatency;
pub mod blk_ioprio;
pub mod blk_throttle;
pub mod files;
pub mod policy;
