//! Commands whose end is known, by time; equal times end in the order in which they became known.

use blksched::Instant;

use crate::Finished;
use crate::timeline::Timeline;

/// Known completion times in order, and what the model wants back with each.
#[derive(Clone, Debug)]
pub(crate) struct Endings<T> {
    ends: Timeline<(Finished, T)>,
}

impl<T: Copy> Endings<T> {
    pub(crate) fn with_capacity(capacity: usize) -> Endings<T> {
        Endings { ends: Timeline::with_capacity(capacity) }
    }

    #[inline]
    pub(crate) fn add(&mut self, finished: Finished, with: T) {
        self.ends.add(finished.at, (finished, with));
    }

    /// The earliest.
    pub(crate) fn next(&self) -> Option<Instant> {
        Some(self.ends.next()).filter(|&next| next != Instant::NEVER)
    }

    /// The earliest, if its time has come.
    #[inline]
    pub(crate) fn take(&mut self, now: Instant) -> Option<(Finished, T)> {
        if self.next()? > now {
            return None;
        }
        self.ends.take().map(|(_, ending)| ending)
    }
}
