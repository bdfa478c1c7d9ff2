//! The hierarchy's state.
//!
//! **Rule** A queue that has left all trees is reported ([`Hierarchy::next_departed`]) instead of being released here,
//! because other references to it are not known here.
//! **Origin** docs/behaviour/elevators-6.1.md#b5.
//! **In the kernel** `bfq_sched_data`, `bfq_group`, `in_service_entity`, `next_in_service`.

use alloc::vec;
use alloc::vec::Vec;

use super::entity::{Entities, Entity, Node};
use super::service_tree::{Level, Trees};
use super::weights::Weights;
use crate::elevators::bfq::ids::{Qid, ROOT};
use crate::elevators::bfq::links::{Head, Links};
use crate::elevators::bfq::timeouts::Jiffy;

/// Queues and groups, and the order of their service.
#[derive(Debug)]
pub(crate) struct Hierarchy {
    /// All entities, on service trees or not.
    pub(super) entities: Entities,
    /// The root's level, and one per group.
    pub(super) levels: Vec<Level>,
    pub(super) level_by_group: Vec<Option<usize>>,
    pub(super) groups_made: u64,
    /// The number of groups that were activated and are not yet idle (until 6.1).
    pub(super) woken_groups: u32,
    /// The number of groups with queues that have pending requests (since 6.6).
    pub(super) pending_groups: u32,
    pub(super) trees: Trees,
    /// The queues on active trees, newest first.
    pub(super) active: Head,
    pub(super) active_links: Links,
    pub(super) weights: Weights,
    /// The queue in service.
    pub(super) in_service: Option<Qid>,
    /// The interval within which the idle class is served at least once.
    pub(super) idle_class: Jiffy,
    /// Queues that have left all trees and are forgotten, until the caller takes them.
    pub(super) left: Vec<Qid>,
}

impl Hierarchy {
    pub(crate) fn new(idle_class: Jiffy) -> Hierarchy {
        Hierarchy {
            entities: Entities::default(),
            levels: vec![Level::new(0, 0)],
            level_by_group: vec![Some(ROOT)],
            groups_made: 0,
            woken_groups: 0,
            pending_groups: 0,
            trees: Trees::new(),
            active: Head::default(),
            active_links: Links::default(),
            weights: Weights::default(),
            in_service: None,
            idle_class,
            left: Vec::new(),
        }
    }

    pub(crate) fn reserve(&mut self, queues: usize) {
        self.entities.reserve(queues);
        self.trees.reserve(2 * queues);
        self.active_links.reserve(queues);
        self.weights.reserve(queues);
        self.left.reserve(queues);
    }

    pub(crate) fn entity(&self, q: Qid) -> &Entity {
        &self.entities[Node::queue(q)]
    }

    /// The queues that wait for service, newest first.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = Qid> + '_ {
        self.active_links.iter(self.active)
    }

    /// The queue in service.
    #[inline(always)]
    pub(crate) fn in_service(&self) -> Option<Qid> {
        self.in_service
    }

    /// A queue's entity, to change what it asks for or has received.
    #[inline]
    pub(crate) fn entity_mut(&mut self, q: Qid) -> &mut Entity {
        &mut self.entities[Node::queue(q)]
    }

    /// A queue was created.
    pub(crate) fn made(&mut self, q: Qid, entity: Entity) {
        self.entities.set(Node::queue(q), entity);
    }

    /// The queue whose slice begins.
    pub(crate) fn begin_service(&mut self, q: Qid) {
        self.in_service = Some(q);
    }

    /// The slice in service, of a queue of this level, ends.
    pub(crate) fn end_service(&mut self, level: usize) {
        self.in_service = None;
        self.clear_service(level);
    }

    /// When the idle class counts as last served, if nothing was.
    pub(crate) fn begin_at(&mut self, now: Jiffy) {
        self.levels[ROOT].idle_class_at = now;
    }

    /// Whether a queue waits for service.
    pub(crate) fn waits(&self, q: Qid) -> bool {
        self.active_links.contains(q)
    }

    /// The weights of the queues that are counted.
    pub(crate) fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Whether a group competes: one was activated and is not yet idle (until 6.1).
    pub(crate) fn a_group_is_woken(&self) -> bool {
        self.woken_groups > 0
    }

    /// Whether several groups have queues with pending requests (since 6.6).
    pub(crate) fn several_groups_are_pending(&self) -> bool {
        self.pending_groups > 1
    }

    /// Whether queues have left all trees, for the caller to take with [`Hierarchy::next_departed`].
    #[inline(always)]
    pub(crate) fn has_left(&self) -> bool {
        !self.left.is_empty()
    }

    /// The queue of this number among those that have left; when all were taken, they are forgotten.
    pub(crate) fn next_departed(&mut self, at: usize) -> Option<Qid> {
        let left = self.left.get(at).copied();
        if left.is_none() {
            self.left.clear();
        }
        left
    }
}
