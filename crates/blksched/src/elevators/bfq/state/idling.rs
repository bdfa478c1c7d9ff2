//! The idling that is on or was last.
//!
//! **Origin** docs/behaviour/elevators-6.1.md#b11.
//! **In the kernel** `idle_slice_timer`, `last_idling_start`.

#![doc(alias = "idle_slice_timer")]
#![doc(alias = "last_idling_start")]

use crate::time::Instant;

/// The idling that is on or was last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Idling {
    /// Until when.
    pub(crate) until: Option<Instant>,
    pub(crate) since_ns: u64,
}
