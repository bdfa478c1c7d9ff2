//! Kyber's knobs, with sysfs's names and units.

use crate::kernel::{Kernel, Kernels};
use crate::time::Span;
use crate::tunables;

pub(super) const V6_1: Kernel = Kernel::new(6, 1, 0);
const MS: i64 = 1_000_000;
/// 68 years; a kernel takes any number of 64 bits.
const LONGEST: i64 = i32::MAX as i64 * 1000 * MS;

tunables! {
    /// Kyber's knobs.
    pub struct KyberTunables {
        /// How long a read may take. When nearly all reads take longer in all, more of them may be in flight; when
        /// some domain's requests take longer in the device, fewer of the others'.
        read_lat_nsec: Span [Ns] = Span::from_ms(2), 0..=LONGEST, Kernels::since(V6_1),
            sweep [MS / 2, MS, 2 * MS, 5 * MS, 10 * MS];
        /// How long a write may take, likewise.
        write_lat_nsec: Span [Ns] = Span::from_ms(10), 0..=LONGEST, Kernels::since(V6_1),
            sweep [MS, 5 * MS, 10 * MS, 50 * MS];
    }
}
