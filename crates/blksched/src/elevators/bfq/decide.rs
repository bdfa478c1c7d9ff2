//! BFQ's decisions, as pure functions of small views. Nothing here knows the elevator.

pub(crate) mod feedback;
pub(crate) mod pace;
pub(crate) mod select;
