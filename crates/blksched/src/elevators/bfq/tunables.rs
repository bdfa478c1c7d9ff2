//! BFQ's knobs, with sysfs's names and units.
//!
//! **In the kernel** `iosched`.

use crate::kernel::{Kernel, Kernels, RHEL_8_3, V7_3};
use crate::time::{Jiffies, Span};
use crate::tunables;

const MS: i64 = 1_000_000;
const INT_MAX: i64 = i32::MAX as i64;
/// Strict guarantees need at least this much idling.
pub(crate) const STRICT_IDLE: Span = Span::from_ms(8);

tunables! {
    /// BFQ's knobs.
    pub struct BfqTunables {
        /// Age at which a synchronous request goes first when its queue's slice begins.
        fifo_expire_sync: Span [Ms] = Span::from_ms(125), 0..=INT_MAX * MS, Kernels::since(RHEL_8_3),
            sweep [50 * MS, 125 * MS, 500 * MS];
        /// Age at which write-back goes first when its queue's slice begins.
        fifo_expire_async: Span [Ms] = Span::from_ms(250), 0..=INT_MAX * MS, Kernels::since(RHEL_8_3),
            sweep [125 * MS, 250 * MS, 1000 * MS];
        /// How far behind the disk's position a request may be and still be chosen next.
        back_seek_max: u32 [Kib] = 16384, 0..=INT_MAX, Kernels::since(RHEL_8_3), sweep [0, 1024, 16384];
        /// The cost of a seek back, as a multiple of its distance.
        back_seek_penalty: u32 [Cost] = 2, 1..=INT_MAX, Kernels::since(RHEL_8_3), sweep [1, 2, 8];
        /// How long the disk waits for the next request of the queue in service. 0 turns idling off, and much of
        /// fairness with it. (`slice_idle_us` is the same in microseconds; here any time may have a fraction.)
        slice_idle: Span [Ms] = Span::from_ms(8), 0..=INT_MAX * MS, Kernels::since(RHEL_8_3),
            sweep [0, 2 * MS, 8 * MS, 16 * MS];
        /// The most that a queue is served in one slice. 0: the amount that the disk transfers in `timeout_sync`, as
        /// measured.
        max_budget: u32 [Sectors] = 0, 0..=INT_MAX, Kernels::since(RHEL_8_3), sweep [0, 1024, 16384];
        /// How long a queue may take to use up its budget. Rounded up to the kernel's tick.
        timeout_sync: Span [Ms] = Span::from_ms(124), MS..=INT_MAX * MS, Kernels::since(RHEL_8_3),
            sweep [50 * MS, 124 * MS, 300 * MS];
        /// One request at a time, and always idle: exact shares, whatever the cost in throughput.
        strict_guarantees: bool [Switch] = false, 0..=1, Kernels::since(RHEL_8_3), sweep [0, 1];
        /// Favours processes that start something, or that need little I/O but in time: interactive and soft real-time
        /// queues have their weights raised.
        low_latency: bool [Switch] = true, 0..=1, Kernels::since(RHEL_8_3), sweep [0, 1];
        /// How many of the queue's requests may be synchronous writes; write-back may have two thirds of that, and both
        /// half as many while a raised queue is busy. An attribute of the queue; by default three quarters of
        /// `nr_requests`.
        async_depth: u32 [Requests] = 192, 1..=INT_MAX, Kernels::since(V7_3), sweep [64, 128, 192, 256];
    }
}

impl BfqTunables {
    /// A kernel's defaults; one is a division of HZ that rounds down.
    pub(crate) fn defaults(kernel: Kernel, hz: u32) -> BfqTunables {
        let timeout_sync = Jiffies::new(hz).span(u64::from(hz / 8));
        BfqTunables { timeout_sync, ..BfqTunables::of(kernel) }
    }
}
