//! The units of io.cost.
//!
//! **In the kernel** `VTIME_PER_SEC`, `VTIME_PER_USEC`, `WEIGHT_ONE`.

#![doc(alias = "VTIME_PER_SEC")]
#![doc(alias = "VTIME_PER_USEC")]
#![doc(alias = "WEIGHT_ONE")]

/// Virtual time per second.
pub const VTIME_PER_S: u64 = 1 << 37;
/// Virtual time per microsecond at a vrate of 100 %.
pub const VTIME_PER_US: u64 = VTIME_PER_S / 1_000_000;
/// The whole of the device, as a share; also what weights are scaled by.
pub const WHOLE: u64 = 1 << 16;
