//! B-WF2Q+: entities enter and leave service trees, virtual time passes as they are served.
//!
//! **Rule** An activated entity starts now (`S = V`), unless it left with a finish in the future, at which it then
//! starts; a requeued entity starts where its last service ended. An entity that ran empty for a moment while the disk
//! waited for it may start in the past, depending on its weight raising. Virtual time passes by `2²²·sectors/weights`,
//! and jumps to the earliest start when no other entity is eligible. When none is left, it takes the last finish of the
//! entities on the idle tree.
//! **Origin** docs/behaviour/elevators-6.1.md#b5.
//! **Costs when wrong** Of equal finishes the one remembered first counts as the last; when that one leaves, the one
//! before it does, or none, although others are still remembered: then virtual time does not change (recording
//! `bfq-6.1/h02-back-seek-0`).
//! **In the kernel** `bfq_activate_entity`, `bfq_requeue_entity`, `__bfq_deactivate_entity`,
//! `bfq_activate_requeue_entity`, `bfq_calc_finish`, `bfq_forget_entity`, `bfq_put_idle_entity`, `vtime`,
//! `__bfq_activate_entity`, `__bfq_requeue_entity`, `bfq_deactivate_entity`, `bfq_update_fin_time_enqueue`,
//! `__bfq_entity_update_weight_prio`.

use crate::elevators::bfq::hierarchy::Hierarchy;
use crate::elevators::bfq::hierarchy::entity::{EntityPlace, Node};
use crate::elevators::bfq::hierarchy::service_tree::{ServiceTree, earliest, first_started};
use crate::elevators::bfq::timeouts::Jiffy;
use crate::elevators::ioprio::IoprioClass;

/// Whether an entity that re-enters a tree may keep a finish time in the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Return {
    /// It may not: it starts now.
    Now,
    /// It may: it ran empty only briefly, while the disk waited for it.
    WaitedFor,
}

/// What happens to an entity that no longer wants service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Afterwards {
    /// It is put on the idle tree if it has had more than its share.
    Remembered,
    Forgotten,
}

/// Whether a change in a level concerns the group above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    None,
    /// The group now wants service, or needs a smaller budget.
    ForParent,
}

/// Whether the in-service entity is being expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    GoesOn,
    Ends,
}

impl Hierarchy {
    pub(crate) fn tree_of(&mut self, n: Node) -> &mut ServiceTree {
        let entity = &self.entities[n];
        &mut self.levels[entity.level].classes[entity.class as usize]
    }

    /// Applies a pending change of weight and, if `class_too`, of class.
    pub(crate) fn apply_priority(&mut self, n: Node, class_too: bool) {
        if !self.entities[n].is_changing {
            return;
        }
        let (old_class, old_weight) = (self.entities[n].class, self.entities[n].weight);
        self.tree_of(n).weight -= old_weight;
        let times = self.entities[n].times;
        let entity = &mut self.entities[n];
        entity.own_weight = entity.wanted_weight;
        if class_too {
            entity.class = entity.wanted_class;
        }
        entity.is_changing = entity.class != entity.wanted_class;
        entity.weight = entity.own_weight * times;
        let weight = entity.weight;
        if let Some(q) = n.as_queue().filter(|_| weight != old_weight) {
            self.stop_counting(q);
            if times == 1 {
                self.count_weight(q);
            }
        }
        let tree = self.tree_of(n);
        tree.weight += weight;
        let now = tree.time;
        if self.entities[n].class != old_class {
            self.entities[n].start = now;
        }
    }

    /// Inserts an entity into its active tree.
    pub(crate) fn enqueue(&mut self, n: Node, back_shifted: bool) {
        self.apply_priority(n, true);
        let now = self.tree_of(n).time;
        let times = self.entities[n].times;
        let entity = &mut self.entities[n];
        entity.finish = entity.start.after(entity.budget, entity.weight);
        // Still in the past: it moves up to now, or, while raised, by only a part of the way, so that it stays ahead.
        if back_shifted && now > entity.finish {
            let lag = now.part_since(entity.finish, times);
            (entity.start, entity.finish) = (entity.start.later_by(lag), entity.finish.later_by(lag));
        }
        entity.place = EntityPlace::Active;
        let stamps = entity.stamps();
        let tree = &mut self.levels[entity.level].classes[entity.class as usize];
        self.trees.insert(&mut tree.active, n.id(), stamps);
        if let Some(q) = n.as_queue() {
            self.active_links.push_front(&mut self.active, q);
        }
    }

    /// Takes an entity out of its active tree.
    pub(crate) fn extract(&mut self, n: Node) {
        let entity = &mut self.entities[n];
        entity.place = EntityPlace::Served;
        let tree = &mut self.levels[entity.level].classes[entity.class as usize];
        self.trees.remove(&mut tree.active, n.id());
        if let Some(q) = n.as_queue() {
            self.active_links.remove(&mut self.active, q);
        }
    }

    /// Activates an entity that is neither on an active tree nor in service.
    pub(crate) fn activate_anew(&mut self, n: Node, how: Return) {
        let now = self.tree_of(n).time;
        let finish = self.entities[n].finish;
        let back_shifted = how == Return::WaitedFor && now > finish;
        let earliest = if back_shifted { finish } else { now };
        if self.entities[n].place == EntityPlace::Idle {
            self.leave_idle_tree(n);
            // It has had more than its share, and would gain by a pause if it could start before its finish.
            self.entities[n].start = earliest.max(finish);
        } else {
            self.entities[n].start = earliest;
            let weight = self.entities[n].weight;
            self.tree_of(n).weight += weight;
        }
        self.entities[n].place = EntityPlace::Served;
        self.wake_group(n);
        self.enqueue(n, back_shifted);
    }

    /// Activates an entity, or requeues it if it is already active or in service.
    pub(crate) fn activate(&mut self, n: Node, how: Return) {
        let entity = &self.entities[n];
        if self.levels[entity.level].in_service == Some(n) || entity.place == EntityPlace::Active {
            self.requeue(n);
        } else {
            self.activate_anew(n, how);
        }
    }

    /// Requeues an entity that is in service or already waits. (A group with other members may be both. Its received
    /// service stays counted until the slice is over: docs/behaviour/elevators-6.12-6.18.md#amendment-a1.)
    pub(crate) fn requeue(&mut self, n: Node) {
        let level = self.entities[n].level;
        if self.entities[n].place == EntityPlace::Active {
            self.extract(n);
        }
        if self.levels[level].in_service == Some(n) {
            let entity = &mut self.entities[n];
            entity.finish = entity.start.after(entity.service, entity.weight);
            entity.start = entity.finish;
        }
        self.enqueue(n, false);
    }

    /// Deactivates an entity. False if it did not want service.
    pub(crate) fn deactivate(&mut self, n: Node, afterwards: Afterwards) -> bool {
        let entity = &mut self.entities[n];
        let level = entity.level;
        let served = self.levels[level].in_service == Some(n);
        if entity.place == EntityPlace::Out && !served {
            return false;
        }
        entity.finish = entity.start.after(entity.service, entity.weight);
        if served {
            self.levels[level].in_service = None;
        } else {
            entity.service = 0;
        }
        match entity.place {
            EntityPlace::Active => self.extract(n),
            EntityPlace::Idle => self.leave_idle_tree(n),
            EntityPlace::Out | EntityPlace::Served => {}
        }
        let now = self.tree_of(n).time;
        if afterwards == Afterwards::Remembered && self.entities[n].finish > now {
            self.enter_idle_tree(n);
        } else {
            self.forget_entity(n);
        }
        true
    }

    pub(crate) fn enter_idle_tree(&mut self, n: Node) {
        let entity = &mut self.entities[n];
        entity.place = EntityPlace::Idle;
        let (stamps, tree) = (entity.stamps(), &mut self.levels[entity.level].classes[entity.class as usize]);
        let later = |last: u32| stamps.finish > self.trees.key(last).finish;
        if tree.last_idle.is_none_or(later) {
            tree.last_idle = Some(n.id());
        }
        self.trees.insert(&mut tree.idle, n.id(), stamps);
    }

    pub(crate) fn leave_idle_tree(&mut self, n: Node) {
        let entity = &mut self.entities[n];
        let tree = &mut self.levels[entity.level].classes[entity.class as usize];
        if tree.last_idle == Some(n.id()) {
            tree.last_idle = self.trees.previous(n.id());
        }
        self.trees.remove(&mut tree.idle, n.id());
    }

    /// Forgets an entity on the idle tree.
    pub(crate) fn forget_idle_entity(&mut self, n: Node) {
        self.leave_idle_tree(n);
        self.forget_entity(n);
    }

    /// Forgets an entity: its weight no longer counts.
    pub(crate) fn forget_entity(&mut self, n: Node) {
        let weight = self.entities[n].weight;
        self.tree_of(n).weight -= weight;
        self.entities[n].place = EntityPlace::Out;
        if let Some(q) = n.as_queue() {
            self.left.push(q);
        }
    }

    /// Forgets one idle entity if virtual time has passed its finish.
    #[inline]
    pub(crate) fn forget_idle(&mut self, level: usize, class: IoprioClass) {
        let tree = &mut self.levels[level].classes[class as usize];
        // The usual case: no idle entity is remembered (the last to finish is one of them).
        if tree.idle.is_empty() {
            return;
        }
        self.forget_first_idle(level, class);
    }

    #[inline(never)]
    fn forget_first_idle(&mut self, level: usize, class: IoprioClass) {
        let tree = &mut self.levels[level].classes[class as usize];
        // With no active entity, virtual time goes back to the last finish if that is earlier: as in the kernel.
        if let Some(last) = tree.last_idle.filter(|_| tree.active.is_empty()) {
            tree.time = tree.time.min(self.trees.key(last).finish);
        }
        // Only one per call, as in the kernel.
        if let Some(first) = tree.idle.first()
            && self.trees.key(first).finish <= tree.time
        {
            self.leave_idle_tree(Node::of(first));
            self.forget_entity(Node::of(first));
        }
    }

    /// Updates a level's next entity after a change; the group's budget becomes that entity's.
    pub(crate) fn update_next(&mut self, now: Jiffy, level: usize, new: Option<Node>, service: Service) -> News {
        let old = self.levels[level].next;
        let goes_first = |n: &Node| {
            let entity = &self.entities[*n];
            old.is_none_or(|next| {
                let tree = &self.levels[level].classes[entity.class as usize];
                let other = &self.entities[next];
                entity.class == other.class && entity.start <= tree.time && entity.finish < other.finish
            })
        };
        let next = match new.filter(|_| new != old).filter(goes_first) {
            Some(new) => Some(new),
            None => self.look_up_next(now, level, service),
        };
        self.levels[level].next = next;
        let Some(next) = next else { return News::None };
        let budget = self.entities[next].budget;
        let shrinks = self.group_above(level).is_some_and(|above| {
            let old = core::mem::replace(&mut self.entities[above].budget, budget);
            old > budget
        });
        if old.is_none() || shrinks { News::ForParent } else { News::None }
    }

    /// Looks up the entity of a group to be served next: by class, but the idle class first once per interval.
    pub(crate) fn look_up_next(&mut self, now: Jiffy, level: usize, service: Service) -> Option<Node> {
        let idle_class = self.idle_class;
        let at = &mut self.levels[level];
        let waits = |class: IoprioClass| !at.classes[class as usize].active.is_empty();
        let mut class = IoprioClass::ALL.into_iter().find(|&class| waits(class));
        // Otherwise the higher classes could starve the idle class.
        if now > at.idle_class_at + idle_class {
            if waits(IoprioClass::Idle) {
                class = Some(IoprioClass::Idle);
            }
            at.idle_class_at = now;
        }
        let class = class?;
        let tree = &mut at.classes[class as usize];
        let time = tree.time.max(earliest(&self.trees, tree.active)?);
        // While an entity is in service, virtual time advances only by its service.
        if (at.in_service.is_none() || service == Service::Ends) && time > tree.time {
            tree.time = time;
            self.forget_idle(level, class);
        }
        first_started(&self.trees, self.levels[level].classes[class as usize].active, time)
    }

    /// Charges this many sectors to an entity and to every group that it is in.
    #[inline(always)]
    pub(crate) fn serve_entity(&mut self, n: Node, sectors: i64) {
        let mut at = Some(n);
        while let Some(n) = at {
            let entity = &mut self.entities[n];
            entity.service += sectors;
            let (level, class) = (entity.level, entity.class);
            let tree = &mut self.levels[level].classes[class as usize];
            tree.time = tree.time.after(sectors, tree.weight);
            self.forget_idle(level, class);
            at = self.group_above(level);
        }
    }
}
