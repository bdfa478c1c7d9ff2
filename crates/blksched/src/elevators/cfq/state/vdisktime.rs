//! A group's position among groups: its weight, its share of the disk, and its received service.
//!
//! **Rule** Positions wrap, so they are compared by their signed difference. A written weight takes effect when the
//! group is next inserted (file `state/group_tree`).
//! **Origin** docs/behaviour/elevators-4.20.md#g.1 to #g.4.
//! **In the kernel** `vdisktime`, `leaf_weight`, `cfqg_scale_charge`, `vfraction`.

use crate::elevators::cfq::ids::Gid;
use core::cmp::Ordering;

/// The whole disk, as a fraction.
pub(crate) const WHOLE: u64 = 4096;

/// A group's position: compared by signed difference, so that it may wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct VirtualTime(u64);

impl VirtualTime {
    pub(crate) fn after(self, by: u64) -> VirtualTime {
        VirtualTime(self.0.wrapping_add(by))
    }
}

impl PartialOrd for VirtualTime {
    fn partial_cmp(&self, other: &VirtualTime) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for VirtualTime {
    fn cmp(&self, other: &VirtualTime) -> Ordering {
        (self.0.wrapping_sub(other.0) as i64).cmp(&0)
    }
}

/// A group's weights and its position among groups.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    pub(super) parent: Option<Gid>,
    pub(super) weight: u64,
    pub(super) leaf_weight: u64,
    /// Written but not yet in force.
    pub(super) new_weight: Option<u64>,
    pub(super) new_leaf_weight: Option<u64>,
    /// The number of its active child groups, plus one if it has queues of its own.
    pub(super) active: u32,
    /// The sum of their weights.
    pub(super) weights: u64,
    pub(super) at: VirtualTime,
    /// Its share of the disk, of 4096.
    pub(super) fraction: u64,
}

impl Share {
    pub(crate) fn new(parent: Option<Gid>, weight: u32, leaf_weight: u32) -> Share {
        Share {
            parent,
            weight: u64::from(weight),
            leaf_weight: u64::from(leaf_weight),
            new_weight: None,
            new_leaf_weight: None,
            active: 0,
            weights: 0,
            at: VirtualTime::default(),
            fraction: WHOLE,
        }
    }

    /// Notes weights that were written.
    pub(crate) fn write(&mut self, weight: u32, leaf_weight: u32) {
        (self.new_weight, self.new_leaf_weight) = (Some(u64::from(weight)), Some(u64::from(leaf_weight)));
    }

    /// Its share of the disk among the groups active at its last insertion, of 4096.
    pub(crate) fn fraction(&self) -> u64 {
        self.fraction
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_time_may_wrap() {
        assert!(VirtualTime(u64::MAX) < VirtualTime(5) && VirtualTime(5) > VirtualTime(u64::MAX - 3));
    }
}
