//! Groups: each is an entity among its siblings, and schedules its members by the same rules.
//!
//! **What for** A tenant gets the share given by its weight, however many processes it has, and its processes share it
//! among themselves.
//! **Rule** A group is on its parent's best-effort tree with its weight, as long as any queue in it is active. Classes,
//! raising and ionice levels count only inside a group; so do positions, write-back and the queue created last. The
//! processes of a group compete with its child groups as equals.
//! **Origin** docs/behaviour/elevators-6.12-6.18.md#g1; kernel documentation, `block/bfq-iosched.rst`, "Per-process
//! ioprio and weight" and "Group rules"; Valente, Checconi 2010, section on hierarchies. Weights above 1000 are
//! accepted (a kernel refuses them in io.bfq.weight); `leaf_weight` is CFQ's and is ignored.
//! **In the kernel** `bfq_group`, `bfq_bio_bfqg`, `bfq_pd_init`, `entity_is_group`, `bfq_group_set_weight`.

use alloc::vec::Vec;

use crate::elevators::bfq::hierarchy::Hierarchy;
use crate::elevators::bfq::hierarchy::entity::{Entity, EntityPlace, Node};
use crate::elevators::bfq::hierarchy::service_tree::{Level, Life};
use crate::elevators::bfq::hierarchy::wf2q::Afterwards;
use crate::elevators::bfq::ids::{Qid, ROOT};
use crate::elevators::bfq::timeouts::LONG_AGO;
use crate::elevators::ioprio::IoprioClass;
use crate::group::Group;
use crate::request::GroupId;

impl Hierarchy {
    /// Creates a group, or changes its weight, which applies when the group next enters its parent's tree. `live`: all
    /// existing queues.
    pub(crate) fn group_changed(&mut self, id: GroupId, group: Group, live: impl Fn() -> Vec<Qid>) {
        if id == GroupId::ROOT {
            return;
        }
        let weight = i64::from(group.weight);
        let Some(level) = self.level_by_group.get(id.0 as usize).copied().flatten() else {
            let parent = self.level_of(group.parent);
            return self.make_group(id, parent, weight, &live());
        };
        let entity = &mut self.entities[Node::group(level)];
        if entity.wanted_weight != weight {
            entity.wanted_weight = weight;
            entity.is_changing = true;
        }
    }

    pub(crate) fn make_group(&mut self, id: GroupId, parent: usize, weight: i64, live: &[Qid]) {
        // Queues without requests stay with a removed group until their processes send another bio, so its level is not
        // reused before.
        let kept = |level: usize| live.iter().any(|&q| self.entity(q).level == level);
        let gone = (0..self.levels.len()).find(|&level| self.levels[level].life == Life::Gone && !kept(level));
        let level = gone.unwrap_or(self.levels.len());
        if level == self.levels.len() {
            self.levels.push(Level::new(LONG_AGO, 0));
        }
        self.groups_made += 1;
        self.levels[level] = Level::new(LONG_AGO, self.groups_made);
        self.entities.set(Node::group(level), Entity::new(parent, IoprioClass::BestEffort, weight));
        let index = id.0 as usize;
        if index >= self.level_by_group.len() {
            self.level_by_group.resize(index + 1, None);
        }
        self.level_by_group[index] = Some(level);
    }

    /// A group's level; the root's if the group is unknown here.
    #[inline]
    pub(crate) fn level_of(&self, group: GroupId) -> usize {
        self.level_by_group.get(group.0 as usize).copied().flatten().unwrap_or(ROOT)
    }

    /// The entity of a level's group in its parent's level; the root has none.
    pub(crate) fn group_above(&self, level: usize) -> Option<Node> {
        (level != ROOT).then(|| Node::group(level))
    }

    /// A queue's entity and the groups that it is in, nearest first.
    pub(crate) fn path(&self, q: Qid) -> impl Iterator<Item = Node> + '_ {
        core::iter::successors(Some(Node::queue(q)), |&n| self.group_above(self.entities[n].level))
    }

    pub(crate) fn same_group(&self, a: Qid, b: Qid) -> bool {
        self.entity(a).level == self.entity(b).level
    }

    /// The weight of a level's group; the root has none.
    pub(crate) fn group_weight(&self, level: usize) -> Option<i64> {
        self.group_above(level).map(|group| self.entities[group].weight)
    }

    /// A number that belongs to a level's group alone, and is never reused.
    #[inline]
    pub(crate) fn serial_of(&self, level: usize) -> u64 {
        self.levels[level].serial
    }

    /// The queue created last in a level.
    pub(crate) fn last_made(&self, level: usize) -> Option<Qid> {
        self.levels[level].last_made
    }

    pub(crate) fn set_last_made(&mut self, level: usize, q: Qid) {
        self.levels[level].last_made = Some(q);
    }

    /// If `q` is the queue created last in its level, `into` is now.
    pub(crate) fn replace_last_made(&mut self, q: Qid, into: Option<Qid>) {
        let last_made = &mut self.levels[self.entities[Node::queue(q)].level].last_made;
        if *last_made == Some(q) {
            *last_made = into;
        }
    }

    /// Forgets a queue as the one created last.
    pub(crate) fn forget_last_made(&mut self, q: Qid) {
        self.replace_last_made(q, None);
    }

    /// Whether the root has another entity next than the one in service. If a group that was left on its tree is both,
    /// no queue preempts the one in service (docs/behaviour/elevators-6.12-6.18.md#amendment-a3).
    pub(crate) fn root_has_another_next(&self) -> bool {
        self.levels[ROOT].next != self.levels[ROOT].in_service
    }

    /// A group's level, which no bio of that group finds any more.
    pub(crate) fn take_level(&mut self, id: GroupId) -> Option<usize> {
        self.level_by_group.get_mut(id.0 as usize).and_then(Option::take)
    }

    /// A queue that waits for service in this level and class; groups below it are none.
    pub(crate) fn active_queue(&self, level: usize, class: IoprioClass) -> Option<Qid> {
        self.levels[level].classes[class as usize].active.first().map(Node::of).and_then(Node::as_queue)
    }

    /// The queue in service in this level, if it is none of a group below it.
    pub(crate) fn served_queue(&self, level: usize) -> Option<Qid> {
        self.levels[level].in_service.and_then(Node::as_queue)
    }

    /// Forgets an entity of the idle tree of this level and class; false if there is none.
    pub(crate) fn forget_one_idle(&mut self, level: usize, class: IoprioClass) -> bool {
        let first = self.levels[level].classes[class as usize].idle.first().map(Node::of);
        first.inspect(|&n| self.forget_idle_entity(n)).is_some()
    }

    /// The level's group leaves the tree of its parent.
    pub(crate) fn deactivate_group(&mut self, level: usize) {
        self.deactivate(Node::group(level), Afterwards::Forgotten);
    }

    /// The level may be used for another group, once no queue is in it.
    pub(crate) fn remove_level(&mut self, level: usize) {
        self.levels[level].life = Life::Gone;
    }

    /// Checks that a group wants service exactly if an entity in it does. Only its next entity may be stale
    /// (docs/behaviour/elevators-6.12-6.18.md#amendment-a3).
    pub(crate) fn check_levels(&self) {
        for (level, at) in self.levels.iter().enumerate() {
            let waits = at.waiting();
            let stale = at.next.is_some() && at.next == at.in_service;
            assert!(at.next.is_some() == (waits > 0) || stale, "level {level}: an entity is next if one waits");
            assert!(at.classes.iter().all(|tree| tree.weight >= 0), "level {level} weighs less than nothing");
            let Some(above) = self.group_above(level) else { continue };
            let entity = &self.entities[above];
            let served = self.levels[entity.level].in_service == Some(above);
            match (at.in_service, waits) {
                (Some(_), _) => assert!(served, "level {level} serves, but is not served"),
                (None, 1..) => assert_eq!(entity.place, EntityPlace::Active, "level {level}"),
                (None, 0) => assert!(matches!(entity.place, EntityPlace::Idle | EntityPlace::Out), "level {level}"),
            }
        }
    }
}
