//! ADIOS's knobs that are numbers, with sysfs's names and units. The others are in `store`.

use crate::kernel::{Kernel, Kernels};
use crate::time::Span;
use crate::tunables;

pub(super) const V6_18: Kernel = Kernel::new(6, 18, 0);
const MS: i64 = 1_000_000;
const MAX: i64 = i64::MAX;

tunables! {
    /// ADIOS's knobs. (Where the kernel accepts any 64-bit number, the lower half is accepted here.)
    pub struct AdiosTunables {
        /// A batch is filled up to this predicted load in flight. 16 ms; 22 ms on rotating disks.
        global_latency_window: Span [Ns] = Span::from_ms(16), 0..=MAX, Kernels::since(V6_18),
            sweep [MS, 4 * MS, 16 * MS, 22 * MS, 96 * MS];
        /// The next batch is filled once the load in flight is below this part of the window.
        bq_refill_below_ratio: u32 [Percent] = 20, 0..=100, Kernels::since(V6_18), sweep [0, 20, 50, 100];
        /// Latencies above this are not used as samples.
        lat_model_latency_limit: Span [Ns] = Span::from_ms(500), 0..=2000 * MS, Kernels::since(V6_18),
            sweep [10 * MS, 500 * MS, 2000 * MS];
        /// 0: a batch is served by kind, each by deadline; 1, on rotating disks only: asynchronous requests by sector.
        batch_order: u32 [Choice] = 0, 0..=1, Kernels::since(V6_18), sweep [0, 1];
        /// Bit 0: deadlines do not include the predicted cost of a request.
        compliance_flags: u64 [Choice] = 0, 0..=MAX, Kernels::since(V6_18), sweep [0, 1];
        /// The greatest number of reads in a batch.
        batch_limit_read: u32 [Requests] = 36, 1..=u32::MAX as i64, Kernels::since(V6_18), sweep [4, 16, 36, 72];
        /// The greatest number of writes in a batch.
        batch_limit_write: u32 [Requests] = 72, 1..=u32::MAX as i64, Kernels::since(V6_18), sweep [4, 16, 36, 72];
        /// The greatest number of discards in a batch; without effect, because discards are never in one.
        batch_limit_discard: u32 [Requests] = 1, 1..=u32::MAX as i64, Kernels::since(V6_18), sweep [1];
        /// How long after its arrival a read is due. Writing it resets the model of reads.
        lat_target_read: Span [Ns] = Span::from_ms(2), 0..=MAX, Kernels::since(V6_18), sweep [MS, 2 * MS, 20 * MS];
        /// How long after its arrival an asynchronous write is due. Writing it resets the model of writes.
        lat_target_write: Span [Ns] = Span::from_ms(2000), 0..=MAX, Kernels::since(V6_18),
            sweep [20 * MS, 200 * MS, 2000 * MS];
        /// How long after its arrival a discard is due; without effect, because discards are barriers.
        lat_target_discard: Span [Ns] = Span::from_ms(8000), 0..=MAX, Kernels::since(V6_18), sweep [8000 * MS];
        /// From this many thousand samples on, a model's sums shrink when it is updated.
        shrink_at_kreqs: u32 [Choice] = 5000, 1..=100_000, Kernels::since(V6_18), sweep [1, 5000];
        /// From this many GiB on, a model's sums shrink when it is updated.
        shrink_at_gbytes: u32 [Choice] = 50, 1..=1000, Kernels::since(V6_18), sweep [1, 50];
        /// Sums shrink by one part in 2^N, where N is this number.
        shrink_resist: u32 [Choice] = 2, 1..=3, Kernels::since(V6_18), sweep [1, 2, 3];
        /// How little reads are charged for being taken out of order, as a nice value.
        read_priority: i32 [Choice] = 8, -20..=19, Kernels::since(V6_18), sweep [-20, 0, 8, 19];
    }
}

impl AdiosTunables {
    /// Whether deadlines include the predicted cost of a request.
    pub(super) fn counts_predictions(&self) -> bool {
        self.compliance_flags & 1 == 0
    }

    /// The load below which the next batch is filled \[ns\].
    pub(super) fn refill_below(&self) -> u64 {
        self.global_latency_window.as_ns().wrapping_mul(u64::from(self.bq_refill_below_ratio)) / 100
    }
}
