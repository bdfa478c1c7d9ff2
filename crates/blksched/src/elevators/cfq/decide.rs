//! CFQ's decisions, as pure functions of small views. Nothing here knows the elevator.

pub(crate) mod async_ramp;
pub(crate) mod async_share;
pub(crate) mod boost;
pub(crate) mod charge;
pub(crate) mod depth;
pub(crate) mod idle_window;
pub(crate) mod preempt;
pub(crate) mod select;
pub(crate) mod slice_length;
