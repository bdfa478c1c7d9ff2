//! The current idling, or the last one.
//!
//! **Origin** docs/behaviour/elevators-6.1.md#b11.
//! **In the kernel** `idle_slice_timer`, `last_idling_start`.

use crate::time::Instant;

/// The current idling, or the last one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Idling {
    /// When it ends, while the disk idles.
    pub(crate) until: Option<Instant>,
    pub(crate) since_ns: u64,
}
