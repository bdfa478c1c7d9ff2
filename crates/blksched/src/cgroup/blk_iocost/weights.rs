//! Weights and shares along the tree of groups.
//!
//! **Rule** A group has its weight while it is active, and claims the part of it that it has not donated. An inner
//! group claims in proportion to its children's claims. A share is a product of fractions from the root down, cached
//! until the next commit.
//! **Origin** docs/behaviour/cgroup-io.md#k4.
//! **In the kernel** `current_hweight`, `propagate_weights`, `hweight_inuse`, `iocg_activate`, `__propagate_weights`,
//! `hweight_active`.

use alloc::vec;
use alloc::vec::Vec;

use super::units::WHOLE;
use crate::request::GroupId;

/// One group.
#[derive(Clone, Copy, Debug, Default)]
struct WeightNode {
    exists: bool,
    parent: GroupId,
    weight: u64,
    active: u64,
    inuse: u64,
    last_inuse: u64,
    /// Sums over its children.
    suma: u64,
    sumu: u64,
    /// The shares as of the last commit.
    hwa: u64,
    hwi: u64,
    /// Whether it is active itself, not only through its children.
    itself: bool,
}

/// All groups.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    nodes: Vec<WeightNode>,
}

impl Default for Tree {
    fn default() -> Tree {
        Tree {
            nodes: vec![WeightNode {
                exists: true,
                weight: 100 * WHOLE,
                hwa: WHOLE,
                hwi: WHOLE,
                ..WeightNode::default()
            }],
        }
    }
}

/// `a * b / c`, rounded up; 0 if `c` is 0.
pub(super) fn ratio_up(a: u64, b: u64, c: u64) -> u64 {
    if c == 0 { 0 } else { (u128::from(a) * u128::from(b)).div_ceil(u128::from(c)) as u64 }
}

/// `a * b / c`, rounded down.
pub(super) fn ratio(a: u64, b: u64, c: u64) -> u64 {
    (u128::from(a) * u128::from(b) / u128::from(c)) as u64
}

impl Tree {
    fn node(&self, id: GroupId) -> &WeightNode {
        &self.nodes[id.0 as usize]
    }

    fn node_mut(&mut self, id: GroupId) -> &mut WeightNode {
        &mut self.nodes[id.0 as usize]
    }

    /// Returns true if the group is new.
    pub(super) fn make(&mut self, id: GroupId, parent: GroupId, weight: u64) -> bool {
        if self.nodes.len() <= id.0 as usize {
            self.nodes.resize(id.0 as usize + 1, WeightNode::default());
        }
        let is_new = !self.node(id).exists;
        if is_new {
            *self.node_mut(id) = WeightNode { exists: true, parent, weight, hwa: 1, hwi: 1, ..WeightNode::default() };
        }
        is_new
    }

    pub(super) fn remove(&mut self, id: GroupId) {
        if id != GroupId::ROOT && (id.0 as usize) < self.nodes.len() {
            // Its part of its parent's sum is removed with it.
            let WeightNode { parent, inuse, active, .. } = *self.node(id);
            let above = self.node_mut(parent);
            above.suma -= active.min(above.suma);
            above.sumu -= inuse.min(above.sumu);
            *self.node_mut(id) = WeightNode::default();
        }
    }

    pub(super) fn weight(&self, id: GroupId) -> u64 {
        self.node(id).weight
    }

    pub(super) fn set_weight(&mut self, id: GroupId, weight: u64) {
        self.node_mut(id).weight = weight;
    }

    pub(super) fn active(&self, id: GroupId) -> u64 {
        self.node(id).active
    }

    pub(super) fn inuse(&self, id: GroupId) -> u64 {
        self.node(id).inuse
    }

    pub(super) fn last_inuse(&self, id: GroupId) -> u64 {
        self.node(id).last_inuse
    }

    pub(super) fn parent(&self, id: GroupId) -> GroupId {
        self.node(id).parent
    }

    /// The sums over the children of `id`.
    pub(super) fn sums(&self, id: GroupId) -> (u64, u64) {
        (self.node(id).suma, self.node(id).sumu)
    }

    pub(super) fn hwa(&self, id: GroupId) -> u64 {
        self.node(id).hwa
    }

    pub(super) fn hwi(&self, id: GroupId) -> u64 {
        self.node(id).hwi
    }

    pub(super) fn has_active_children(&self, id: GroupId) -> bool {
        self.node(id).suma > 0
    }

    /// Marks a group as active itself, or as no longer active itself.
    pub(super) fn set_itself(&mut self, id: GroupId, itself: bool) {
        self.node_mut(id).itself = itself;
    }

    /// Whether any of its ancestors below the root is active itself.
    pub(super) fn is_below_an_active_one(&self, id: GroupId) -> bool {
        self.above(id).any(|above| above != GroupId::ROOT && self.node(above).itself)
    }

    /// The ancestors of `id`, from its parent to the root.
    pub(super) fn above(&self, id: GroupId) -> impl Iterator<Item = GroupId> + '_ {
        let up = |&id: &GroupId| (id != GroupId::ROOT).then(|| self.node(id).parent);
        core::iter::successors(Some(id), up).skip(1)
    }

    /// Sets a group's weight to `active`, of which it claims `inuse`; its ancestors are adjusted.
    pub(super) fn set(&mut self, id: GroupId, active: u64, inuse: u64) {
        let WeightNode { suma, sumu, itself, .. } = *self.node(id);
        let (mut active, mut inuse) = match !itself && suma > 0 {
            true => (active, ratio_up(active, sumu, suma)),
            false => (active, inuse.min(active).max(1)),
        };
        let node = self.node_mut(id);
        node.last_inuse = node.inuse;
        let mut id = id;
        while id != GroupId::ROOT && (active, inuse) != (self.node(id).active, self.node(id).inuse) {
            let WeightNode { parent, active: old_active, inuse: old_inuse, .. } = *self.node(id);
            let node = self.node_mut(id);
            (node.active, node.inuse) = (active, inuse);
            let above = self.node_mut(parent);
            above.suma = above.suma + active - old_active;
            above.sumu = above.sumu + inuse - old_inuse;
            (active, inuse) = match above.suma {
                0 => (0, 0),
                suma => (above.weight, ratio_up(above.weight, above.sumu, suma)),
            };
            id = parent;
        }
    }

    /// Recomputes the shares of `id`, from the root down.
    pub(super) fn refresh(&mut self, id: GroupId) {
        let (hwa, hwi) = self.share(id);
        let node = self.node_mut(id);
        (node.hwa, node.hwi) = (hwa.max(1), hwi.max(1));
    }

    fn share(&self, id: GroupId) -> (u64, u64) {
        if id == GroupId::ROOT {
            return (WHOLE, WHOLE);
        }
        let WeightNode { parent, active, inuse, .. } = *self.node(id);
        let (hwa, hwi) = self.share(parent);
        let (suma, sumu) = self.sums(parent);
        if suma == 0 || sumu == 0 {
            return (hwa, hwi);
        }
        (ratio(hwa, active, suma.max(active)), ratio(hwi, inuse, sumu.max(inuse)))
    }

    /// The share that `id` would have if it claimed all of its weight, and the others' claims stayed.
    pub(super) fn most(&self, id: GroupId) -> u64 {
        let (mut share, mut claim) = (WHOLE, self.active(id));
        let mut child = id;
        while child != GroupId::ROOT {
            let parent = self.parent(child);
            let (suma, sumu) = self.sums(parent);
            let sum = sumu + claim - self.inuse(child);
            share = ratio(share, claim, sum.max(1));
            claim = ratio_up(self.active(parent), sum, suma);
            child = parent;
        }
        share.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: GroupId = GroupId(1);
    const B: GroupId = GroupId(2);
    const IN_B: [GroupId; 2] = [GroupId(3), GroupId(4)];

    fn tree() -> Tree {
        let mut tree = Tree::default();
        for (id, parent, weight) in
            [(A, GroupId::ROOT, 100), (B, GroupId::ROOT, 300), (IN_B[0], B, 100), (IN_B[1], B, 100)]
        {
            tree.make(id, parent, weight * WHOLE);
        }
        for (id, weight) in [(A, 100), (IN_B[0], 100), (IN_B[1], 100)] {
            tree.set_itself(id, true);
            tree.set(id, weight * WHOLE, weight * WHOLE);
        }
        [A, IN_B[0], IN_B[1]].into_iter().for_each(|id| tree.refresh(id));
        tree
    }

    #[test]
    fn a_share_is_a_product_of_fractions() {
        let tree = tree();
        assert_eq!([A, IN_B[0]].map(|id| (tree.hwa(id), tree.hwi(id))), [(16384, 16384), (24576, 24576)]);
    }

    #[test]
    fn what_a_leaf_gives_away_its_parent_claims_no_more() {
        let mut tree = tree();
        tree.set(IN_B[0], 100 * WHOLE, 50 * WHOLE);
        assert_eq!(tree.inuse(B), 225 * WHOLE);
        tree.refresh(A);
        assert_eq!((tree.hwa(A), tree.hwi(A)), (16384, WHOLE * 100 / 325));
        assert_eq!(tree.most(IN_B[0]), 24576);
    }

    #[test]
    fn a_group_that_goes_leaves_one_in_the_sum() {
        let mut tree = tree();
        tree.set(A, 0, 0);
        assert_eq!((tree.active(A), tree.inuse(A), tree.last_inuse(A)), (0, 1, 100 * WHOLE));
        assert_eq!(tree.sums(GroupId::ROOT), (300 * WHOLE, 300 * WHOLE + 1));
    }
}
