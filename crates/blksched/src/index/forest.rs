//! Many red-black trees over one table of nodes, each as in the textbook (Cormen, Leiserson, Rivest, Stein,
//! *Introduction to Algorithms*, chapter 13): insertion and deletion with its fix-ups, a node with two children
//! replaced by its in-order successor, equal keys to the right. An item is in at most one of the trees at a time.
//!
//! **Why our own** Some decisions depend on a tree's *shape*: which of several equal keys an exact look-up meets first,
//! which node a failed search visits last. Kernels use the same tree, so these decisions replay. It also counts its
//! comparisons (the mail of 2002-11-01 is about them) and allocates nothing once its table has grown.
//!
//! **Why many** CFQ keeps a tree of requests per process. A table of nodes for each would cost memory for every new
//! process; here a tree is a [`Root`] of twelve bytes that its owner keeps. [`Tree`](super::Tree) is one with its root.

use alloc::vec::Vec;
use core::hint::select_unpredictable;

mod balance;

/// What a tree keeps for each subtree: recomputed whenever the subtree changes, from the key at its top and the values
/// of the two subtrees below.
pub trait Summary<K>: Copy + Default {
    /// Whether anything is kept.
    const KEPT: bool;

    /// The value of a subtree with `own` at its top.
    fn of(own: K, below: [Option<Self>; 2]) -> Self;
}

/// Nothing is kept.
impl<K> Summary<K> for () {
    const KEPT: bool = false;

    fn of(_own: K, _below: [Option<()>; 2]) {}
}

/// One tree of a [`Forest`]; meaningless with another forest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    top: u32,
    first: u32,
    len: u32,
}

impl Default for Root {
    fn default() -> Root {
        Root { top: NIL, first: NIL, len: 0 }
    }
}

impl Root {
    /// The member with the smallest key; of equal keys, the one inserted first.
    #[inline]
    pub fn first(self) -> Option<u32> {
        member(self.first)
    }

    /// The member at its top.
    pub fn top(self) -> Option<u32> {
        member(self.top)
    }

    /// The number of members.
    #[inline]
    pub fn len(self) -> u32 {
        self.len
    }

    /// True if there are none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// The nodes of many sorted sets of numbered items (requests, queues), each with a key.
#[derive(Clone, Debug)]
pub struct Forest<K, S = ()> {
    /// The node of each thing. A missing node is an index beyond the table, so that one test tells whether a node
    /// exists and whether it may be indexed.
    nodes: Vec<Node<K, S>>,
    /// The place where the last failed search ended, until a tree changes. A bio's look-up and the insertion of the
    /// request that it becomes usually end in the same gap, so that the second need not descend again.
    gap: Gap<K>,
    /// Whether keys may have been out of order ([`Forest::rekey`]).
    rekeyed: bool,
}

/// The place of a missing child, where its key would be inserted.
#[derive(Clone, Copy, Debug)]
struct Gap<K> {
    /// The key that was searched for.
    key: K,
    /// The tree with this top; `UNKNOWN`: no gap is known.
    top: u32,
    place: Place,
}

/// On one side of a gap in order is the parent of the missing child, on the other side the parent's neighbour there.
#[derive(Clone, Copy, Debug)]
struct Place {
    parent: u32,
    side: u32,
    beyond: u32,
    /// The number of comparisons from the top down; `UNCOUNTED`: they were not counted.
    comparisons: u32,
}

/// The neighbours in order are also kept in the node: the next member is one step away, and a removed member knows the
/// one that takes its place.
#[derive(Clone, Copy, Debug)]
struct Node<K, S> {
    key: K,
    summary: S,
    parent: u32,
    child: [u32; 2],
    /// The member before it and the one behind it.
    beside: [u32; 2],
    colour: Colour,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Colour {
    Red,
    Black,
    /// In no tree.
    Out,
}

/// Whether a search's comparisons are counted. That costs one instruction for each, so it is done only for a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    /// They are counted.
    Counted,
    /// They are not counted.
    Uncounted,
}

/// Stands for every missing node.
const NIL: u32 = u32::MAX;
/// No tree has this at its top.
const UNKNOWN: u32 = NIL - 1;
/// No search has this many comparisons.
const UNCOUNTED: u32 = u32::MAX;
const LEFT: usize = 0;
const RIGHT: usize = 1;

impl<K: Copy + Default + Ord, S: Summary<K>> Default for Forest<K, S> {
    fn default() -> Forest<K, S> {
        Forest::new()
    }
}

impl<K: Copy + Default + Ord, S: Summary<K>> Node<K, S> {
    fn of(key: K, parent: u32, colour: Colour) -> Node<K, S> {
        Node { key, summary: S::default(), parent, child: [NIL; 2], beside: [NIL; 2], colour }
    }
}

impl<K: Copy + Default + Ord, S: Summary<K>> Forest<K, S> {
    /// No nodes yet.
    pub fn new() -> Forest<K, S> {
        let place = Place { parent: NIL, side: 0, beyond: NIL, comparisons: UNCOUNTED };
        let gap = Gap { key: K::default(), top: UNKNOWN, place };
        Forest { nodes: Vec::new(), gap, rekeyed: false }
    }

    /// Makes room for items numbered below `things`, so that inserting them needs no allocation.
    pub fn reserve(&mut self, things: usize) {
        self.nodes.reserve(things.saturating_sub(self.nodes.len()));
    }

    /// Whether `id` is in one of the trees.
    pub fn contains(&self, id: u32) -> bool {
        self.nodes.get(id as usize).is_some_and(|node| node.colour != Colour::Out)
    }

    /// The key under which the member `id` was inserted.
    #[inline]
    pub fn key(&self, id: u32) -> K {
        self.nodes[id as usize].key
    }

    /// Gives the member `id` another key and leaves it where it is, even if that breaks the order, as in kernels whose
    /// trees compare the *present* values of what members point at.
    pub fn rekey(&mut self, id: u32, key: K) {
        let Node { beside: [before, behind], colour, .. } = self.nodes[id as usize];
        assert!(colour != Colour::Out, "{id} is not in the tree");
        self.gap.top = UNKNOWN;
        let below = self.nodes.get(before as usize).is_none_or(|before| before.key <= key);
        let above = self.nodes.get(behind as usize).is_none_or(|behind| key <= behind.key);
        self.rekeyed |= !(below && above);
        self.nodes[id as usize].key = key;
        self.summarise_up(id);
    }

    /// The same in a forest in which order is lost anyway: it is not checked whether it is kept, and so
    /// [`Forest::find`] and [`Forest::insert`] cannot remember a gap from now on.
    #[inline(always)]
    pub fn rekey_anyhow(&mut self, id: u32, key: K) {
        let node = &mut self.nodes[id as usize];
        assert!(node.colour != Colour::Out, "{id} is not in the tree");
        node.key = key;
        self.gap.top = UNKNOWN;
        self.rekeyed = true;
        self.summarise_up(id);
    }

    /// The value kept for the subtree whose top is the member `id`.
    pub fn summary(&self, id: u32) -> S {
        self.nodes[id as usize].summary
    }

    /// The members at the tops of the subtrees below `id`, lower keys first.
    pub fn below(&self, id: u32) -> [Option<u32>; 2] {
        self.nodes[id as usize].child.map(member)
    }

    /// The member of a tree with the greatest key; of equal keys, the one inserted last.
    pub fn last(&self, of: Root) -> Option<u32> {
        member(self.extreme(of.top, RIGHT))
    }

    /// The member behind `id` in its tree.
    #[inline]
    pub fn next(&self, id: u32) -> Option<u32> {
        member(self.nodes[id as usize].beside[RIGHT])
    }

    /// The member before `id` in its tree.
    #[inline]
    pub fn previous(&self, id: u32) -> Option<u32> {
        member(self.nodes[id as usize].beside[LEFT])
    }

    /// The members on both sides of `id` in its tree.
    #[inline(always)]
    pub fn neighbours(&self, id: u32) -> (Option<u32>, Option<u32>) {
        let [before, behind] = self.nodes[id as usize].beside;
        (member(before), member(behind))
    }

    /// The member of a tree with this key that a descent from its top meets first.
    #[inline(always)]
    pub fn find(&mut self, of: Root, key: K) -> Option<u32> {
        self.find_counting(of, key, Steps::Uncounted).0
    }

    /// The same, and the number of comparisons, if they are counted.
    #[inline(always)]
    pub(super) fn find_counting(&mut self, of: Root, key: K, steps: Steps) -> (Option<u32>, u32) {
        match self.known_place(of, key, steps) {
            Some(place) => (None, place.comparisons),
            None => self.search(of, key, steps),
        }
    }

    #[inline(always)]
    fn search(&mut self, of: Root, key: K, steps: Steps) -> (Option<u32>, u32) {
        let nodes = &self.nodes[..];
        let (mut at, mut side, mut comparisons) = (of.top as usize, LEFT, 0);
        let mut last = at;
        while let Some(node) = nodes.get(at) {
            // An index instead of a branch, because the direction of a search cannot be predicted. Equal keys are
            // detected at the end.
            (last, side) = (at, usize::from(key > node.key));
            at = node.child[side] as usize;
            comparisons += u32::from(steps == Steps::Counted);
        }
        let Some(parent) = nodes.get(last) else { return (None, 0) };
        let (last, beyond) = (last as u32, parent.beside[side]);
        // The side on which a search ends cannot be predicted either, here and below.
        let behind = select_unpredictable(side == LEFT, last, beyond);
        if self.rekeyed || nodes.get(behind as usize).is_some_and(|behind| behind.key == key) {
            return self.find_again(of, key);
        }
        let comparisons = if steps == Steps::Counted { comparisons } else { UNCOUNTED };
        self.gap = Gap { key, top: of.top, place: Place { parent: last, side: side as u32, beyond, comparisons } };
        (None, comparisons)
    }

    /// There is such a key, or it is not known: which member is met first depends on the tree's shape.
    #[inline(never)]
    fn find_again(&self, of: Root, key: K) -> (Option<u32>, u32) {
        let (mut at, mut comparisons) = (of.top, 0);
        while let Some(node) = self.nodes.get(at as usize) {
            comparisons += 1;
            if key == node.key {
                return (member(at), comparisons);
            }
            at = node.child[usize::from(key > node.key)];
        }
        (None, comparisons)
    }

    /// The gap of the last failed search, if a search for `key` would fail there too.
    #[inline(always)]
    fn known_place(&self, of: Root, key: K, steps: Steps) -> Option<Place> {
        let Gap { key: searched, top, place } = self.gap;
        if top != of.top || key > searched || (steps == Steps::Counted && place.comparisons == UNCOUNTED) {
            return None;
        }
        let before = select_unpredictable(place.side as usize == LEFT, place.beyond, place.parent);
        self.nodes.get(before as usize).is_none_or(|before| before.key < key).then_some(place)
    }

    /// The gap behind all keys equal to `key`.
    fn descend(&self, of: Root, key: K) -> Place {
        let (mut at, mut parent, mut side, mut comparisons) = (of.top, NIL, LEFT, 0);
        while let Some(node) = self.nodes.get(at as usize) {
            comparisons += 1;
            (parent, side) = (at, usize::from(key >= node.key));
            at = node.child[side];
        }
        self.place(parent, side, comparisons)
    }

    /// The gap of the child that `parent` lacks on this side; without a parent, of the first member.
    fn place(&self, parent: u32, side: usize, comparisons: u32) -> Place {
        let beyond = self.nodes.get(parent as usize).map_or(NIL, |parent| parent.beside[side]);
        Place { parent, side: side as u32, beyond, comparisons }
    }

    /// The number of comparisons needed to insert `key`.
    pub fn comparisons(&self, of: Root, key: K) -> u32 {
        self.descend(of, key).comparisons
    }

    /// Where a search for `key` ends: at the member with that key that is met first, otherwise at the last one visited.
    /// Whether that is the one before or behind the key depends on the tree's shape.
    pub fn last_visited(&self, of: Root, key: K) -> Option<u32> {
        let (mut at, mut last) = (of.top, NIL);
        while let Some(node) = self.nodes.get(at as usize) {
            last = at;
            match key.cmp(&node.key) {
                core::cmp::Ordering::Less => at = node.child[LEFT],
                core::cmp::Ordering::Greater => at = node.child[RIGHT],
                core::cmp::Ordering::Equal => break,
            }
        }
        member(last)
    }

    /// The first member of a tree, in order, with a key of at least `key`.
    pub fn at_or_behind(&self, of: Root, key: K) -> Option<u32> {
        let (mut at, mut found) = (of.top, NIL);
        while let Some(node) = self.nodes.get(at as usize) {
            let side = usize::from(key > node.key);
            if side == LEFT {
                found = at;
            }
            at = node.child[side];
        }
        member(found)
    }

    /// Inserts `id` into a tree, behind equal keys.
    ///
    /// # Panics
    /// If it is in one already.
    #[inline]
    pub fn insert(&mut self, into: &mut Root, id: u32, key: K) {
        self.insert_counting(into, id, key, Steps::Uncounted);
    }

    /// The same; returns the number of comparisons, if they are counted.
    #[inline(always)]
    pub(super) fn insert_counting(&mut self, into: &mut Root, id: u32, key: K, steps: Steps) -> u32 {
        let place = match self.known_place(*into, key, steps) {
            Some(place) => place,
            None => self.descend(*into, key),
        };
        self.enter(into, id, key, place);
        place.comparisons
    }

    /// Inserts `id` into a tree, unless a descent from its top meets a member with this key; returns whether it did. If
    /// the descent meets none, it ends where an insertion would: one descent for both.
    ///
    /// # Panics
    /// If it is in one already.
    pub fn insert_if_free(&mut self, into: &mut Root, id: u32, key: K) -> bool {
        let (mut at, mut parent, mut side) = (into.top, NIL, false);
        while let Some(node) = self.nodes.get(at as usize) {
            if node.key == key {
                return false;
            }
            (parent, side) = (at, key > node.key);
            at = node.child[usize::from(side)];
        }
        let place = self.place(parent, usize::from(side), UNCOUNTED);
        self.enter(into, id, key, place);
        true
    }

    #[inline(always)]
    fn enter(&mut self, into: &mut Root, id: u32, key: K, place: Place) {
        if id as usize >= self.nodes.len() {
            self.grow(id);
        }
        self.gap.top = UNKNOWN;
        self.hang(into, id, key, place);
        into.len += 1;
        self.summarise_up(id);
        self.fix_insertion(into, id, place.parent);
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, id: u32) {
        assert!(id < UNKNOWN, "{id} stands for no thing");
        self.nodes.resize(id as usize + 1, Node::of(K::default(), NIL, Colour::Out));
    }

    /// Inserts into a gap, as a red node.
    #[inline(always)]
    fn hang(&mut self, into: &mut Root, id: u32, key: K, Place { parent, side, beyond, .. }: Place) {
        let (nodes, side) = (&mut self.nodes[..], side as usize & 1);
        let node = &mut nodes[id as usize];
        assert!(node.colour == Colour::Out, "{id} is already in a tree");
        *node = Node::of(key, parent, Colour::Red);
        node.beside[side] = beyond;
        node.beside[1 - side] = parent;
        let Some(above) = nodes.get_mut(parent as usize) else {
            (into.top, into.first) = (id, id);
            return;
        };
        (above.child[side], above.beside[side]) = (id, id);
        match nodes.get_mut(beyond as usize) {
            Some(beyond) => beyond.beside[1 - side] = id,
            None if side == LEFT => into.first = id,
            None => {}
        }
    }

    /// Removes `id` from its tree; returns the member that was behind it.
    ///
    /// # Panics
    /// If it is in none.
    #[inline(always)]
    pub fn remove(&mut self, from: &mut Root, id: u32) -> Option<u32> {
        member(self.take_out(from, id))
    }

    #[inline]
    fn take_out(&mut self, from: &mut Root, id: u32) -> u32 {
        self.gap.top = UNKNOWN;
        let nodes = &mut self.nodes[..];
        let node = &mut nodes[id as usize];
        let Node { parent, child: [left, right], beside: [before, behind], colour, .. } = *node;
        assert!(colour != Colour::Out, "{id} is in no tree");
        node.colour = Colour::Out;
        match nodes.get_mut(before as usize) {
            Some(before) => before.beside[RIGHT] = behind,
            None => from.first = behind,
        }
        let mut removed = colour;
        // The lowest member whose subtree changes; `x`, if there is one, is below it.
        let mut lowest = parent;
        let x;
        if left == NIL || right == NIL {
            if let Some(behind) = nodes.get_mut(behind as usize) {
                behind.beside[LEFT] = before;
            }
            x = if left == NIL { right } else { left };
            balance::replace(nodes, &mut from.top, id, parent, x);
        } else {
            // The one behind it takes its place.
            let (y, node) = (behind, &mut nodes[behind as usize]);
            let Node { parent: above, child: [_, below], colour: other, .. } = *node;
            (node.beside[LEFT], node.child[LEFT], node.colour) = (before, left, colour);
            (removed, x, lowest) = (other, below, y);
            if above != id {
                node.child[RIGHT] = right;
                lowest = above;
                nodes[above as usize].child[LEFT] = x;
                if let Some(x) = nodes.get_mut(x as usize) {
                    x.parent = above;
                }
                nodes[right as usize].parent = y;
            }
            balance::replace(nodes, &mut from.top, id, parent, y);
            nodes[left as usize].parent = y;
        }
        from.len -= 1;
        self.summarise_up(lowest);
        if let Some(x) = self.nodes.get_mut(x as usize) {
            // The only child of a removed node is red and the node was black: the child takes its colour.
            x.colour = Colour::Black;
        } else if removed == Colour::Black {
            self.fix_removal(from, lowest);
        }
        behind
    }

    /// The members of a tree in order.
    pub fn iter(&self, of: Root) -> impl Iterator<Item = u32> + '_ {
        core::iter::successors(of.first(), |&id| self.next(id))
    }

    fn colour(&self, at: u32) -> Colour {
        self.nodes.get(at as usize).map_or(Colour::Black, |node| node.colour)
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
fn member(at: u32) -> Option<u32> {
    (at != NIL).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Tree;

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
        members(1).filter(|id| id % 4 == 0).for_each(|id| _ = alone.remove(id));
        assert!(forest.iter(roots[1]).eq(alone.iter()));
        assert_eq!((roots[1].len(), roots[1].first()), (alone.len(), alone.first()));
        for key in 0..50 {
            assert_eq!(forest.last_visited(roots[1], key), alone.last_visited(key));
            assert_eq!(forest.find(roots[1], key), alone.find(key).0);
            assert_eq!(forest.comparisons(roots[1], key), alone.clone().insert(100, key));
        }
        assert_eq!(forest.last(roots[1]), alone.last());
    }
}
