//! mq-deadline's knobs, with sysfs's names and units.

use crate::kernel::{Kernels, V4_19, V5_15, V6_1};
use crate::time::Span;
use crate::tunables;

const MS: i64 = 1_000_000;
const INT_MAX: i64 = i32::MAX as i64;
const INT_MIN: i64 = i32::MIN as i64;

tunables! {
    /// mq-deadline's knobs.
    pub struct MqDeadlineTunables {
        /// How long a read may wait before the next batch of reads of its class starts with it. Checked between batches
        /// only.
        read_expire: Span [Ms] = Span::from_ms(500), 0..=INT_MAX * MS, Kernels::since(V4_19),
            sweep [50 * MS, 100 * MS, 250 * MS, 500 * MS];
        /// How long a write may wait before the next batch of writes of its class starts with it.
        write_expire: Span [Ms] = Span::from_ms(5000), 0..=INT_MAX * MS, Kernels::since(V4_19),
            sweep [500 * MS, 1000 * MS, 5000 * MS];
        /// How often in a row a batch of reads may pass over waiting writes.
        writes_starved: i32 [Times] = 2, INT_MIN..=INT_MAX, Kernels::since(V4_19), sweep [1, 2, 4, 8, 16];
        /// The number of requests in a batch, after which the direction is chosen again.
        fifo_batch: i32 [Requests] = 16, 0..=INT_MAX, Kernels::since(V4_19), sweep [1, 8, 16, 32, 64];
        /// Whether to search for a queued request that starts where a bio ends. With 0 the bio may still join the
        /// request merged last.
        front_merges: bool [Switch] = true, 0..=1, Kernels::since(V4_19), sweep [0, 1];
        /// How long a request of a lower priority class may wait before it goes ahead of higher classes.
        prio_aging_expire: Span [Ms] = Span::from_ms(10_000), 0..=INT_MAX * MS, Kernels::since(V6_1),
            sweep [100 * MS, 1000 * MS, 10_000 * MS];
        /// How many of the queue's requests may be other than reads. By default `nr_requests`: all of them; in 5.15
        /// three quarters, which limit nothing. Since 7.x an attribute of the queue.
        async_depth: i32 [Requests] = 256, 1..=INT_MAX, Kernels::since(V5_15), sweep [64, 128, 192, 256];
    }
}
