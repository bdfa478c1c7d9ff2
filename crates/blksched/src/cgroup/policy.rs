//! io.cost and io.latency between merging and slots: translates the queue's events for them.
//!
//! **In the kernel** `rq_qos_ops`.

#![doc(alias = "rq_qos_ops")]

mod io_cost;
mod io_latency;

pub use io_cost::IoCostPolicy;
pub use io_latency::IoLatencyPolicy;

use crate::request::Bio;

/// A bio's identifier while it has no request: its tag, and where the piece begins.
type Key = (u64, u64);

fn key(bio: &Bio) -> Key {
    (bio.tag.0, bio.start.0)
}
