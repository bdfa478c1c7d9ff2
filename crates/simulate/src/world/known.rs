//! A part of the world that is asked for its next event once, and not again until it is changed.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};

use blksched::{BlockQueue, Instant, Listener};
use blksched_disks::Disk;

/// The part, and its cached next time, which borrowing it for a change invalidates.
pub(super) struct Known<P> {
    part: P,
    next: Cell<Option<Instant>>,
}

impl<P> Known<P> {
    pub(super) fn new(part: P) -> Known<P> {
        Known { part, next: Cell::new(None) }
    }

    #[inline(always)]
    fn or_ask(&self, ask: impl FnOnce(&P) -> Option<Instant>) -> Instant {
        self.next.get().unwrap_or_else(|| {
            let next = ask(&self.part).unwrap_or(Instant::NEVER);
            self.next.set(Some(next));
            next
        })
    }
}

impl Known<Box<dyn Disk>> {
    /// When to ask it what has finished, or never.
    #[inline]
    pub(super) fn upcoming(&self) -> Instant {
        self.or_ask(|disk| disk.next())
    }
}

impl<L: Listener> Known<BlockQueue<L>> {
    /// When to tell it the time, or never.
    #[inline]
    pub(super) fn upcoming(&self) -> Instant {
        self.or_ask(BlockQueue::deadline)
    }
}

impl<P> Deref for Known<P> {
    type Target = P;

    #[inline(always)]
    fn deref(&self) -> &P {
        &self.part
    }
}

impl<P> DerefMut for Known<P> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut P {
        self.next.set(None);
        &mut self.part
    }
}
