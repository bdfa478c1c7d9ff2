//! ADIOS's knobs that are numbers, with sysfs's names and units. The others are in `store`.

use crate::kernel::{Kernel, Kernels};
use crate::time::Span;
use crate::tunables;

pub(super) const V6_18: Kernel = Kernel::new(6, 18, 0);
const MS: i64 = 1_000_000;
const MAX: i64 = i64::MAX;

tunables! {
    /// ADIOS's knobs. (Where a kernel takes any number of 64 bits, half of them are taken here.)
    pub struct AdiosTunables {
        /// A batch is filled up to this much predicted time under way. 16 ms; 22 ms on disks that turn.
        global_latency_window: Span [Ns] = Span::from_ms(16), 0..=MAX, Kernels::since(V6_18),
            sweep [MS, 4 * MS, 16 * MS, 22 * MS, 96 * MS];
        /// The next batch is prepared once less than this part of the window is under way.
        bq_refill_below_ratio: u32 [Percent] = 20, 0..=100, Kernels::since(V6_18), sweep [0, 20, 50, 100];
        /// What takes longer teaches nothing.
        lat_model_latency_limit: Span [Ns] = Span::from_ms(500), 0..=2000 * MS, Kernels::since(V6_18),
            sweep [10 * MS, 500 * MS, 2000 * MS];
        /// 0: a batch is served by kind, each by deadline; 1, on disks that turn only: asynchronous requests by sector.
        batch_order: u32 [Choice] = 0, 0..=1, Kernels::since(V6_18), sweep [0, 1];
        /// Bit 0: deadlines do not count what a request is predicted to cost.
        compliance_flags: u64 [Choice] = 0, 0..=MAX, Kernels::since(V6_18), sweep [0, 1];
        /// The most reads of a batch.
        batch_limit_read: u32 [Requests] = 36, 1..=u32::MAX as i64, Kernels::since(V6_18), sweep [4, 16, 36, 72];
        /// The most writes of a batch.
        batch_limit_write: u32 [Requests] = 72, 1..=u32::MAX as i64, Kernels::since(V6_18), sweep [4, 16, 36, 72];
        /// The most discards of a batch; without effect, because no discard gets into one.
        batch_limit_discard: u32 [Requests] = 1, 1..=u32::MAX as i64, Kernels::since(V6_18), sweep [1];
        /// When a read is due. Writing it forgets what was learned of reads.
        lat_target_read: Span [Ns] = Span::from_ms(2), 0..=MAX, Kernels::since(V6_18), sweep [MS, 2 * MS, 20 * MS];
        /// When an asynchronous write is due. Writing it forgets what was learned of writes.
        lat_target_write: Span [Ns] = Span::from_ms(2000), 0..=MAX, Kernels::since(V6_18),
            sweep [20 * MS, 200 * MS, 2000 * MS];
        /// When a discard is due; without effect, because discards are barriers.
        lat_target_discard: Span [Ns] = Span::from_ms(8000), 0..=MAX, Kernels::since(V6_18), sweep [8000 * MS];
        /// From this many thousand samples on a model's sums shrink as it is renewed.
        shrink_at_kreqs: u32 [Choice] = 5000, 1..=100_000, Kernels::since(V6_18), sweep [1, 5000];
        /// From this many GiB on a model's sums shrink as it is renewed.
        shrink_at_gbytes: u32 [Choice] = 50, 1..=1000, Kernels::since(V6_18), sweep [1, 50];
        /// Sums shrink by one part in 2 to the power of this.
        shrink_resist: u32 [Choice] = 2, 1..=3, Kernels::since(V6_18), sweep [1, 2, 3];
        /// How little reads are charged for going out of turn, as a nice value.
        read_priority: i32 [Choice] = 8, -20..=19, Kernels::since(V6_18), sweep [-20, 0, 8, 19];
    }
}

impl AdiosTunables {
    /// Do deadlines count what a request is predicted to cost?
    pub(super) fn counts_predictions(&self) -> bool {
        self.compliance_flags & 1 == 0
    }

    /// The next batch is prepared below this load \[ns\].
    pub(super) fn refill_below(&self) -> u64 {
        self.global_latency_window.as_ns().wrapping_mul(u64::from(self.bq_refill_below_ratio)) / 100
    }
}
