//! Loops over runs and verdicts: which knobs are worth turning, and what a verdict depends on.

pub mod judge;
pub mod sensitivity;
pub mod tune;
