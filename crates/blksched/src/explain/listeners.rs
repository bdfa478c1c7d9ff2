//! The simplest listeners: one that ignores everything, and one that keeps everything.

use alloc::vec::Vec;

use super::{Listener, Reason};
use crate::time::Instant;

/// There is no listener.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoListener;

impl Listener for NoListener {
    fn hear(&mut self, _at: Instant, _reason: Reason) {}

    fn is_listening(&self) -> bool {
        false
    }
}

/// Keeps everything; for tests and replays.
impl Listener for Vec<(Instant, Reason)> {
    fn hear(&mut self, at: Instant, reason: Reason) {
        self.push((at, reason));
    }
}
