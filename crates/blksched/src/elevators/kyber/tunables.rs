//! Kyber's knobs, with sysfs's names and units.

use crate::kernel::{Kernel, Kernels};
use crate::time::Span;
use crate::tunables;

pub(super) const V6_1: Kernel = Kernel::new(6, 1, 0);
const MS: i64 = 1_000_000;
/// 68 years; the kernel accepts any 64-bit number.
const LONGEST: i64 = i32::MAX as i64 * 1000 * MS;

tunables! {
    /// Kyber's knobs.
    pub struct KyberTunables {
        /// The latency target of reads. If almost all reads take longer in total, more of them may be in flight; if the
        /// requests of some domain take longer than its target in the device, fewer of the others may be.
        read_lat_nsec: Span [Ns] = Span::from_ms(2), 0..=LONGEST, Kernels::since(V6_1),
            sweep [MS / 2, MS, 2 * MS, 5 * MS, 10 * MS];
        /// The latency target of writes, likewise.
        write_lat_nsec: Span [Ns] = Span::from_ms(10), 0..=LONGEST, Kernels::since(V6_1),
            sweep [MS, 5 * MS, 10 * MS, 50 * MS];
    }
}
