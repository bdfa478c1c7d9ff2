//! The `io` files of groups, written while the queue runs, and the controllers at the level of bios: `io.max` and
//! `io.prio.class`.
//!
//! **Rule** A bio passes `io.max` of its group and of every group above before anything else is tried; held there, it
//! takes no slot, and its submitter continues. Bios that pass later are submitted by a worker, reads and writes in the
//! order in which they were queued. Then the group's `io.prio.class` sets its priority, ahead of merging. io.cost and
//! io.latency are policies between merging and slots (`rq_qos`): the former is there once `io.cost.qos` enables it, the
//! latter once a target is written.
//! **Origin** docs/behaviour/cgroup-io.md#o.
//! **In the kernel** `blk_throtl_bio`, `blkcg_set_ioprio`, `submit_bio_noacct`.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::cgroup::blk_ioprio::PrioClass;
use crate::cgroup::blk_throttle::{Era, Passage, Throttle};
use crate::cgroup::files::{FileError, MaxKey};
use crate::group::GroupError;
use crate::request::{Bio, GroupId};
use crate::time::{Instant, Jiffies};

/// The tick rate of the controllers' clocks: Debian's.
pub(super) const JIFFIES: Jiffies = Jiffies::new(250);

/// Why a group's file refused what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum GroupFileError {
    /// The file does not accept the value.
    File(FileError),
    /// There is no such group, or the weight is invalid.
    Group(GroupError),
    /// Only the root has that file.
    RootOnly(&'static str),
    /// The root does not have that file.
    NotOfTheRoot(String),
}

impl core::fmt::Display for GroupFileError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            GroupFileError::File(error) => error.fmt(f),
            GroupFileError::Group(error) => error.fmt(f),
            GroupFileError::RootOnly(file) => write!(f, "{file}: only the root has this file"),
            GroupFileError::NotOfTheRoot(file) => write!(f, "{file}: the root does not have this file"),
        }
    }
}

impl core::error::Error for GroupFileError {}

/// The policies at the level of bios.
#[derive(Debug)]
pub(super) struct BioGate {
    max: Throttle,
    /// Whether any limit is set; otherwise no policy is asked.
    limits: bool,
    classes: BTreeMap<GroupId, PrioClass>,
    /// `io.weight`, for an io.cost that is enabled later.
    weights: BTreeMap<GroupId, u32>,
    held: BTreeMap<u64, Bio>,
    /// How many bios `io.max` has ever held.
    ever_held: u64,
    next: u64,
}

impl BioGate {
    /// Without any limit, of a kernel with this `io.max`.
    pub(super) fn new(era: Era) -> BioGate {
        BioGate {
            max: Throttle::new(JIFFIES, era),
            limits: false,
            classes: BTreeMap::new(),
            weights: BTreeMap::new(),
            held: BTreeMap::new(),
            ever_held: 0,
            next: 0,
        }
    }

    /// Whether every bio passes unchanged.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        !self.limits && self.classes.is_empty()
    }

    #[inline]
    pub(super) fn has_limits(&self) -> bool {
        self.limits
    }

    #[inline]
    pub(super) fn deadline(&self) -> Option<Instant> {
        if self.limits { self.max.deadline() } else { None }
    }

    /// How many bios `io.max` has ever held.
    pub(super) fn ever_held(&self) -> u64 {
        self.ever_held
    }

    /// Some of `id`'s limits change; from the first limit on, every bio is looked at.
    pub(super) fn change_limits(&mut self, now: Instant, id: GroupId, keys: &[MaxKey]) {
        let mut limits = self.max.limits(id);
        // A write of `io.max` names some keys; the others keep their values.
        keys.iter().for_each(|key| key.change(&mut limits));
        self.limits = true;
        self.max.set_limits(now, id, limits);
    }

    pub(super) fn set_class(&mut self, id: GroupId, class: PrioClass) {
        self.classes.insert(id, class);
    }

    pub(super) fn set_weight(&mut self, id: GroupId, weight: u32) {
        self.weights.insert(id, weight);
    }

    /// The groups' `io.weight`.
    pub(super) fn weights(&self) -> impl Iterator<Item = (GroupId, u32)> + '_ {
        self.weights.iter().map(|(&id, &weight)| (id, weight))
    }

    /// The bios that `io.max` lets go now.
    pub(super) fn elapse(&mut self, now: Instant, released: &mut Vec<u64>) {
        self.max.elapse(now, released);
    }

    /// The held bio of a released token.
    pub(super) fn let_go(&mut self, token: u64) -> Option<Bio> {
        self.held.remove(&token)
    }

    /// The group is gone; what it held is released.
    pub(super) fn remove_group(&mut self, id: GroupId, released: &mut Vec<u64>) {
        self.max.remove_group(id, released);
        self.classes.remove(&id);
        self.weights.remove(&id);
    }

    pub(super) fn group(&mut self, id: GroupId, parent: GroupId) {
        self.max.set_group(id, parent);
    }

    /// The bio with its group's priority, if it passes now.
    pub(super) fn pass(&mut self, now: Instant, mut bio: Bio) -> Option<Bio> {
        if let Some(class) = self.classes.get(&bio.group) {
            bio.priority = class.apply(bio.priority);
        }
        if !self.limits {
            return Some(bio);
        }
        self.next += 1;
        match self.max.submit(now, self.next, &bio) {
            Passage::Go => Some(bio),
            Passage::Held => {
                self.held.insert(self.next, bio);
                self.ever_held += 1;
                None
            }
        }
    }
}
