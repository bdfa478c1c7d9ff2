//! Balancing of a tree: rotations, the textbook's fix-ups, and the update of subtree summaries on the way.

use alloc::vec::Vec;

use super::{Colour, Forest, LEFT, NIL, Node, RIGHT, Root, Summary};

/// Whether this node is red; a missing node is black.
#[inline(always)]
fn is_red<K, S>(nodes: &[Node<K, S>], at: u32) -> bool {
    nodes.get(at as usize).is_some_and(|node| node.colour == Colour::Red)
}

/// Sets the parent of this node, if there is one.
#[inline(always)]
fn set_parent<K, S>(nodes: &mut [Node<K, S>], at: u32, parent: u32) {
    if let Some(node) = nodes.get_mut(at as usize) {
        node.parent = parent;
    }
}

/// Rotates the edge between `at` and `up`, its child on the other side, so that `at` moves down to `side`.
#[inline(always)]
fn rotate<K: Copy, S: Summary<K>>(nodes: &mut [Node<K, S>], root: &mut u32, [at, up]: [u32; 2], side: usize) {
    let inner = core::mem::replace(&mut nodes[up as usize].child[side], at);
    let node = &mut nodes[at as usize];
    node.child[1 - side] = inner;
    let parent = core::mem::replace(&mut node.parent, up);
    set_parent(nodes, inner, at);
    replace(nodes, root, at, parent, up);
    if S::KEPT {
        summarise(nodes, at);
        summarise(nodes, up);
    }
}

/// Two rotations in one: `up` is a child of `at`, and `inner`, the child of `up` on `side`, moves above both; `at`
/// moves down to `side`.
#[inline(always)]
fn rotate_twice<K: Copy, S: Summary<K>>(
    nodes: &mut [Node<K, S>],
    root: &mut u32,
    [at, up, inner]: [u32; 3],
    side: usize,
) {
    let node = &mut nodes[inner as usize];
    let near = core::mem::replace(&mut node.child[side], at);
    let far = core::mem::replace(&mut node.child[1 - side], up);
    let node = &mut nodes[at as usize];
    node.child[1 - side] = near;
    let parent = core::mem::replace(&mut node.parent, inner);
    let node = &mut nodes[up as usize];
    (node.child[side], node.parent) = (far, inner);
    set_parent(nodes, near, at);
    set_parent(nodes, far, up);
    replace(nodes, root, at, parent, inner);
    if S::KEPT {
        summarise(nodes, at);
        summarise(nodes, up);
        summarise(nodes, inner);
    }
}

/// Hang `by` where `at` hangs, below `parent`.
#[inline(always)]
pub(super) fn replace<K, S>(nodes: &mut [Node<K, S>], root: &mut u32, at: u32, parent: u32, by: u32) {
    set_parent(nodes, by, parent);
    match nodes.get_mut(parent as usize) {
        Some(node) => node.child[usize::from(node.child[LEFT] != at)] = by,
        None => *root = by,
    }
}

/// Recomputes the value of the subtree at `at`.
fn summarise<K: Copy, S: Summary<K>>(nodes: &mut [Node<K, S>], at: u32) {
    let Node { key, child, .. } = nodes[at as usize];
    let below = child.map(|child| nodes.get(child as usize).map(|node| node.summary));
    nodes[at as usize].summary = S::of(key, below);
}

impl<K: Copy + Default + Ord, S: Summary<K>> Forest<K, S> {
    /// Recomputes the value of every subtree that contains `at`.
    #[inline(always)]
    pub(super) fn summarise_up(&mut self, mut at: u32) {
        while S::KEPT && at != NIL {
            summarise(&mut self.nodes, at);
            at = self.parent(at);
        }
    }

    /// `z` is new and red; its parent may be red, too.
    #[inline(always)]
    pub(super) fn fix_insertion(&mut self, of: &mut Root, mut z: u32, mut parent: u32) {
        let (nodes, root) = (&mut self.nodes[..], &mut of.top);
        loop {
            let Some(above) = nodes.get(parent as usize) else {
                // Only a node that has become the top can be red there.
                nodes[z as usize].colour = Colour::Black;
                return;
            };
            if above.colour != Colour::Red {
                return;
            }
            let grandparent = above.parent;
            let children = nodes[grandparent as usize].child;
            let side = usize::from(children[RIGHT] == parent);
            let uncle = children[1 - side];
            nodes[grandparent as usize].colour = Colour::Red;
            if is_red(nodes, uncle) {
                nodes[parent as usize].colour = Colour::Black;
                nodes[uncle as usize].colour = Colour::Black;
                z = grandparent;
                parent = nodes[z as usize].parent;
                continue;
            }
            if nodes[parent as usize].child[side] == z {
                nodes[parent as usize].colour = Colour::Black;
                rotate(nodes, root, [grandparent, parent], 1 - side);
            } else {
                nodes[z as usize].colour = Colour::Black;
                rotate_twice(nodes, root, [grandparent, parent, z], 1 - side);
            }
            return;
        }
    }

    /// Rebalances after the removal of a black node without children below `parent`.
    #[inline(always)]
    pub(super) fn fix_removal(&mut self, of: &mut Root, mut parent: u32) {
        let (nodes, root) = (&mut self.nodes[..], &mut of.top);
        // The subtree that lacks a black node: the missing child, or further up a whole subtree.
        let mut x = NIL;
        while let Some(above) = nodes.get(parent as usize) {
            let children = above.child;
            let side = usize::from(children[LEFT] != x);
            let mut sibling = children[1 - side];
            // There is one: its side has one black node more.
            if nodes[sibling as usize].colour == Colour::Red {
                nodes[sibling as usize].colour = Colour::Black;
                nodes[parent as usize].colour = Colour::Red;
                rotate(nodes, root, [parent, sibling], side);
                sibling = nodes[parent as usize].child[1 - side];
            }
            let nephews = nodes[sibling as usize].child;
            let (near, far) = (nephews[side], nephews[1 - side]);
            let colour = nodes[parent as usize].colour;
            if is_red(nodes, far) {
                nodes[sibling as usize].colour = colour;
                nodes[parent as usize].colour = Colour::Black;
                nodes[far as usize].colour = Colour::Black;
                rotate(nodes, root, [parent, sibling], side);
                return;
            }
            if is_red(nodes, near) {
                nodes[near as usize].colour = colour;
                nodes[parent as usize].colour = Colour::Black;
                rotate_twice(nodes, root, [parent, sibling, near], side);
                return;
            }
            nodes[sibling as usize].colour = Colour::Red;
            if colour == Colour::Red {
                nodes[parent as usize].colour = Colour::Black;
                return;
            }
            (x, parent) = (parent, nodes[parent as usize].parent);
        }
    }

    /// Checks the red-black rules, the order, and the cached first member.
    ///
    /// # Panics
    /// If one does not hold.
    pub fn check(&self, of: Root) {
        assert_eq!(self.colour(of.top), Colour::Black);
        assert_eq!(of.first, self.extreme(of.top, LEFT));
        self.black_height(of.top);
        let members: Vec<u32> = self.iter(of).collect();
        assert!(members.windows(2).all(|pair| self.previous(pair[1]) == Some(pair[0])));
        assert_eq!(members.last().copied(), self.last(of));
        let keys: Vec<K> = members.iter().map(|&id| self.key(id)).collect();
        assert!(keys.is_sorted() && keys.len() == of.len as usize);
    }

    /// Checks every node's children and colour.
    #[cfg(test)]
    pub(in crate::index) fn shape(&self) -> Vec<([u32; 2], bool)> {
        self.nodes.iter().map(|node| (node.child, node.colour == Colour::Red)).collect()
    }

    fn black_height(&self, at: u32) -> u32 {
        if at == NIL {
            return 0;
        }
        let [left, right] = self.nodes[at as usize].child;
        for child in [left, right].into_iter().filter(|&child| child != NIL) {
            assert_eq!(self.parent(child), at);
            assert!(self.colour(at) == Colour::Black || self.colour(child) == Colour::Black, "red under red");
        }
        let height = self.black_height(left);
        assert_eq!(height, self.black_height(right), "black heights differ");
        height + u32::from(self.colour(at) == Colour::Black)
    }
}
