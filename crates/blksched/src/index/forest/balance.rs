//! Balancing of a tree: rotations, the textbook's fix-ups, and the update of subtree summaries on the way.

use alloc::vec::Vec;

use super::{Colour, Forest, LEFT, NIL, Node, RIGHT, Root, Summary, member};

/// Rotates the edge between `at` and its child on the other side, so that `at` moves down to `side`.
#[inline(always)]
fn rotate<K: Copy, S: Summary<K>>(nodes: &mut [Node<K, S>], root: &mut u32, at: u32, side: usize) {
    let up = nodes[at as usize].child[1 - side];
    let inner = core::mem::replace(&mut nodes[up as usize].child[side], at);
    let node = &mut nodes[at as usize];
    node.child[1 - side] = inner;
    let parent = core::mem::replace(&mut node.parent, up);
    if inner != NIL {
        nodes[inner as usize].parent = at;
    }
    replace(nodes, root, at, parent, up);
    if S::KEPT {
        summarise(nodes, at);
        summarise(nodes, up);
    }
}

/// Puts `by` in the place of `at`, below `parent`; also sets the sentinel's parent, which the fix-up of a removal
/// needs.
#[inline(always)]
pub(super) fn replace<K, S>(nodes: &mut [Node<K, S>], root: &mut u32, at: u32, parent: u32, by: u32) {
    nodes[by as usize].parent = parent;
    if parent == NIL {
        *root = by;
    } else {
        let child = &mut nodes[parent as usize].child;
        child[usize::from(child[LEFT] != at)] = by;
    }
}

/// Recomputes the value of the subtree at `at`.
fn summarise<K: Copy, S: Summary<K>>(nodes: &mut [Node<K, S>], at: u32) {
    let Node { key, child, .. } = nodes[at as usize];
    let below = child.map(|slot| member(slot).map(|_| nodes[slot as usize].summary));
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
        while nodes[parent as usize].colour == Colour::Red {
            let grandparent = nodes[parent as usize].parent;
            let children = nodes[grandparent as usize].child;
            let side = usize::from(children[RIGHT] == parent);
            let uncle = children[1 - side];
            if nodes[uncle as usize].colour == Colour::Red {
                nodes[parent as usize].colour = Colour::Black;
                nodes[uncle as usize].colour = Colour::Black;
                nodes[grandparent as usize].colour = Colour::Red;
                z = grandparent;
                parent = nodes[z as usize].parent;
                continue;
            }
            if nodes[parent as usize].child[side] != z {
                rotate(nodes, root, parent, side);
                // They have exchanged places.
                parent = z;
            }
            nodes[parent as usize].colour = Colour::Black;
            nodes[grandparent as usize].colour = Colour::Red;
            rotate(nodes, root, grandparent, 1 - side);
            break;
        }
        // Only a node that has become the top can be red there.
        if parent == NIL {
            nodes[z as usize].colour = Colour::Black;
        }
    }

    /// A black node above `x` was removed.
    #[inline(always)]
    pub(super) fn fix_removal(&mut self, of: &mut Root, mut x: u32) {
        let (nodes, root) = (&mut self.nodes[..], &mut of.top);
        while x != *root && nodes[x as usize].colour == Colour::Black {
            let parent = nodes[x as usize].parent;
            let children = nodes[parent as usize].child;
            let side = usize::from(children[LEFT] != x);
            let mut sibling = children[1 - side];
            if nodes[sibling as usize].colour == Colour::Red {
                nodes[sibling as usize].colour = Colour::Black;
                nodes[parent as usize].colour = Colour::Red;
                rotate(nodes, root, parent, side);
                sibling = nodes[parent as usize].child[1 - side];
            }
            let nephews = nodes[sibling as usize].child;
            let (near, far) = (nephews[side], nephews[1 - side]);
            if nodes[far as usize].colour == Colour::Black {
                if nodes[near as usize].colour == Colour::Black {
                    nodes[sibling as usize].colour = Colour::Red;
                    x = parent;
                    continue;
                }
                nodes[near as usize].colour = Colour::Black;
                nodes[sibling as usize].colour = Colour::Red;
                rotate(nodes, root, sibling, 1 - side);
                sibling = near;
            }
            nodes[sibling as usize].colour = nodes[parent as usize].colour;
            nodes[parent as usize].colour = Colour::Black;
            let far = nodes[sibling as usize].child[1 - side];
            nodes[far as usize].colour = Colour::Black;
            rotate(nodes, root, parent, side);
            x = *root;
        }
        nodes[x as usize].colour = Colour::Black;
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
