//! What happens inside the disk, by time; equal times in the order in which they became known.

use std::collections::VecDeque;

use blksched::Instant;

/// Events in order of time. Most are added last, so a sorted ring beats a heap.
#[derive(Clone, Debug)]
pub(super) struct Timeline<T> {
    ring: VecDeque<(Instant, T)>,
}

impl<T: Copy> Timeline<T> {
    pub(super) fn with_capacity(capacity: usize) -> Timeline<T> {
        Timeline { ring: VecDeque::with_capacity(capacity) }
    }

    pub(super) fn add(&mut self, at: Instant, event: T) {
        if self.ring.back().is_none_or(|last| last.0 <= at) {
            self.ring.push_back((at, event));
        } else {
            let place = self.ring.partition_point(|other| other.0 <= at);
            self.ring.insert(place, (at, event));
        }
    }

    /// The earliest's moment, or never.
    pub(super) fn next(&self) -> Instant {
        self.ring.front().map_or(Instant::NEVER, |event| event.0)
    }

    /// The earliest.
    pub(super) fn take(&mut self) -> Option<(Instant, T)> {
        self.ring.pop_front()
    }
}
