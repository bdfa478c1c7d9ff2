//! The duration of submissions: an I/O is accepted when the system call that submitted it returns, so a whole batch at
//! once, including those beside one that slept for a request slot (docs/behaviour/fio-reaping.md#3).

use std::collections::BTreeMap;
use std::ops::Range;

use blksched::{Instant, Tag};

/// Submissions that took time.
#[derive(Clone, Debug, Default)]
pub(super) struct Slept {
    /// The tags of the last call.
    call: Range<u64>,
    /// Whether it slept.
    slept: bool,
    /// When the in-flight I/Os whose call slept were accepted.
    accepted: BTreeMap<u64, Instant>,
}

impl Slept {
    /// A call begins.
    pub fn begin(&mut self) {
        (self.call, self.slept) = (0..0, false);
    }

    /// It also submits this one.
    pub fn submitted(&mut self, tag: u64) {
        self.call = if self.call.is_empty() { tag..tag + 1 } else { self.call.start..tag + 1 };
    }

    /// Begins a call that submits this I/O and no other.
    #[inline]
    pub fn alone(&mut self, tag: u64) {
        (self.call, self.slept) = (tag..tag + 1, false);
    }

    /// It sleeps.
    pub fn sleeps(&mut self) {
        self.slept = true;
    }

    /// It returns.
    pub fn over(&mut self, now: Instant) {
        if self.slept {
            self.accepted.extend(self.call.clone().map(|tag| (tag, now)));
        }
    }

    /// When this one was accepted, unless that was when it was submitted. May be asked once.
    #[inline]
    pub fn accepted(&mut self, tag: Tag) -> Option<Instant> {
        // Usually none sleeps.
        if self.accepted.is_empty() { None } else { self.accepted.remove(&tag.0) }
    }
}
