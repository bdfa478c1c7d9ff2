//! BFQ's state of queues and processes. Nothing here knows the elevator.

pub(crate) mod arrival;
pub(crate) mod birth;
pub(crate) mod burst;
pub(crate) mod context;
pub(crate) mod habits;
pub(crate) mod idling;
pub(crate) mod injection;
pub(crate) mod positions;
pub(crate) mod queue;
pub(crate) mod raising;
pub(crate) mod sharing;
pub(crate) mod slice;
pub(crate) mod slice_end;
pub(crate) mod waking;
