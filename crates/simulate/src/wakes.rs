//! When each source wants to be called: a heap of times, first in first out among equals. A few sources need no heap:
//! all of them are checked.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use blksched::Instant;

/// Up to this many sources a linear search is faster than a heap.
const FEW: usize = 4;

/// The next call of every source that has one.
#[derive(Debug)]
pub(crate) struct Wakes {
    /// Used for many sources. Stale entries are dropped when they surface.
    heap: BinaryHeap<Reverse<WakeEntry>>,
    /// The valid entry of each source, or [`NONE`].
    current: Vec<WakeEntry>,
    /// Used for few sources: the earliest entry.
    first: WakeEntry,
    asked: u32,
}

/// The time, the order in which it was asked for, and the source.
type WakeEntry = (Instant, u32, u32);

const NONE: WakeEntry = (Instant::NEVER, 0, 0);

impl Wakes {
    pub(crate) fn new(sources: usize) -> Wakes {
        let heap = BinaryHeap::with_capacity(if sources > FEW { 2 * sources } else { 0 });
        Wakes { heap, current: vec![NONE; sources], first: NONE, asked: 0 }
    }

    /// Sets when `source` is to be called; `None`: not by itself.
    #[inline]
    pub(crate) fn set(&mut self, source: usize, at: Option<Instant>) {
        let at = at.unwrap_or(Instant::NEVER);
        // Asked for again, it keeps its place among those of that time: the order of a run may not depend on how
        // often a source is asked.
        if self.current[source].0 == at {
            return;
        }
        let mut entry = NONE;
        if at != Instant::NEVER {
            self.asked = self.asked.wrapping_add(1);
            entry = (at, self.asked, source as u32);
        }
        self.change(source, entry);
        if self.current.len() > FEW && at != Instant::NEVER {
            self.heap.push(Reverse(entry));
        }
    }

    /// Replaces the entry of `source`.
    #[inline]
    fn change(&mut self, source: usize, entry: WakeEntry) {
        self.current[source] = entry;
        if let [only] = self.current[..] {
            self.first = only;
        } else if self.current.len() <= FEW {
            self.first = self.current.iter().copied().min().unwrap_or(NONE);
        }
    }

    /// The earliest time, or never.
    #[inline]
    pub(crate) fn next(&mut self) -> Instant {
        self.settle().0
    }

    /// The source to be called at `now`, which is asked for its next call afterwards.
    #[inline]
    pub(crate) fn take(&mut self, now: Instant) -> Option<usize> {
        if self.current.len() > FEW {
            return self.take_of_many(now);
        }
        let (at, _, source) = self.first;
        if at > now || at == Instant::NEVER {
            return None;
        }
        self.change(source as usize, NONE);
        Some(source as usize)
    }

    fn take_of_many(&mut self, now: Instant) -> Option<usize> {
        let (at, _, source) = self.surface();
        if at > now || at == Instant::NEVER {
            return None;
        }
        self.heap.pop();
        self.current[source as usize] = NONE;
        Some(source as usize)
    }

    #[inline]
    fn settle(&mut self) -> WakeEntry {
        if self.current.len() <= FEW { self.first } else { self.surface() }
    }

    fn surface(&mut self) -> WakeEntry {
        while let Some(&Reverse(entry)) = self.heap.peek() {
            // An entry that was replaced stays in the heap until it comes up, which is cheaper than finding it.
            if self.current[entry.2 as usize] == entry {
                return entry;
            }
            self.heap.pop();
        }
        NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_moments_are_first_come_first_served_and_a_changed_mind_counts_once() {
        for sources in [3, FEW, FEW + 1, 100] {
            first_come_first_served(sources);
        }
    }

    fn first_come_first_served(sources: usize) {
        let at = Instant::from_ns;
        let mut wakes = Wakes::new(sources);
        wakes.set(2, Some(at(5)));
        wakes.set(0, Some(at(5)));
        wakes.set(1, Some(at(3)));
        wakes.set(1, Some(at(9)));
        assert_eq!(wakes.next(), at(5));
        assert_eq!((wakes.take(at(5)), wakes.take(at(5)), wakes.take(at(5))), (Some(2), Some(0), None));
        wakes.set(1, None);
        assert_eq!(wakes.next(), Instant::NEVER);
    }
}
