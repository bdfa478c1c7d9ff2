//! The hierarchy's state.
//!
//! **Rule** A queue that has left all trees is reported ([`Hierarchy::left`]) instead of being released here, because
//! other references to it are not known here.
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
    pub(crate) entities: Entities,
    /// The root's level, and one per group.
    pub(crate) levels: Vec<Level>,
    pub(crate) level_by_group: Vec<Option<usize>>,
    pub(crate) groups_made: u64,
    /// The number of groups that were activated and are not yet idle (until 6.1).
    pub(crate) woken_groups: u32,
    /// The number of groups with queues that have pending requests (since 6.6).
    pub(crate) pending_groups: u32,
    pub(crate) trees: Trees,
    /// The queues on active trees, newest first.
    pub(crate) active: Head,
    pub(crate) active_links: Links,
    pub(crate) weights: Weights,
    /// The queue in service.
    pub(crate) in_service: Option<Qid>,
    /// The interval within which the idle class is served at least once.
    pub(crate) idle_class: Jiffy,
    /// Queues that have left all trees and are forgotten, until the caller takes them.
    pub(crate) left: Vec<Qid>,
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
}
