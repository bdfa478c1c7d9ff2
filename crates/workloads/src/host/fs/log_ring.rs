//! The journal's blocks, used in a ring behind its superblock, and which transactions still need theirs.
//!
//! **Rule** a transaction's blocks can be used again when everything in it is at its home or belongs to a later
//! transaction, and the journal's superblock says so. In the kernel: `j_head`, `j_tail`, `j_free`.

use std::collections::VecDeque;

/// A transaction by its number.
pub(super) type Tid = u64;

/// A committed transaction in the log.
#[derive(Clone, Copy, Debug)]
struct Logged {
    tid: Tid,
    blocks: u64,
}

/// The ring.
#[derive(Clone, Debug)]
pub(super) struct LogRing {
    /// Blocks of the journal, its superblock among them.
    blocks: u64,
    /// The next block to be used, from 1.
    head: u64,
    used: u64,
    logged: VecDeque<Logged>,
    /// Blocks of transactions that are done with, but not yet free: the superblock has not been written.
    done: u64,
}

impl LogRing {
    pub fn new(blocks: u64) -> LogRing {
        LogRing { blocks, head: 1, used: 0, logged: VecDeque::new(), done: 0 }
    }

    /// It has been used before: the next block is this one, and as many before it are in use, of transactions that are
    /// done with.
    pub fn begin_at(&mut self, head: u64, used: u64) {
        (self.head, self.used) = (head.clamp(1, self.blocks - 1), used);
        self.logged.push_front(Logged { tid: 0, blocks: used });
    }

    /// Blocks that a log may use.
    pub fn free(&self) -> u64 {
        (self.blocks - 1).saturating_sub(self.used)
    }

    /// Takes this many blocks; returns them as runs, two where the ring ends between them.
    pub fn take(&mut self, blocks: u64) -> Vec<(u64, u64)> {
        self.used += blocks;
        let mut runs = Vec::with_capacity(1);
        let mut left = blocks;
        while left > 0 {
            let run = left.min(self.blocks - self.head);
            runs.push((self.head, run));
            left -= run;
            self.head = if self.head + run == self.blocks { 1 } else { self.head + run };
        }
        runs
    }

    /// A transaction that used this many blocks has committed.
    pub fn committed(&mut self, tid: Tid, blocks: u64) {
        self.logged.push_back(Logged { tid, blocks });
    }

    /// The oldest transaction that is not known to be done with.
    pub fn oldest(&self) -> Option<Tid> {
        self.logged.front().map(|logged| logged.tid)
    }

    /// Drops the oldest transactions while `is_done` says so. True if any was dropped.
    pub fn drop_done(&mut self, is_done: impl Fn(Tid) -> bool) -> bool {
        let before = self.logged.len();
        while let Some(logged) = self.logged.pop_front_if(|logged| is_done(logged.tid)) {
            self.done += logged.blocks;
        }
        self.logged.len() < before
    }

    /// Whether writing the superblock would free anything.
    pub fn can_advance(&self) -> bool {
        self.done > 0
    }

    /// The superblock has been written.
    pub fn advance(&mut self) {
        self.used -= core::mem::take(&mut self.done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_ends_before_its_first_block() {
        let mut ring = LogRing::new(10);
        assert_eq!(ring.take(7), [(1, 7)]);
        assert_eq!(ring.free(), 2);
        ring.committed(1, 7);
        assert!(ring.drop_done(|tid| tid == 1) && ring.can_advance());
        assert_eq!(ring.free(), 2, "the superblock has not been written");
        ring.advance();
        assert_eq!(ring.take(4), [(8, 2), (1, 2)]);
        assert_eq!(ring.free(), 5);
    }

    #[test]
    fn what_was_used_before_is_free_when_the_superblock_is_written() {
        let mut ring = LogRing::new(100);
        ring.begin_at(98, 16);
        assert_eq!((ring.free(), ring.take(3)), (83, vec![(98, 2), (1, 1)]));
        assert!(ring.drop_done(|tid| tid == 0) && ring.can_advance());
        ring.advance();
        assert_eq!(ring.free(), 96);
    }

    #[test]
    fn only_the_oldest_transactions_are_dropped() {
        let mut ring = LogRing::new(100);
        for tid in 1..=3 {
            ring.take(5);
            ring.committed(tid, 5);
        }
        assert!(!ring.drop_done(|tid| tid == 2));
        assert!(ring.drop_done(|tid| tid <= 2));
        assert_eq!(ring.oldest(), Some(3));
    }
}
