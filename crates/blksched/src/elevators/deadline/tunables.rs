//! deadline's knobs, with sysfs's names and units.

use crate::kernel::{Kernel, Kernels};
use crate::time::Span;
use crate::tunables;

const V2_5_38: Kernel = Kernel::new(2, 5, 38);
const V2_5_45: Kernel = Kernel::new(2, 5, 45);
const V2_6: Kernel = Kernel::new(2, 6, 0);
const MS: i64 = 1_000_000;
const INT_MAX: i64 = i32::MAX as i64;
const INT_MIN: i64 = i32::MIN as i64;

tunables! {
    /// deadline's knobs.
    pub struct DeadlineTunables {
        /// How long a read may wait before the next batch of reads starts with it. Checked between batches only.
        read_expire: Span [Ms] = Span::from_ms(500), 0..=INT_MAX * MS, Kernels::since(V2_5_38),
            sweep [50 * MS, 100 * MS, 200 * MS, 300 * MS, 400 * MS, 500 * MS];
        /// How long a write may wait before the next batch of writes starts with it. In 2.5 writes never expire.
        write_expire: Span [Ms] = Span::from_ms(5000), 0..=INT_MAX * MS, Kernels::since(V2_6),
            sweep [500 * MS, 1000 * MS, 5000 * MS];
        /// The size of a batch, after which the direction is chosen again: in requests since 2.6, in cost in 2.5 (1 for
        /// a contiguous request, `seek_cost` for any other).
        fifo_batch: i32 [Requests] = 16, 0..=INT_MAX, Kernels::since(V2_5_38), sweep [1, 8, 16, 32, 64];
        /// The cost to a batch of a request that does not continue the one before it.
        seek_cost: i32 [Cost] = 16, 0..=INT_MAX, Kernels::between(V2_5_38, V2_5_45), sweep [1, 4, 16, 32];
        /// How often in a row a batch of reads may pass over waiting writes.
        writes_starved: i32 [Times] = 2, INT_MIN..=INT_MAX, Kernels::since(V2_5_38), sweep [1, 2, 4, 8, 16];
        /// Whether to search for a queued request that starts where a bio ends. With 0 the bio may still join the
        /// request merged last.
        front_merges: bool [Switch] = true, 0..=1, Kernels::since(V2_6), sweep [0, 1];
    }
}
