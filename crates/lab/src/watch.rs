//! How long work is watched by its caller: progress is told, and an interruption asked for.

use std::sync::atomic::{AtomicBool, Ordering};

/// The caller's side of long work; every method may be called from several threads. `()` watches nothing, and an
/// [`AtomicBool`] interrupts once it is true.
pub trait Watch: Sync {
    /// So many runs begin. Some work finds more to do as it goes.
    fn begins(&self, _runs: usize) {}

    /// One of them has ended.
    fn step(&self) {}

    /// All have ended.
    fn ends(&self) {}

    /// Whether to stop: no further run begins, and the answer rests on the complete seeds.
    fn is_interrupted(&self) -> bool {
        false
    }
}

impl Watch for () {}

impl Watch for AtomicBool {
    fn is_interrupted(&self) -> bool {
        self.load(Ordering::Relaxed)
    }
}
