//! A red-black tree as in the textbook (Cormen, Leiserson, Rivest, Stein, *Introduction to Algorithms*, chapter 13):
//! insertion and deletion with its fix-ups, a node with two children replaced by its in-order successor, equal keys
//! to the right.
//!
//! **Why our own** Some decisions depend on a tree's *shape*: which of several equal keys an exact look-up meets first,
//! which node a failed search visits last. Kernels use this very tree, so these decisions replay. It also counts its
//! comparisons (the mail of 2002-11-01 is about them) and allocates nothing once its table has grown.

use alloc::vec;
use alloc::vec::Vec;
use core::hint::select_unpredictable;

mod balance;

/// What a tree keeps of each subtree: made anew, whenever the subtree changes, from the key at its top and what is kept
/// of the two below.
pub trait Summary<K>: Copy + Default {
    /// Is anything kept at all?
    const KEPT: bool;

    /// Of a subtree with `own` at its top.
    fn of(own: K, below: [Option<Self>; 2]) -> Self;
}

/// Nothing is kept.
impl<K> Summary<K> for () {
    const KEPT: bool = false;

    fn of(_own: K, _below: [Option<()>; 2]) {}
}

/// A sorted set of small numbered things (requests, queues), each with a key.
#[derive(Clone, Debug)]
pub struct Tree<K, S = ()> {
    /// Slot 0 is the sentinel that stands for every missing child; thing `i` is in slot `i + 1`.
    nodes: Vec<Node<K, S>>,
    pub(super) root: u32,
    pub(super) first: u32,
    pub(super) len: u32,
    /// Where the last search that failed fell out, until the tree changes. A bio's look-up and the insertion of the
    /// request that it becomes mostly end in the same gap, so that the second need not go down again.
    gap: Gap<K>,
    /// Have keys stood out of order ([`Tree::rekey`])?
    rekeyed: bool,
}

/// The place of a missing child, which is where its key would be put in.
#[derive(Clone, Copy, Debug)]
struct Gap<K> {
    /// What was searched for.
    key: K,
    /// Of the tree with this root: a forest's trees share it.
    root: u32,
    /// `NIL`: no gap is known.
    parent: u32,
    side: u32,
    comparisons: u32,
}

/// The neighbours in order stand in the node, too: a step to the next member is one step, and a member that is taken
/// out knows who comes in its place.
#[derive(Clone, Copy, Debug)]
struct Node<K, S> {
    key: K,
    summary: S,
    parent: u32,
    child: [u32; 2],
    before: u32,
    behind: u32,
    colour: Colour,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Colour {
    Red,
    Black,
    /// Not in the tree.
    Out,
}

const NIL: u32 = 0;
const LEFT: usize = 0;
const RIGHT: usize = 1;

impl<K: Copy + Default + Ord, S: Summary<K>> Default for Tree<K, S> {
    fn default() -> Tree<K, S> {
        Tree::new()
    }
}

impl<K: Copy + Default + Ord, S: Summary<K>> Node<K, S> {
    fn of(key: K, parent: u32, colour: Colour) -> Node<K, S> {
        Node { key, summary: S::default(), parent, child: [NIL; 2], before: NIL, behind: NIL, colour }
    }
}

impl<K: Copy + Default + Ord, S: Summary<K>> Tree<K, S> {
    /// An empty tree.
    pub fn new() -> Tree<K, S> {
        let sentinel = Node::of(K::default(), NIL, Colour::Black);
        let gap = Gap { key: K::default(), root: NIL, parent: NIL, side: 0, comparisons: 0 };
        Tree { nodes: vec![sentinel], root: NIL, first: NIL, len: 0, gap, rekeyed: false }
    }

    /// Room for things numbered below `things`, so that they are put in without an allocation.
    pub fn reserve(&mut self, things: usize) {
        self.nodes.reserve((things + 1).saturating_sub(self.nodes.len()));
    }

    /// How many members it has.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// True if it has none.
    pub fn is_empty(&self) -> bool {
        self.root == NIL
    }

    /// Is `id` a member?
    pub fn contains(&self, id: u32) -> bool {
        self.nodes.get(id as usize + 1).is_some_and(|node| node.colour != Colour::Out)
    }

    /// The key under which the member `id` was put in.
    pub fn key(&self, id: u32) -> K {
        self.nodes[id as usize + 1].key
    }

    /// Give the member `id` another key and leave it where it is, even if that breaks the order: kernels whose trees
    /// compare what members point at *now* do so.
    pub fn rekey(&mut self, id: u32, key: K) {
        assert!(self.contains(id), "{id} is not in the tree");
        self.gap.parent = NIL;
        let Node { before, behind, .. } = self.nodes[id as usize + 1];
        let below = before == NIL || self.nodes[before as usize].key <= key;
        let above = behind == NIL || key <= self.nodes[behind as usize].key;
        self.rekeyed |= !(below && above);
        self.nodes[id as usize + 1].key = key;
        self.summarise_up(id + 1);
    }

    /// What is kept of the subtree whose top is the member `id`.
    pub fn summary(&self, id: u32) -> S {
        self.nodes[id as usize + 1].summary
    }

    /// The members at the tops of the subtrees below `id`.
    pub(super) fn below(&self, id: u32) -> [Option<u32>; 2] {
        self.nodes[id as usize + 1].child.map(member)
    }

    /// The member with the smallest key; of equals the one put in first.
    pub fn first(&self) -> Option<u32> {
        member(self.first)
    }

    /// The member with the greatest key; of equals the one put in last.
    pub fn last(&self) -> Option<u32> {
        self.last_below(self.root)
    }

    pub(super) fn last_below(&self, root: u32) -> Option<u32> {
        member(self.extreme(root, RIGHT))
    }

    /// The member behind `id` in order.
    #[inline]
    pub fn next(&self, id: u32) -> Option<u32> {
        member(self.nodes[id as usize + 1].behind)
    }

    /// The member before `id` in order.
    #[inline]
    pub fn previous(&self, id: u32) -> Option<u32> {
        member(self.nodes[id as usize + 1].before)
    }

    /// The member with this key that a descent from the root meets first, and how many comparisons that took.
    #[inline(always)]
    pub fn find(&mut self, key: K) -> (Option<u32>, u32) {
        if let Some(gap) = self.known_gap(key) {
            return (None, gap.comparisons);
        }
        let nodes = &self.nodes[..];
        let (mut parent, mut side, mut comparisons) = (NIL, LEFT, 0);
        // Counted from the slot behind the sentinel, a missing child lies beyond the table: one test for both.
        let (members, mut at) = (&nodes[1..], self.root.wrapping_sub(1));
        while let Some(node) = members.get(at as usize) {
            comparisons += 1;
            // An index, not a branch: which way a search turns cannot be predicted. Equals are seen at the end.
            (parent, side) = (at, usize::from(key > node.key));
            at = node.child[side].wrapping_sub(1);
        }
        // The sentinel, if nothing was met.
        let parent = if comparisons == 0 { NIL } else { parent + 1 };
        // On which side a search falls out cannot be predicted either, here and below.
        let behind = select_unpredictable(side == LEFT, parent, nodes[parent as usize].behind);
        if self.rekeyed || (behind != NIL && nodes[behind as usize].key == key) {
            return self.find_again(key);
        }
        self.gap = Gap { key, root: self.root, parent, side: side as u32, comparisons };
        (None, comparisons)
    }

    /// There is such a key, or it is not known: which one is met first depends on the tree's shape.
    #[inline(never)]
    fn find_again(&mut self, key: K) -> (Option<u32>, u32) {
        self.find_below(self.root, key)
    }

    /// As [`Tree::find`], from another root: nothing is remembered.
    pub(super) fn find_below(&self, mut at: u32, key: K) -> (Option<u32>, u32) {
        let mut comparisons = 0;
        while at != NIL {
            let node = &self.nodes[at as usize];
            comparisons += 1;
            if key == node.key {
                return (member(at), comparisons);
            }
            at = node.child[usize::from(key > node.key)];
        }
        (None, comparisons)
    }

    /// The gap of the last search that failed, if a search for `key` would fail there too.
    #[inline(always)]
    fn known_gap(&self, key: K) -> Option<Gap<K>> {
        let gap = self.gap;
        if gap.parent == NIL || gap.root != self.root || key > gap.key {
            return None;
        }
        let before = select_unpredictable(gap.side == 0, self.nodes[gap.parent as usize].before, gap.parent);
        (before == NIL || self.nodes[before as usize].key < key).then_some(gap)
    }

    /// The gap behind every equal of `key`.
    #[inline(always)]
    fn descend(&self, key: K) -> Gap<K> {
        let nodes = &self.nodes[..];
        let (mut at, mut parent, mut side, mut comparisons) = (self.root, NIL, LEFT, 0);
        while at != NIL {
            let node = &nodes[at as usize];
            comparisons += 1;
            (parent, side) = (at, usize::from(key >= node.key));
            at = node.child[side];
        }
        Gap { key, root: self.root, parent, side: side as u32, comparisons }
    }

    /// Where a search for `key` ends: the member with it that is met first, else the last one visited.
    /// Whether that is the one before or behind the key depends on the tree's shape.
    pub fn last_visited(&self, key: K) -> Option<u32> {
        self.last_visited_below(self.root, key)
    }

    pub(super) fn last_visited_below(&self, mut at: u32, key: K) -> Option<u32> {
        let mut last = NIL;
        while at != NIL {
            last = at;
            let node = &self.nodes[at as usize];
            match key.cmp(&node.key) {
                core::cmp::Ordering::Less => at = node.child[LEFT],
                core::cmp::Ordering::Greater => at = node.child[RIGHT],
                core::cmp::Ordering::Equal => break,
            }
        }
        member(last)
    }

    /// The first member in order whose key is `key` or greater.
    pub fn at_or_behind(&self, key: K) -> Option<u32> {
        let (mut at, mut found) = (self.root, NIL);
        while at != NIL {
            let node = &self.nodes[at as usize];
            let side = usize::from(key > node.key);
            if side == LEFT {
                found = at;
            }
            at = node.child[side];
        }
        member(found)
    }

    /// Put `id` in, behind its equals; says how many comparisons that took.
    ///
    /// # Panics
    /// If it is a member already.
    #[inline]
    pub fn insert(&mut self, id: u32, key: K) -> u32 {
        let slot = id + 1;
        if slot as usize >= self.nodes.len() {
            self.grow(slot);
        }
        assert!(self.nodes[slot as usize].colour == Colour::Out, "{id} is already in the tree");
        let gap = match self.known_gap(key) {
            Some(gap) => gap,
            None => self.descend(key),
        };
        self.gap.parent = NIL;
        self.hang(slot, key, gap);
        self.len += 1;
        self.summarise_up(slot);
        self.fix_insertion(slot);
        gap.comparisons
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, slot: u32) {
        self.nodes.resize(slot as usize + 1, Node::of(K::default(), NIL, Colour::Out));
    }

    /// Into a gap, red.
    #[inline(always)]
    fn hang(&mut self, slot: u32, key: K, Gap { parent, side, .. }: Gap<K>) {
        let nodes = &mut self.nodes[..];
        let Node { before, behind, .. } = nodes[parent as usize];
        let (before, behind) = match parent {
            // The sentinel's neighbours mean nothing.
            NIL => (NIL, NIL),
            _ => (select_unpredictable(side == 0, before, parent), select_unpredictable(side == 0, parent, behind)),
        };
        nodes[slot as usize] = Node { before, behind, ..Node::of(key, parent, Colour::Red) };
        // The one that is missing is the sentinel, whose neighbours are never asked for.
        nodes[before as usize].behind = slot;
        nodes[behind as usize].before = slot;
        if before == NIL {
            self.first = slot;
        }
        match parent {
            NIL => self.root = slot,
            parent => nodes[parent as usize].child[side as usize & 1] = slot,
        }
    }

    /// Take the member `id` out.
    ///
    /// # Panics
    /// If it is not a member.
    #[inline]
    pub fn remove(&mut self, id: u32) {
        let z = id + 1;
        self.gap.parent = NIL;
        let (nodes, root) = (&mut self.nodes[..], &mut self.root);
        let Node { parent, child: [left, right], before, behind, colour, .. } = nodes[z as usize];
        assert!(colour != Colour::Out, "{id} is not in the tree");
        nodes[before as usize].behind = behind;
        nodes[behind as usize].before = before;
        if before == NIL {
            self.first = behind;
        }
        nodes[z as usize].colour = Colour::Out;
        let mut removed = colour;
        // The lowest member whose subtree is another one afterwards.
        let mut lowest = parent;
        let x;
        if left == NIL || right == NIL {
            x = left | right;
            balance::replace(nodes, root, z, parent, x);
        } else {
            // The one behind it takes its place.
            let y = behind;
            let Node { parent: above, child: [_, below], colour: other, .. } = nodes[y as usize];
            (removed, x, lowest) = (other, below, y);
            if above == z {
                nodes[x as usize].parent = y;
            } else {
                lowest = above;
                nodes[above as usize].child[LEFT] = x;
                nodes[x as usize].parent = above;
                nodes[y as usize].child[RIGHT] = right;
                nodes[right as usize].parent = y;
            }
            balance::replace(nodes, root, z, parent, y);
            let node = &mut nodes[y as usize];
            (node.child[LEFT], node.colour) = (left, colour);
            nodes[left as usize].parent = y;
        }
        self.len -= 1;
        self.summarise_up(lowest);
        if removed == Colour::Black {
            self.fix_removal(x);
        }
    }

    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        core::iter::successors(self.first(), |&id| self.next(id))
    }

    fn colour(&self, at: u32) -> Colour {
        self.nodes[at as usize].colour
    }

    fn parent(&self, at: u32) -> u32 {
        self.nodes[at as usize].parent
    }

    /// The first or last member below `at`.
    fn extreme(&self, mut at: u32, side: usize) -> u32 {
        while at != NIL && self.nodes[at as usize].child[side] != NIL {
            at = self.nodes[at as usize].child[side];
        }
        at
    }
}

#[inline(always)]
pub(super) fn member(slot: u32) -> Option<u32> {
    slot.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_got_another_key_changes_where_a_search_ends() {
        let mut tree = Tree::<u32>::new();
        for id in 0..3 {
            tree.insert(id, 10 * (id + 1));
        }
        assert_eq!(tree.find(25).0, None);
        tree.rekey(1, 27);
        tree.insert(3, 25);
        assert!(tree.iter().eq([0, 3, 1, 2]));
    }

    #[test]
    fn equal_keys_stand_in_the_order_of_insertion() {
        let mut tree = Tree::<u32>::new();
        for id in 0..20 {
            tree.insert(id, id % 3);
            tree.check();
        }
        let order: Vec<u32> = tree.iter().collect();
        assert_eq!(order[..7], [0, 3, 6, 9, 12, 15, 18]);
        assert_eq!((tree.first(), tree.last()), (Some(0), Some(17)));
    }

    #[test]
    fn it_agrees_with_a_sorted_set_over_many_random_changes() {
        let (mut tree, mut model) = (Tree::<u64>::new(), std::collections::BTreeSet::new());
        let mut random = 1u64;
        for step in 0..20_000u32 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let id = (random >> 33) as u32 % 300;
            if tree.contains(id) {
                model.remove(&(tree.key(id), id));
                tree.remove(id);
            } else {
                // The id breaks ties in the model, so make keys unique here; equal keys have their own test.
                let key = (random >> 40) << 10 | u64::from(id);
                tree.insert(id, key);
                model.insert((key, id));
            }
            if step % 64 == 0 {
                tree.check();
                assert!(tree.iter().eq(model.iter().map(|&(_, id)| id)));
                assert_eq!(tree.last(), model.last().map(|&(_, id)| id));
            }
        }
    }

    /// The greatest id that is kept of a subtree, wherever keys put it.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    struct Greatest(u64);

    impl Summary<(u64, u64)> for Greatest {
        const KEPT: bool = true;

        fn of(own: (u64, u64), below: [Option<Greatest>; 2]) -> Greatest {
            Greatest(below.into_iter().flatten().fold(own.1, |most, Greatest(there)| most.max(there)))
        }
    }

    #[test]
    fn what_is_kept_of_a_subtree_is_true_after_any_change() {
        let mut tree: Tree<(u64, u64), Greatest> = Tree::new();
        let mut random = 3u64;
        for step in 0..5_000u32 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let id = (random >> 33) as u32 % 100;
            match tree.contains(id) {
                true if step % 5 == 0 => tree.rekey(id, (tree.key(id).0, random >> 20)),
                true => tree.remove(id),
                false => _ = tree.insert(id, ((random >> 40) % 50, random >> 20)),
            }
            for member in tree.iter().collect::<Vec<_>>() {
                let below = tree.below(member).map(|child| child.map(|child| tree.summary(child)));
                assert_eq!(tree.summary(member), Greatest::of(tree.key(member), below));
            }
        }
    }

    #[test]
    fn searches_before_insertions_change_neither_shape_nor_count() {
        let (mut searched, mut plain) = (Tree::<u64>::new(), Tree::<u64>::new());
        let mut random = 7u64;
        for _ in 0..20_000 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (id, key) = ((random >> 33) as u32 % 200, (random >> 48) % 500);
            if searched.contains(id) {
                searched.find(key);
                searched.remove(id);
                plain.remove(id);
            } else {
                let known = plain.iter().any(|member| plain.key(member) == key + random % 4);
                assert_eq!(searched.find(key + random % 4).0.is_some(), known);
                assert_eq!(searched.find(key), Tree::find(&mut plain.clone(), key));
                assert_eq!(searched.insert(id, key), plain.insert(id, key));
            }
            let links = |tree: &Tree<u64>| tree.nodes.iter().map(|node| (node.child, node.colour)).collect::<Vec<_>>();
            assert_eq!((links(&searched), searched.first), (links(&plain), plain.first));
        }
        searched.check();
    }

    #[test]
    fn a_failed_search_ends_beside_the_key_and_a_search_counts_its_comparisons() {
        let mut tree = Tree::<u32>::new();
        for id in 0..7u32 {
            tree.insert(id, id * 10);
        }
        assert!([Some(2), Some(3)].contains(&tree.last_visited(25)));
        assert_eq!(tree.find(30).0, Some(3));
        assert!(tree.find(35).1 <= 4 && tree.find(35).0.is_none());
    }
}
