//! Loops over runs and verdicts: which knobs are worth turning, and what a verdict depends on.

mod host_fits;
pub mod judge;
pub mod sensitivity;
pub mod targets;
pub mod tune;
