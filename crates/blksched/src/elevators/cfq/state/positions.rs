//! The positions of queues on the disk, by level: the trees in which close cooperators are searched.
//!
//! **Rule** One tree per priority level, by the first sector of each queue's next request. A queue is not inserted at a
//! sector where another already is. Trees compare the *current* positions of queues, although a queue is moved only
//! when it is reinserted.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c9.
//! **In the kernel** `prio_trees`, `cfq_prio_tree_add`, `cfq_prio_tree_lookup`.

use crate::elevators::cfq::ids::Qid;
use crate::index::{Forest, Root};
use crate::request::Sector;

/// The positions of queues, level by level.
#[derive(Clone, Debug, Default)]
pub(crate) struct Positions {
    forest: Forest<Sector>,
    roots: [Root; 8],
}

impl Positions {
    pub(crate) fn reserve(&mut self, queues: usize) {
        self.forest.reserve(queues);
    }

    /// Inserts a queue; false if another one is at the same sector.
    pub(crate) fn insert(&mut self, level: u8, q: Qid, start: Sector) -> bool {
        self.forest.insert_if_free(&mut self.roots[usize::from(level)], q, start)
    }

    pub(crate) fn remove(&mut self, level: u8, q: Qid) {
        self.forest.remove(&mut self.roots[usize::from(level)], q);
    }

    /// Updates a queue's position without moving it in the tree, as in the kernel.
    #[inline(always)]
    pub(crate) fn moved(&mut self, q: Qid, start: Sector) {
        self.forest.rekey_anyhow(q, start);
    }

    /// The queue at a sector, or else the last one that the search visits, which depends on the tree's shape.
    pub(crate) fn last_visited(&self, level: u8, at: Sector) -> Option<Qid> {
        self.forest.last_visited(self.roots[usize::from(level)], at)
    }

    pub(crate) fn next(&self, q: Qid) -> Option<Qid> {
        self.forest.next(q)
    }

    pub(crate) fn previous(&self, q: Qid) -> Option<Qid> {
        self.forest.previous(q)
    }
}
