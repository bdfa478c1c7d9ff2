//! Groups: each is an entity among its siblings, and schedules what is in it by the same rules.
//!
//! **What for** A tenant gets the share that its weight says, however many processes it has, and its processes share
//! that among themselves.
//! **Rule** A group stands on its parent's tree of best effort with its weight, and with the budget of whoever goes
//! next in it, as long as anybody in it wants service. Who is served is found from the top down; what is served counts
//! on every level. Classes, raising and levels of ionice count inside a group only. Queues merge within a group only.
//! **Origin** kernel documentation, `block/bfq-iosched.rst`, "Per-process ioprio and weight" and "Group scheduling";
//! Valente, Checconi 2010, section on hierarchies. Not decision-checked: no recording covers groups. Weights above
//! 1000 count as they are (the kernel squeezes io.weight into 1..1000); `leaf_weight` is CFQ's and is not looked at.

use super::Bfq;
use super::context::WriteBackOf;
use super::entity::{Entity, Node, Place};
use super::priority::Rank;
use super::qid::Qid;
use super::service_tree::Level;
use super::terms::Call;
use super::wf2q::{Return, Turn};
use crate::group::Group;
use crate::request::GroupId;

/// Are groups scheduled at all?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Groups {
    /// All submitters stand side by side (a kernel without `CONFIG_BFQ_GROUP_IOSCHED`).
    Off,
    /// By weight, as a hierarchy.
    On,
}

/// The level of the root.
pub(super) const ROOT: usize = 0;

impl Bfq {
    /// A group is made, or its weight changes: it counts from the next time that the group enters its parent's tree.
    pub(super) fn group_changed(&mut self, call: &Call<'_, '_>, id: GroupId, group: Group) {
        if self.rules == Groups::Off || id == GroupId::ROOT {
            return;
        }
        let (level, parent) = (id.0 as usize, group.parent.0 as usize);
        if level >= self.levels.len() {
            self.levels.resize(level + 1, Level::new(call.now));
        }
        let n = Node::group(level);
        self.entities.make_room(n);
        // One that still has requests from an earlier life stays where it is.
        if self.entities[n].place == Place::Out {
            self.entities[n] = Entity::new(parent, Rank::BestEffort, i64::from(group.weight));
        }
        self.entities[n].wanted_weight = i64::from(group.weight);
        self.entities[n].is_changing = true;
    }

    /// A group is gone: nobody keeps its write-back queues any more.
    pub(super) fn group_gone(&mut self, call: &mut Call<'_, '_>, id: GroupId) {
        let of_group = |key: &&WriteBackOf| key.0 == id;
        while let Some(key) = self.write_back.keys().find(of_group).copied() {
            let q = self.write_back.remove(&key).expect("it was just found");
            self.drop_process(call, q);
        }
    }

    /// The level whose queues this group's are; the root's, if it went before this elevator came.
    pub(super) fn level_of(&self, group: GroupId) -> usize {
        let level = group.0 as usize;
        if self.rules == Groups::Off || level >= self.levels.len() { ROOT } else { level }
    }

    /// The entity that a level is for those around it; the root is none.
    pub(super) fn group_above(&self, level: usize) -> Option<Node> {
        (level != ROOT).then(|| Node::group(level))
    }

    pub(super) fn same_group(&self, a: Qid, b: Qid) -> bool {
        self.entity(a).level == self.entity(b).level
    }

    /// Something changed in a level: does its group stand right among its siblings, and so on up?
    pub(super) fn climb(&mut self, call: &mut Call<'_, '_>, level: usize, turn: Turn) {
        let mut level = level;
        while let Some(n) = self.group_above(level) {
            let parent = self.entities[n].level;
            let served = self.levels[parent].in_service == Some(n);
            let next = self.levels[level].next.map(|next| self.entities[next].budget);
            match next {
                None if self.levels[level].in_service.is_some() => return,
                None if !served && self.entities[n].place != Place::Active => return,
                None => self.retire(call, n, turn),
                Some(_) if served && turn == Turn::GoesOn => return,
                Some(budget) => {
                    let waits = self.entities[n].place == Place::Active && !served;
                    if waits && self.entities[n].budget == budget {
                        return;
                    }
                    self.entities[n].budget = budget;
                    self.stand(call, n, Return::Now, turn);
                }
            }
            level = parent;
        }
    }

    /// A queue wants service, or its budget is another one now; and its groups with it.
    pub(super) fn stand_queue(&mut self, call: &mut Call<'_, '_>, q: Qid, how: Return, turn: Turn) {
        self.stand(call, Node::queue(q), how, turn);
        self.climb(call, self.entity(q).level, turn);
    }

    /// A queue wants no service any more.
    pub(super) fn retire_queue(&mut self, call: &mut Call<'_, '_>, q: Qid, turn: Turn) {
        let level = self.entity(q).level;
        self.retire(call, Node::queue(q), turn);
        self.climb(call, level, turn);
    }

    /// From the top down, whoever goes next is being served.
    pub(super) fn descend(&mut self, call: &Call<'_, '_>) -> Option<Qid> {
        let mut level = ROOT;
        loop {
            let n = self.levels[level].next?;
            self.levels[level].in_service = Some(n);
            self.extract(n);
            self.levels[level].next = self.look_up_next(call, level, Turn::GoesOn);
            match n.as_group() {
                None => return n.as_queue(),
                Some(below) => {
                    self.entities[n].service = 0;
                    level = below;
                }
            }
        }
    }

    /// Nobody is being served any more in this level and those above it.
    pub(super) fn clear_service(&mut self, level: usize) {
        let mut at = Some(level);
        while let Some(level) = at {
            self.levels[level].in_service = None;
            at = self.group_above(level).map(|n| self.entities[n].level);
        }
    }
}
