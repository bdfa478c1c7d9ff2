//! The service trees of B-WF2Q+: which entity of a class is served next.
//!
//! **What for** Each entity gets its share of the service, whatever the others do, and never waits for more than one
//! budget of each of them.
//! **Rule** Of the eligible entities (`S ≤ V`) the one with the earliest finish is served. The search descends a
//! red-black tree ordered by finish, which stores the earliest start of each subtree: it goes left if an entity there
//! is eligible, otherwise it stops at the last eligible one that it met.
//! **Origin** docs/behaviour/elevators-6.1.md#b5; Bennett, Zhang, *Hierarchical Packet Fair Queueing Algorithms*, 1996;
//! the augmented tree: Valente, *Extending WF2Q+ to support a dynamic traffic mix*, 2005.
//! **Costs when wrong** The search does not always find the earliest finish: if a left child's left subtree has no
//! eligible entity, it does not search the right one. The result then depends on the tree's shape.
//! **In the kernel** `bfq_service_tree`, `bfq_first_active_entity`, `bfq_update_vtime`, `min_start`,
//! `bfq_lookup_next_entity`, `__bfq_lookup_next_entity`, `bfq_active_insert`, `bfq_active_extract`, `bfq_idle_insert`,
//! `bfq_idle_extract`, `bfq_forget_idle`, `bfq_calc_vtime_jump`, `bfq_update_active_tree`, `bfq_update_min`, `wsum`.

use crate::elevators::bfq::hierarchy::entity::{Earliest, Node, Stamps, Virtual};
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::timeouts::Jiffy;
use crate::index::{Forest, Root};

/// The nodes of all service trees.
pub(crate) type Trees = Forest<Stamps, Earliest>;

/// The entities of one class in one group.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ServiceTree {
    /// The entities that wait for service, by finish.
    pub(super) active: Root,
    /// The entities that want no service now but have a finish in the future.
    pub(super) idle: Root,
    /// The idle entity that counts as the last to finish.
    pub(super) last_idle: Option<u32>,
    /// Virtual time: the service received by each unit of weight.
    pub(super) time: Virtual,
    /// The total weight of all of them and of the entity in service.
    pub(super) weight: i64,
}

/// The entities that compete inside one group, or at the root (`bfq_sched_data`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    /// By class.
    pub(super) classes: [ServiceTree; 3],
    /// The entity in service.
    pub(super) in_service: Option<Node>,
    /// The entity to be served next, as far as known.
    pub(super) next: Option<Node>,
    /// When the idle class last had its chance.
    pub(super) idle_class_at: Jiffy,
    /// The number of its queues that are busy or have requests in the device, without those of groups below.
    pub(super) pending: u32,
    /// Whether its group was activated and is not yet idle.
    pub(super) woken: bool,
    /// The queue created last in it.
    pub(super) last_made: Option<Qid>,
    /// Unique to the group, never reused.
    pub(super) serial: u64,
    pub(super) life: Life,
}

/// Whether a level's group exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Exists,
    Gone,
}

impl Level {
    pub(crate) fn new(idle_class_at: Jiffy, serial: u64) -> Level {
        Level {
            classes: [ServiceTree::default(); 3],
            in_service: None,
            next: None,
            idle_class_at,
            pending: 0,
            woken: false,
            last_made: None,
            serial,
            life: Life::Exists,
        }
    }

    /// The number of entities that wait for service in it.
    pub(crate) fn waiting(&self) -> u32 {
        self.classes.iter().map(|tree| tree.active.len()).sum()
    }
}

/// The earliest start on a tree.
pub(crate) fn earliest(trees: &Trees, tree: Root) -> Option<Virtual> {
    tree.top().map(|top| trees.summary(top).0)
}

/// The entity to be served next at virtual time `now`.
pub(crate) fn first_started(trees: &Trees, tree: Root, now: Virtual) -> Option<Node> {
    let (mut at, mut found) = (tree.top(), None);
    while let Some(id) = at {
        if trees.key(id).start <= now {
            found = Some(Node::of(id));
        }
        let [left, right] = trees.below(id);
        if left.is_some_and(|left| trees.summary(left).0 <= now) {
            at = left;
        } else if found.is_some() {
            break;
        } else {
            at = right;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(start: u64, finish: u64) -> Stamps {
        Stamps { start: Virtual(start), finish: Virtual(finish) }
    }

    #[test]
    fn of_those_that_have_started_the_first_to_finish_goes() {
        let (mut trees, mut tree) = (Trees::new(), Root::default());
        for (id, (start, finish)) in [(0, 50), (9, 20), (0, 30)].into_iter().enumerate() {
            trees.insert(&mut tree, 2 * id as u32, stamps(start, finish));
        }
        assert_eq!(first_started(&trees, tree, Virtual(5)), Some(Node::queue(2)));
        assert_eq!(first_started(&trees, tree, Virtual(9)), Some(Node::queue(1)));
        assert_eq!(earliest(&trees, tree), Some(Virtual(0)));
    }

    #[test]
    fn the_search_does_not_look_to_the_right_of_a_child_that_has_not_started() {
        let (mut trees, mut tree) = (Trees::new(), Root::default());
        // 3 on top, 1 and 5 below it, 0 and 2 below 1.
        for id in [3, 1, 5, 0, 2] {
            let start = if matches!(id, 2 | 3) { 0 } else { 100 };
            trees.insert(&mut tree, 2 * id, stamps(start, u64::from(id)));
        }
        assert_eq!(tree.top(), Some(6));
        // 2 has started and would finish earlier.
        assert_eq!(first_started(&trees, tree, Virtual(0)), Some(Node::queue(3)));
        assert_eq!(first_started(&trees, tree, Virtual(100)), Some(Node::queue(0)));
    }
}
