//! Groups: the owner of an I/O's share, and the size of that share. Linux calls one a cgroup, a server a tenant.
//!
//! Groups form a tree below the root, [`GroupId::ROOT`]. Siblings share by `weight`; a group's own submitters share
//! with its child groups by `leaf_weight`. The block queue owns the table and tells the elevator of every group before
//! its first bio, and of every change while it runs; an elevator without groups ignores both.
//!
//! **In the kernel** `blkcg_gq`.

#![doc(alias = "blkcg_gq")]

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::request::GroupId;

/// The weights that a group may have (cgroup v2's `io.weight`).
pub const WEIGHTS: core::ops::RangeInclusive<u32> = 1..=10_000;
/// Group numbers are small, because tables are indexed by them.
pub const MOST_GROUPS: u32 = 1 << 16;

/// A group's place and share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The group above it; the root is its own parent.
    pub parent: GroupId,
    /// Its share among its siblings, in [`WEIGHTS`]. The root has no siblings, so its weight has no meaning.
    pub weight: u32,
    /// The share of its own submitters beside its child groups, in [`WEIGHTS`] (cgroup v1's `blkio.leaf_weight`).
    pub leaf_weight: u32,
}

impl Group {
    /// The root until it is changed (4.20: twice a group's weight).
    pub const ROOT: Group = Group { parent: GroupId::ROOT, weight: 200, leaf_weight: 200 };
}

impl Default for Group {
    /// A child of the root with cgroup v2's default weight, 100.
    fn default() -> Group {
        Group { parent: GroupId::ROOT, weight: 100, leaf_weight: 100 }
    }
}

/// Why a group cannot be set so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum GroupError {
    /// A weight outside [`WEIGHTS`].
    Weight(u32),
    /// A number beyond [`MOST_GROUPS`].
    TooMany(GroupId),
    /// Its parent does not exist.
    NoParent(GroupId),
    /// A group cannot change its parent.
    Moved(GroupId),
    /// It does not exist, or no longer.
    Unknown(GroupId),
    /// It has child groups, or is the root.
    InUse(GroupId),
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GroupError::Weight(weight) => {
                write!(f, "a weight of {weight} is not within {}..={}", WEIGHTS.start(), WEIGHTS.end())
            }
            GroupError::TooMany(id) => write!(f, "group {} is beyond the limit of {MOST_GROUPS} groups", id.0),
            GroupError::NoParent(id) => write!(f, "the parent of group {} does not exist", id.0),
            GroupError::Moved(id) => write!(f, "group {} cannot move to another parent", id.0),
            GroupError::Unknown(id) => write!(f, "group {} does not exist", id.0),
            GroupError::InUse(id) => write!(f, "group {} has child groups or is the root", id.0),
        }
    }
}

impl core::error::Error for GroupError {}

/// All groups, by number. The root always exists.
#[derive(Clone, Debug)]
pub struct Groups {
    table: Vec<Option<Group>>,
}

impl Default for Groups {
    fn default() -> Groups {
        Groups { table: vec![Some(Group::ROOT)] }
    }
}

impl Groups {
    /// The group of this number.
    #[inline]
    pub fn get(&self, id: GroupId) -> Option<&Group> {
        self.table.get(id.0 as usize)?.as_ref()
    }

    /// All groups, a parent before its children.
    pub fn iter(&self) -> impl Iterator<Item = (GroupId, Group)> + '_ {
        let depth = |id| core::iter::successors(Some(id), |&id| self.parent(id)).count();
        let mut all: Vec<_> =
            (0..).zip(&self.table).filter_map(|(id, group)| group.map(|group| (GroupId(id), group))).collect();
        all.sort_by_key(|&(id, _)| depth(id));
        all.into_iter()
    }

    /// The group above `id`, unless that is the root.
    fn parent(&self, id: GroupId) -> Option<GroupId> {
        if id == GroupId::ROOT { None } else { self.get(id).map(|group| group.parent) }
    }

    /// Creates or changes a group.
    pub(crate) fn set(&mut self, id: GroupId, group: Group) -> Result<(), GroupError> {
        if let Some(&weight) = [group.weight, group.leaf_weight].iter().find(|&weight| !WEIGHTS.contains(weight)) {
            return Err(GroupError::Weight(weight));
        }
        if id.0 >= MOST_GROUPS {
            return Err(GroupError::TooMany(id));
        }
        if self.get(id).is_some_and(|present| present.parent != group.parent) {
            return Err(GroupError::Moved(id));
        }
        if self.get(group.parent).is_none() {
            return Err(GroupError::NoParent(id));
        }
        let index = id.0 as usize;
        if index >= self.table.len() {
            self.table.resize(index + 1, None);
        }
        self.table[index] = Some(group);
        Ok(())
    }

    /// Removes a group.
    pub(crate) fn remove(&mut self, id: GroupId) -> Result<(), GroupError> {
        if self.get(id).is_none() {
            return Err(GroupError::Unknown(id));
        }
        if id == GroupId::ROOT || self.iter().any(|(child, group)| child != id && group.parent == id) {
            return Err(GroupError::InUse(id));
        }
        self.table[id.0 as usize] = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_always_there_and_parents_come_ahead_of_their_children() {
        let mut groups = Groups::default();
        assert_eq!(groups.get(GroupId::ROOT), Some(&Group::ROOT));
        groups.set(GroupId(5), Group::default()).unwrap();
        groups.set(GroupId(2), Group { parent: GroupId(5), ..Group::default() }).unwrap();
        let order: Vec<u32> = groups.iter().map(|(id, _)| id.0).collect();
        assert_eq!(order, [0, 5, 2]);
    }

    #[test]
    fn what_cannot_be_is_refused_and_changes_nothing() {
        let mut groups = Groups::default();
        let set = |groups: &mut Groups, id, parent, weight| {
            groups.set(GroupId(id), Group { parent: GroupId(parent), weight, leaf_weight: 100 })
        };
        assert_eq!(set(&mut groups, 1, 0, 0), Err(GroupError::Weight(0)));
        assert_eq!(set(&mut groups, 1, 0, 10_001), Err(GroupError::Weight(10_001)));
        assert_eq!(set(&mut groups, 1, 7, 100), Err(GroupError::NoParent(GroupId(1))));
        assert_eq!(set(&mut groups, 1, 1, 100), Err(GroupError::NoParent(GroupId(1))));
        assert_eq!(set(&mut groups, MOST_GROUPS, 0, 100), Err(GroupError::TooMany(GroupId(MOST_GROUPS))));
        assert_eq!(groups.iter().count(), 1);
        set(&mut groups, 1, 0, 100).unwrap();
        set(&mut groups, 2, 1, 100).unwrap();
        assert_eq!(set(&mut groups, 2, 0, 100), Err(GroupError::Moved(GroupId(2))));
        assert_eq!(set(&mut groups, 0, 1, 100), Err(GroupError::Moved(GroupId(0))));
        assert_eq!(groups.remove(GroupId(1)), Err(GroupError::InUse(GroupId(1))));
        assert_eq!(groups.remove(GroupId(0)), Err(GroupError::InUse(GroupId(0))));
        assert_eq!(groups.remove(GroupId(3)), Err(GroupError::Unknown(GroupId(3))));
        groups.remove(GroupId(2)).unwrap();
        groups.remove(GroupId(1)).unwrap();
        assert_eq!(groups.iter().count(), 1);
    }
}
