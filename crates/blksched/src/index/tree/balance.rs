//! What keeps a tree balanced: rotations, the fix-ups of the textbook, and the subtree summaries made anew on the way.

use super::{Colour, LEFT, NIL, Node, Summary, Tree, member};

impl<K: Copy + Default + Ord, S: Summary<K>> Tree<K, S> {
    /// Turn the edge between `at` and its child on the other side, so that `at` moves down to `side`.
    pub(super) fn rotate(&mut self, at: u32, side: usize) {
        let up = self.nodes[at as usize].child[1 - side];
        let inner = self.nodes[up as usize].child[side];
        self.nodes[at as usize].child[1 - side] = inner;
        if inner != NIL {
            self.nodes[inner as usize].parent = at;
        }
        self.replace_below_parent(at, up);
        self.adopt(up, side, at);
        if S::KEPT {
            self.summarise(at);
            self.summarise(up);
        }
    }

    /// Make anew what is kept of the subtree at `at`.
    fn summarise(&mut self, at: u32) {
        let Node { key, child, .. } = self.nodes[at as usize];
        let below = child.map(|slot| member(slot).map(|id| self.summary(id)));
        self.nodes[at as usize].summary = S::of(key, below);
    }

    /// The same for every subtree that `at` is in.
    pub(super) fn summarise_up(&mut self, mut at: u32) {
        while S::KEPT && at != NIL {
            self.summarise(at);
            at = self.parent(at);
        }
    }

    /// Hang `by` where `at` hangs; the sentinel's parent is set too, which the fix-up of a removal needs.
    pub(super) fn replace_below_parent(&mut self, at: u32, by: u32) {
        let parent = self.parent(at);
        match parent {
            NIL => self.root = by,
            _ => {
                let side = self.side(at);
                self.nodes[parent as usize].child[side] = by;
            }
        }
        self.nodes[by as usize].parent = parent;
    }

    /// `z` is new and red; so may its parent be.
    pub(super) fn fix_insertion(&mut self, mut z: u32) {
        while self.colour(self.parent(z)) == Colour::Red {
            let parent = self.parent(z);
            let grandparent = self.parent(parent);
            let side = self.side(parent);
            let uncle = self.nodes[grandparent as usize].child[1 - side];
            if self.colour(uncle) == Colour::Red {
                self.paint(parent, Colour::Black);
                self.paint(uncle, Colour::Black);
                self.paint(grandparent, Colour::Red);
                z = grandparent;
                continue;
            }
            if self.side(z) != side {
                z = parent;
                self.rotate(z, side);
            }
            let parent = self.parent(z);
            let grandparent = self.parent(parent);
            self.paint(parent, Colour::Black);
            self.paint(grandparent, Colour::Red);
            self.rotate(grandparent, 1 - side);
        }
        let root = self.root;
        self.paint(root, Colour::Black);
    }

    /// A black node is gone above `x`.
    pub(super) fn fix_removal(&mut self, mut x: u32) {
        while x != self.root && self.colour(x) == Colour::Black {
            let parent = self.parent(x);
            let side = usize::from(self.nodes[parent as usize].child[LEFT] != x);
            let mut sibling = self.nodes[parent as usize].child[1 - side];
            if self.colour(sibling) == Colour::Red {
                self.paint(sibling, Colour::Black);
                self.paint(parent, Colour::Red);
                self.rotate(parent, side);
                sibling = self.nodes[parent as usize].child[1 - side];
            }
            let near = self.nodes[sibling as usize].child[side];
            let far = self.nodes[sibling as usize].child[1 - side];
            if self.colour(near) == Colour::Black && self.colour(far) == Colour::Black {
                self.paint(sibling, Colour::Red);
                x = parent;
                continue;
            }
            if self.colour(far) == Colour::Black {
                self.paint(near, Colour::Black);
                self.paint(sibling, Colour::Red);
                self.rotate(sibling, 1 - side);
                sibling = self.nodes[parent as usize].child[1 - side];
            }
            self.paint(sibling, self.colour(parent));
            self.paint(parent, Colour::Black);
            let far = self.nodes[sibling as usize].child[1 - side];
            self.paint(far, Colour::Black);
            self.rotate(parent, side);
            x = self.root;
        }
        self.paint(x, Colour::Black);
    }

    /// The red-black rules, the order, and the cached first member.
    ///
    /// # Panics
    /// If one does not hold.
    pub fn check(&self) {
        assert_eq!(self.colour(self.root), Colour::Black);
        assert_eq!(self.first, self.extreme(self.root, LEFT));
        self.black_height(self.root);
        let keys: Vec<K> = self.iter().map(|id| self.key(id)).collect();
        assert!(keys.is_sorted() && keys.len() == self.len as usize);
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
