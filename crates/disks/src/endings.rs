//! Commands whose end is known, by time; equal times end in the order in which they became known.

use std::collections::VecDeque;

use blksched::Instant;

use crate::Finished;

/// One known end, and what the model wants back with it.
#[derive(Clone, Copy, Debug)]
struct Ending<T> {
    finished: Finished,
    with: T,
}

/// Known ends in order of time. Most are added last, so a sorted ring beats a heap.
#[derive(Clone, Debug)]
pub(crate) struct Endings<T> {
    ring: VecDeque<Ending<T>>,
}

impl<T: Copy> Endings<T> {
    pub(crate) fn with_capacity(capacity: usize) -> Endings<T> {
        Endings { ring: VecDeque::with_capacity(capacity) }
    }

    pub(crate) fn add(&mut self, finished: Finished, with: T) {
        let ending = Ending { finished, with };
        if self.ring.back().is_none_or(|last| last.finished.at <= finished.at) {
            self.ring.push_back(ending);
        } else {
            let at = self.ring.partition_point(|other| other.finished.at <= finished.at);
            self.ring.insert(at, ending);
        }
    }

    /// The earliest.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.ring.front().map(|ending| ending.finished.at)
    }

    /// The earliest, if it has come.
    pub(crate) fn take(&mut self, now: Instant) -> Option<(Finished, T)> {
        if self.next()? > now {
            return None;
        }
        let ending = self.ring.pop_front()?;
        Some((ending.finished, ending.with))
    }
}
