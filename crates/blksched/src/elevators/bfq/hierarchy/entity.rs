//! An entity that competes for service: a queue or a group, with its weight, its budget and its timestamps.
//!
//! **Rule** Service is counted in sectors. An entity with weight `w` that is served `s` sectors from virtual time `S`
//! on finishes at `F = S + s·2²²/w`, rounded down. Virtual times wrap, so they are compared by their difference.
//! **Origin** docs/behaviour/elevators-6.1.md#b5; Valente, Checconi, *High Throughput Disk Rules with Fair Bandwidth
//! Distribution*, 2010.
//! **In the kernel** `bfq_entity`, `bfq_sched_data`, `bfq_bfqq_budget_left`, `bfq_delta`, `bfq_gt`.

use alloc::vec::Vec;

use crate::elevators::bfq::ids::Qid;
use crate::elevators::ioprio::IoprioClass;
use crate::index::Summary;
use core::cmp::Ordering;

/// A point in a service tree's virtual time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Virtual(pub(crate) u64);

impl Ord for Virtual {
    fn cmp(&self, other: &Virtual) -> Ordering {
        (self.0.wrapping_sub(other.0) as i64).cmp(&0)
    }
}

impl PartialOrd for Virtual {
    fn partial_cmp(&self, other: &Virtual) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Virtual {
    /// This time, later by `sectors` of service at `weight`.
    pub(crate) fn after(self, sectors: i64, weight: i64) -> Virtual {
        Virtual(self.0.wrapping_add(((sectors as u64) << 22) / (weight as u64)))
    }

    /// The time since `earlier`, divided by `parts`.
    pub(crate) fn part_since(self, earlier: Virtual, parts: i64) -> u64 {
        self.0.wrapping_sub(earlier.0) / parts as u64
    }

    pub(crate) fn later_by(self, lag: u64) -> Virtual {
        Virtual(self.0.wrapping_add(lag))
    }
}

/// An entity's number: a queue's or a group's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node(u32);

impl Node {
    pub(crate) fn queue(q: Qid) -> Node {
        Node(2 * q)
    }

    pub(crate) fn group(level: usize) -> Node {
        Node(2 * level as u32 + 1)
    }

    pub(crate) fn of(id: u32) -> Node {
        Node(id)
    }

    pub(crate) fn id(self) -> u32 {
        self.0
    }

    pub(crate) fn as_queue(self) -> Option<Qid> {
        self.0.is_multiple_of(2).then_some(self.0 / 2)
    }

    /// The level inside a group.
    pub(crate) fn as_group(self) -> Option<usize> {
        (!self.0.is_multiple_of(2)).then_some(self.0 as usize / 2)
    }
}

/// Where an entity is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EntityPlace {
    /// On no tree, and its weight counts nowhere.
    #[default]
    Out,
    /// On the active tree, waiting for service.
    Active,
    /// In service, or between two trees.
    Served,
    /// On the idle tree: it wants no service, but has had more than its share and is remembered.
    Idle,
}

/// One entity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entity {
    /// The group that it is in, as an index of levels.
    pub(super) level: usize,
    pub(super) place: EntityPlace,
    pub(super) start: Virtual,
    pub(super) finish: Virtual,
    /// How much it may be served before another entity is selected \[sectors\].
    pub(super) budget: i64,
    /// How much of its budget it has used.
    pub(super) service: i64,
    /// The number of its allocated requests and of those below it. A request whose queue has moved is subtracted from
    /// its new group (docs/behaviour/elevators-6.12-6.18.md#amendment-a2).
    pub(super) allocated: i64,
    pub(super) class: IoprioClass,
    /// Its effective weight, raised or not.
    pub(super) weight: i64,
    /// The factor of its raising; 1 if it is not raised.
    pub(super) times: i64,
    /// Its weight without raising.
    pub(super) own_weight: i64,
    /// The class and weight that it takes when it next enters a tree, if `is_changing`.
    pub(super) wanted_class: IoprioClass,
    pub(super) wanted_weight: i64,
    pub(super) is_changing: bool,
    /// The weight under which it is counted ([`Weights`](super::weights)).
    pub(super) counted: Option<i64>,
    /// The level in which it is counted as having pending requests, here or in the device.
    pub(super) pending_in: Option<usize>,
}

impl Entity {
    pub(crate) fn new(level: usize, class: IoprioClass, weight: i64) -> Entity {
        Entity {
            level,
            place: EntityPlace::Out,
            start: Virtual(0),
            finish: Virtual(0),
            budget: 0,
            service: 0,
            allocated: 0,
            class,
            weight,
            times: 1,
            own_weight: weight,
            wanted_class: class,
            wanted_weight: weight,
            is_changing: true,
            counted: None,
            pending_in: None,
        }
    }

    /// The group that it is in, as an index of levels.
    #[inline]
    pub(crate) fn level(&self) -> usize {
        self.level
    }

    #[inline]
    pub(crate) fn class(&self) -> IoprioClass {
        self.class
    }

    #[inline]
    pub(crate) fn is_idle_class(&self) -> bool {
        self.class == IoprioClass::Idle
    }

    #[inline]
    pub(crate) fn place(&self) -> EntityPlace {
        self.place
    }

    /// Its effective weight, raised or not.
    #[inline]
    pub(crate) fn weight(&self) -> i64 {
        self.weight
    }

    /// Its weight without raising.
    #[inline]
    pub(crate) fn own_weight(&self) -> i64 {
        self.own_weight
    }

    pub(crate) fn wanted_weight(&self) -> i64 {
        self.wanted_weight
    }

    /// The weight under which it is counted.
    pub(crate) fn counted(&self) -> Option<i64> {
        self.counted
    }

    /// Whether it is counted as having pending requests, here or in the device.
    pub(crate) fn is_pending(&self) -> bool {
        self.pending_in.is_some()
    }

    pub(crate) fn allocated(&self) -> i64 {
        self.allocated
    }

    pub(crate) fn times(&self) -> i64 {
        self.times
    }

    #[inline]
    pub(crate) fn budget(&self) -> i64 {
        self.budget
    }

    pub(crate) fn set_budget(&mut self, budget: i64) {
        self.budget = budget;
    }

    /// How much of its budget it has used.
    #[inline]
    pub(crate) fn service(&self) -> i64 {
        self.service
    }

    pub(crate) fn clear_service(&mut self) {
        self.service = 0;
    }

    /// Asks for another class and weight, from when it next enters a tree.
    pub(crate) fn want(&mut self, class: IoprioClass, weight: i64) {
        (self.wanted_class, self.wanted_weight, self.is_changing) = (class, weight, true);
    }

    pub(crate) fn want_weight(&mut self, weight: i64) {
        (self.wanted_weight, self.is_changing) = (weight, true);
    }

    /// Its raising has changed, which applies when it next enters a tree.
    pub(crate) fn reweigh(&mut self) {
        self.is_changing = true;
    }

    /// The factor of its raising; it applies with the next change of its weight.
    #[inline]
    pub(crate) fn set_times(&mut self, times: i64) {
        self.times = times;
    }

    /// It moves to another group.
    pub(crate) fn move_to(&mut self, level: usize) {
        self.level = level;
    }

    /// The rest of its budget.
    #[inline]
    pub(crate) fn left(&self) -> i64 {
        self.budget - self.service
    }

    pub(crate) fn stamps(&self) -> Stamps {
        Stamps { start: self.start, finish: self.finish }
    }
}

/// The key of a service tree: trees are ordered by finish and store the earliest start of each subtree.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stamps {
    pub(crate) start: Virtual,
    pub(crate) finish: Virtual,
}

impl PartialEq for Stamps {
    fn eq(&self, other: &Stamps) -> bool {
        self.finish == other.finish
    }
}

impl Eq for Stamps {}

impl Ord for Stamps {
    fn cmp(&self, other: &Stamps) -> Ordering {
        self.finish.cmp(&other.finish)
    }
}

impl PartialOrd for Stamps {
    fn partial_cmp(&self, other: &Stamps) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The earliest start of a subtree.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Earliest(pub(crate) Virtual);

impl Summary<Stamps> for Earliest {
    const KEPT: bool = true;

    fn of(own: Stamps, below: [Option<Earliest>; 2]) -> Earliest {
        let earliest = below.into_iter().flatten().map(|Earliest(start)| start).fold(own.start, Virtual::min);
        Earliest(earliest)
    }
}

/// Every entity, by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entities(Vec<Entity>);

impl Entities {
    pub(crate) fn reserve(&mut self, queues: usize) {
        self.0.reserve(2 * queues);
    }

    /// Makes room for this entity.
    pub(crate) fn make_room(&mut self, n: Node) {
        if n.0 as usize >= self.0.len() {
            self.0.resize(n.0 as usize + 1, Entity::new(0, IoprioClass::BestEffort, 1));
        }
    }

    pub(crate) fn set(&mut self, n: Node, entity: Entity) {
        self.make_room(n);
        self[n] = entity;
    }
}

impl core::ops::Index<Node> for Entities {
    type Output = Entity;
    fn index(&self, n: Node) -> &Entity {
        &self.0[n.0 as usize]
    }
}

impl core::ops::IndexMut<Node> for Entities {
    fn index_mut(&mut self, n: Node) -> &mut Entity {
        &mut self.0[n.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_time_wraps() {
        let late = Virtual(u64::MAX - 5);
        assert!(late < late.after(8, 40) && Virtual(3) > late);
        assert_eq!(late.after(40, 40), Virtual((1 << 22) - 6));
    }

    #[test]
    fn twice_the_weight_finishes_twice_as_fast() {
        let start = Virtual(1000);
        assert_eq!(start.after(160, 20).part_since(start, 2), start.after(160, 40).part_since(start, 1));
    }
}
