//! Many sorted trees over one table of nodes: a thing is in at most one of them at a time.
//!
//! **Why** CFQ keeps a tree of requests per process. A table of nodes for each would grow with every process that
//! comes; here a tree is a [`Root`] of twelve bytes that its owner keeps, and nothing is allocated once the table has
//! grown.

use super::tree::{Summary, Tree, member};

/// One tree of a [`Forest`]; of no use with another forest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Root {
    root: u32,
    first: u32,
    len: u32,
}

impl Root {
    /// The member with the smallest key; of equals the one put in first.
    pub fn first(self) -> Option<u32> {
        member(self.first)
    }

    /// The member at its top.
    pub fn top(self) -> Option<u32> {
        member(self.root)
    }

    /// How many members it has.
    pub fn len(self) -> u32 {
        self.len
    }

    /// True if it has none.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// The nodes of many trees. Shapes and order of equals are those of [`Tree`].
#[derive(Clone, Debug, Default)]
pub struct Forest<K: Copy + Default + Ord, S: Summary<K> = ()> {
    /// Its own root means nothing between calls.
    tree: Tree<K, S>,
}

impl<K: Copy + Default + Ord, S: Summary<K>> Forest<K, S> {
    /// No nodes yet.
    pub fn new() -> Forest<K, S> {
        Forest::default()
    }

    /// As [`Tree::reserve`].
    pub fn reserve(&mut self, things: usize) {
        self.tree.reserve(things);
    }

    /// Is `id` in one of the trees?
    pub fn contains(&self, id: u32) -> bool {
        self.tree.contains(id)
    }

    /// The key of the member `id`.
    pub fn key(&self, id: u32) -> K {
        self.tree.key(id)
    }

    /// As [`Tree::rekey`].
    pub fn rekey(&mut self, id: u32, key: K) {
        self.tree.rekey(id, key);
    }

    /// What is kept of the subtree whose top is the member `id`.
    pub fn summary(&self, id: u32) -> S {
        self.tree.summary(id)
    }

    /// The members at the tops of the subtrees below `id`, lower keys first.
    pub fn below(&self, id: u32) -> [Option<u32>; 2] {
        self.tree.below(id)
    }

    /// The member behind `id` in its tree.
    pub fn next(&self, id: u32) -> Option<u32> {
        self.tree.next(id)
    }

    /// The member before `id` in its tree.
    pub fn previous(&self, id: u32) -> Option<u32> {
        self.tree.previous(id)
    }

    /// As [`Tree::last`].
    pub fn last(&self, of: Root) -> Option<u32> {
        self.tree.last_below(of.root)
    }

    /// As [`Tree::find`].
    #[inline(always)]
    pub fn find(&mut self, of: Root, key: K) -> (Option<u32>, u32) {
        self.tree.root = of.root;
        self.tree.find(key)
    }

    /// As [`Tree::last_visited`].
    pub fn last_visited(&self, of: Root, key: K) -> Option<u32> {
        self.tree.last_visited_below(of.root, key)
    }

    /// Put `id` into a tree; says how many comparisons that took.
    ///
    /// # Panics
    /// If it is in one already.
    pub fn insert(&mut self, into: &mut Root, id: u32, key: K) -> u32 {
        self.within(into, |tree| tree.insert(id, key))
    }

    /// Take `id` out of the tree that it is in.
    ///
    /// # Panics
    /// If it is in none.
    pub fn remove(&mut self, from: &mut Root, id: u32) {
        self.within(from, |tree| tree.remove(id));
    }

    /// The members of a tree in order.
    pub fn iter(&self, of: Root) -> impl Iterator<Item = u32> + '_ {
        core::iter::successors(of.first(), |&id| self.next(id))
    }

    #[inline(always)]
    fn within<T>(&mut self, root: &mut Root, work: impl FnOnce(&mut Tree<K, S>) -> T) -> T {
        (self.tree.root, self.tree.first, self.tree.len) = (root.root, root.first, root.len);
        let result = work(&mut self.tree);
        *root = Root { root: self.tree.root, first: self.tree.first, len: self.tree.len };
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_over_one_table_do_not_disturb_each_other() {
        let mut forest = Forest::<u32>::new();
        let mut roots = [Root::default(); 3];
        for id in 0..60u32 {
            forest.insert(&mut roots[id as usize % 3], id, (id * 37) % 50);
        }
        for id in (0..60).step_by(4) {
            forest.remove(&mut roots[id as usize % 3], id);
        }
        let mut alone = Tree::<u32>::new();
        let members = |which: u32| (0..60).filter(move |id| id % 3 == which);
        members(1).for_each(|id| {
            alone.insert(id, (id * 37) % 50);
        });
        members(1).filter(|id| id % 4 == 0).for_each(|id| alone.remove(id));
        assert!(forest.iter(roots[1]).eq(alone.iter()));
        assert_eq!((roots[1].len(), roots[1].first()), (alone.len(), alone.first()));
        for key in 0..50 {
            assert_eq!(forest.last_visited(roots[1], key), alone.last_visited(key));
            assert_eq!(forest.find(roots[1], key), alone.find(key));
        }
        assert_eq!(forest.last(roots[1]), alone.last());
    }
}
