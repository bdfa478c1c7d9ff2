//! The positions of queues on the disk: at most one per sector, by group.
//!
//! **Rule** The queue at a sector, or a neighbour that a search for it meets, if within 8192 sectors.
//! **Origin** docs/behaviour/elevators-6.1.md#b10.
//! **In the kernel** `rq_pos_tree`, `rq_pos_tree_lookup`, `bfq_pos_tree_add_move`, `bfq_rq_pos_tree_lookup`.

use alloc::vec::Vec;

use crate::elevators::bfq::ids::Qid;
use crate::index::{Forest, Root};
use crate::request::Sector;

/// The distance up to which two positions are close \[sectors\].
pub(crate) const CLOSE: u64 = 8192;

/// The positions of queues: at most one per sector, by group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Positions {
    forest: Forest<Sector>,
    /// One tree per level.
    roots: Vec<Root>,
}

impl Positions {
    pub(crate) fn reserve(&mut self, queues: usize) {
        self.forest.reserve(queues);
        self.roots.reserve(1);
    }

    fn root(&mut self, level: usize) -> &mut Root {
        if level >= self.roots.len() {
            self.roots.resize(level + 1, Root::default());
        }
        &mut self.roots[level]
    }

    /// Inserts a queue, or moves it, to the position of its next request; if another queue is there, it is left out.
    #[inline(always)]
    pub(crate) fn put(&mut self, level: usize, q: Qid, at: Sector) {
        // A queue alone in its tree keeps its node, since the tree's shape cannot change.
        match self.roots.get(level) {
            Some(root) if root.len() == 1 && root.top() == Some(q) => self.forest.rekey_anyhow(q, at),
            _ => self.put_anew(level, q, at),
        }
    }

    #[inline(never)]
    fn put_anew(&mut self, level: usize, q: Qid, at: Sector) {
        self.remove(level, q);
        self.add(level, q, at);
    }

    #[inline(never)]
    fn add(&mut self, level: usize, q: Qid, at: Sector) {
        let mut root = *self.root(level);
        self.forest.insert_if_free(&mut root, q, at);
        *self.root(level) = root;
    }

    pub(crate) fn remove(&mut self, level: usize, q: Qid) {
        if self.forest.contains(q) {
            let mut root = *self.root(level);
            self.forest.remove(&mut root, q);
            *self.root(level) = root;
        }
    }

    /// Updates a queue's position without moving it in its tree.
    pub(crate) fn moved(&mut self, q: Qid, to: Sector) {
        if self.forest.contains(q) {
            self.forest.rekey_anyhow(q, to);
        }
    }

    /// The queue at `at`, or a close neighbour that a search for it meets.
    pub(crate) fn closest(&self, level: usize, at: Sector) -> Option<Qid> {
        let met = self.forest.last_visited(*self.roots.get(level)?, at)?;
        let start = self.forest.key(met);
        if start.distance(at) <= CLOSE {
            return Some(met);
        }
        let other = if start < at { self.forest.next(met) } else { self.forest.previous(met) }?;
        (self.forest.key(other).distance(at) <= CLOSE).then_some(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_found_within_8192_sectors_on_either_side() {
        let mut positions = Positions::default();
        positions.add(0, 1, Sector(100_000));
        positions.add(0, 2, Sector(200_000));
        positions.add(0, 3, Sector(200_000));
        let closest = |at| positions.closest(0, Sector(at));
        assert_eq!([91_808, 100_000, 108_192].map(closest), [Some(1); 3]);
        assert_eq!([91_807, 108_193, 150_000].map(closest), [None; 3]);
        assert_eq!((closest(199_999), positions.closest(1, Sector(200_000))), (Some(2), None));
    }
}
