//! Pending notifications to processes: of their I/O, and of processors for woken tasks.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use blksched::Instant;

use crate::disk_number::DiskNumber;

/// Something delivered later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Letter {
    /// A woken task of this disk's queue gets a processor.
    Run(DiskNumber, u32),
    /// The kernel's worker that runs this disk's queue gets a processor.
    Worker(DiskNumber),
    /// This processor finishes its work.
    Worked(u32),
    /// The notification that this I/O, by the world's name for it, is complete.
    Done(u32),
}

/// This many are kept sorted; a heap is slower for so few.
const FEW: usize = 16;

/// The time, the number in order of posting, and the delivery.
type PostedLetter = (Instant, u64, Letter);

/// Deliveries, the earliest first, and among equals in the order of posting.
#[derive(Debug, Default)]
pub(super) struct DeliveryQueue {
    /// The next few, the earliest first; empty only if there are none at all.
    near: VecDeque<PostedLetter>,
    /// If there are many, those after them.
    far: BinaryHeap<Reverse<PostedLetter>>,
    posted: u64,
}

impl DeliveryQueue {
    pub(super) fn post(&mut self, at: Instant, letter: Letter) {
        self.posted += 1;
        let entry = (at, self.posted, letter);
        // Usually it is the last, after others of the same completion, or, from a processor, the first.
        if self.near.back().is_none_or(|(last, ..)| *last <= at) {
            match self.far.is_empty() && self.near.len() < FEW {
                true => self.near.push_back(entry),
                false => self.far.push(Reverse(entry)),
            }
            return;
        }
        if self.near.front().is_some_and(|(first, ..)| at < *first) {
            self.near.push_front(entry);
        } else {
            let behind = self.near.iter().rev().take_while(|(other, ..)| at < *other).count();
            self.near.insert(self.near.len() - behind, entry);
        }
        if self.near.len() > FEW {
            self.far.extend(self.near.pop_back().map(Reverse));
        }
    }

    /// When the first is delivered, or never.
    #[inline]
    pub(super) fn next(&self) -> Instant {
        self.near.front().map_or(Instant::NEVER, |(at, ..)| *at)
    }

    #[inline]
    pub(super) fn take(&mut self, now: Instant) -> Option<Letter> {
        let (.., letter) = self.near.pop_front_if(|(at, ..)| *at <= now)?;
        if self.near.is_empty() && !self.far.is_empty() {
            self.refill();
        }
        Some(letter)
    }

    #[inline(never)]
    fn refill(&mut self) {
        while self.near.len() < FEW / 2
            && let Some(Reverse(entry)) = self.far.pop()
        {
            self.near.push_back(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_come_by_their_moment_and_among_equals_as_they_were_posted_however_many_there_are() {
        for most in [1, 3, FEW, 200] {
            let (mut queue, mut model, mut random) = (DeliveryQueue::default(), Vec::new(), 7_u64);
            let mut draw = |below: u64| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (random >> 33) % below
            };
            let mut now = Instant::ZERO;
            for nth in 0..5_000_u32 {
                let at = Instant::from_ns(now.as_ns() + draw(50));
                if model.len() < most {
                    queue.post(at, Letter::Done(nth));
                    model.push((at, nth));
                    model.sort();
                }
                let first = model.first().map_or(Instant::NEVER, |(at, _)| *at);
                assert_eq!(queue.next(), first);
                now = Instant::from_ns(now.as_ns() + draw(20));
                let due = model.first().copied().filter(|(at, _)| *at <= now);
                assert_eq!(queue.take(now), due.map(|(_, nth)| Letter::Done(nth)));
                due.into_iter().for_each(|_| _ = model.remove(0));
            }
        }
    }
}
