//! linus's knobs, with the names that `elvtune` had (`-r`, `-w`, `-b`). They count requests that pass by, not time.

use crate::kernel::{Kernel, Kernels};
use crate::tunables;

const V2_4: Kernel = Kernel::new(2, 4, 0);
/// The kernel that the patch is for.
pub(super) const V2_4_20: Kernel = Kernel::new(2, 4, 20);
const V2_5_38: Kernel = Kernel::new(2, 5, 38);
const INT_MAX: i64 = i32::MAX as i64;

tunables! {
    /// linus's knobs.
    pub struct LinusTunables {
        /// How much a read may be passed before no request is inserted before it any more: 16 per request inserted
        /// before it and 1 per buffer that joins one there (2.4.21), or 1 per search and 1 per sector (2.4.18, 2.5.38).
        read_latency: i32 [Times] = 2048, 0..=INT_MAX, Kernels::between(V2_4, V2_5_38), sweep [0, 512, 2048, 8192];
        /// The same for a write.
        write_latency: i32 [Times] = 8192, 0..=INT_MAX, Kernels::between(V2_4, V2_5_38), sweep [0, 2048, 8192, 16384];
        /// How many writes at the head of the list a lone read stays behind, in cost: 1 per write and 1 per 32 KiB of
        /// it. Only with `+read-latency2`; 0 switches the jump off. (Plain 2.4 has it, always 0 and without effect.)
        max_bomb_segments: i32 [Times] = 6, 0..=INT_MAX, Kernels::between(V2_4_20, V2_4_20), sweep [0, 1, 6, 32];
    }
}
