//! When each source wants to be called: a heap of moments, first in first out among equals. A few sources need no heap:
//! all of them are looked at.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use blksched::Instant;

/// This many sources are looked at faster than a heap is kept.
const FEW: usize = 4;

/// The next moment of every source that has one.
#[derive(Debug, Default)]
pub(crate) struct Wakes {
    /// Moment << 64 | order of asking << 32 | source. Entries that no longer hold are dropped when they surface.
    heap: BinaryHeap<Reverse<u128>>,
    /// The entry of each source that holds.
    current: Vec<Option<u128>>,
    /// Of few sources, the first of these.
    first: Option<u128>,
    asked: u32,
}

impl Wakes {
    pub(crate) fn new(sources: usize) -> Wakes {
        Wakes { heap: BinaryHeap::with_capacity(2 * sources), current: vec![None; sources], first: None, asked: 0 }
    }

    /// `source` wants to be called at `at`; `None`: not by itself.
    pub(crate) fn set(&mut self, source: usize, at: Option<Instant>) {
        let same = |entry: u128| at == Some(moment(entry));
        if self.current[source].is_some_and(same) || self.current[source].is_none() && at.is_none() {
            return;
        }
        let entry = at.map(|at| {
            self.asked = self.asked.wrapping_add(1);
            u128::from(at.as_ns()) << 64 | u128::from(self.asked) << 32 | source as u128
        });
        self.change(source, entry);
        if self.current.len() > FEW {
            self.heap.extend(entry.map(Reverse));
        }
    }

    /// This is the entry of `source` that holds now.
    fn change(&mut self, source: usize, entry: Option<u128>) {
        self.current[source] = entry;
        self.first = match &self.current[..] {
            [only] => *only,
            few if few.len() <= FEW => few.iter().flatten().min().copied(),
            _ => None,
        };
    }

    /// The earliest moment.
    pub(crate) fn next(&mut self) -> Option<Instant> {
        self.settle().map(moment)
    }

    /// The source to be called at `now`, which is asked for its next moment afterwards.
    pub(crate) fn take(&mut self, now: Instant) -> Option<usize> {
        let entry = self.settle().filter(|&entry| moment(entry) <= now)?;
        let source = entry as u32 as usize;
        if self.current.len() > FEW {
            self.heap.pop();
        }
        self.change(source, None);
        Some(source)
    }

    #[inline]
    fn settle(&mut self) -> Option<u128> {
        if self.current.len() <= FEW {
            return self.first;
        }
        while let Some(&Reverse(entry)) = self.heap.peek() {
            if self.current[entry as u32 as usize] == Some(entry) {
                return Some(entry);
            }
            self.heap.pop();
        }
        None
    }
}

fn moment(entry: u128) -> Instant {
    Instant::from_ns((entry >> 64) as u64)
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
        assert_eq!(wakes.next(), Some(at(5)));
        assert_eq!((wakes.take(at(5)), wakes.take(at(5)), wakes.take(at(5))), (Some(2), Some(0), None));
        wakes.set(1, None);
        assert_eq!(wakes.next(), None);
    }
}
