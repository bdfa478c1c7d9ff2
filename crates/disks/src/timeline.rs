//! Future events, by time; equal times in the order in which they became known.

use std::collections::VecDeque;

use blksched::Instant;

/// Most insertions are this close to the end.
const NEAR: usize = 8;

/// Events in order of time. Most are added last, so a sorted ring beats a heap.
#[derive(Clone, Debug)]
pub(crate) struct Timeline<T> {
    ring: VecDeque<(Instant, T)>,
}

impl<T: Copy> Timeline<T> {
    pub(crate) fn with_capacity(capacity: usize) -> Timeline<T> {
        Timeline { ring: VecDeque::with_capacity(capacity) }
    }

    #[inline]
    pub(crate) fn add(&mut self, at: Instant, event: T) {
        if self.ring.back().is_none_or(|last| last.0 <= at) {
            self.ring.push_back((at, event));
        } else {
            self.insert(at, event);
        }
    }

    /// Inserts an event that is not the last.
    #[cold]
    fn insert(&mut self, at: Instant, event: T) {
        let mut place = self.ring.len();
        let near = place.saturating_sub(NEAR);
        while place > near && self.ring[place - 1].0 > at {
            place -= 1;
        }
        match place {
            place if place > near || place == 0 => self.ring.insert(place, (at, event)),
            _ => self.ring.insert(self.ring.partition_point(|other| other.0 <= at), (at, event)),
        }
    }

    /// The earliest time, or never.
    pub(crate) fn next(&self) -> Instant {
        self.ring.front().map_or(Instant::NEVER, |event| event.0)
    }

    /// The earliest.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<(Instant, T)> {
        self.ring.pop_front()
    }
}
