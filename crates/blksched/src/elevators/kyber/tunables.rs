//! Kyber's knobs, with sysfs's names and units.

use crate::kernel::{Kernels, V4_19, V7_3};
use crate::time::Span;
use crate::tunables;

const MS: i64 = 1_000_000;
/// 68 years; the kernel accepts any 64-bit number.
const LONGEST: i64 = i32::MAX as i64 * 1000 * MS;

tunables! {
    /// Kyber's knobs.
    pub struct KyberTunables {
        /// The latency target of reads. If almost all reads take longer in total, more of them may be in flight; if the
        /// requests of some domain take longer than its target in the device, fewer of the others may be.
        read_lat_nsec: Span [Ns] = Span::from_ms(2), 0..=LONGEST, Kernels::since(V4_19),
            sweep [MS / 2, MS, 2 * MS, 5 * MS, 10 * MS];
        /// The latency target of writes, likewise.
        write_lat_nsec: Span [Ns] = Span::from_ms(10), 0..=LONGEST, Kernels::since(V4_19),
            sweep [MS, 5 * MS, 10 * MS, 50 * MS];
        /// How many of the queue's requests may be other than reads. An attribute of the queue; by default three
        /// quarters of `nr_requests`.
        async_depth: u32 [Requests] = 192, 1..=i32::MAX as i64, Kernels::since(V7_3), sweep [64, 128, 192, 256];
    }
}
