//! Who is next: queues in the order of the moment their turn is due.
//!
//! **Rule** A queue's key is `now + (n − 1)·(length(sync, 0) − length(queue)) ∓ residual` \[ticks\], n the queues that
//! wait: the shorter its slice, the later its turn. The idle class comes 200 ms after everybody else of it; who
//! preempts comes first. Equal keys in the order of arrival.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c10, #s1, #c33.1 and #c33.2; docs/behaviour/elevators-4.20.md#x.8.
//! With one tree ([`Trees::Single`]) the product is unsigned and 32 bits wide: an async slice longer than sync slices
//! makes a queue wait for 2³² ticks. 2.6.33 signs it, and does not count the queue that joins, so the first one's
//! offset is negative. With groups, n counts the queues of the group.
//! **In the kernel** `cfq_rb_root`, `cfq_service_tree_add`, `cfq_resort_rr_list`, `cfq_slice_offset`, `rb_key`.

#![doc(alias = "cfq_rb_root")]
#![doc(alias = "cfq_service_tree_add")]
#![doc(alias = "cfq_resort_rr_list")]
#![doc(alias = "cfq_slice_offset")]
#![doc(alias = "rb_key")]

use super::Cfq;
use super::clock::Clock;
use super::groups::{Gid, Grouping, ROOT};
use super::preempt::Preemption;
use super::priority::IoprioClass;
use super::qid::Qid;
use super::queue::CfqQueue;
use super::slice::{Residual, by_level};
use crate::elevator::Cx;
use crate::explain::ServiceType;
use crate::index::{Forest, Root};
use crate::request::Waiter;

/// How many service trees there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trees {
    /// One, by class, then by key; a queue leaves it when it runs empty (2.6.31, 2.6.32).
    Single,
    /// One per class and kind of load, which share the time (`workload`); a queue leaves when its turn ends and it is
    /// empty (2.6.33).
    ByWorkload,
    /// This many in each group, and turns are parts of `target_latency` (4.20).
    InGroups,
}

/// How many trees a group has.
pub(super) const TREES: usize = 7;

/// One of the trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TreeAt {
    group: Gid,
    nth: u8,
}

const TYPES: [ServiceType; 3] = [ServiceType::Async, ServiceType::SyncNoIdle, ServiceType::Sync];

impl TreeAt {
    /// The only one of a group.
    fn single(group: Gid) -> TreeAt {
        TreeAt { group, nth: 0 }
    }

    /// A group's tree of a class and a kind of load; the idle class has one.
    pub(super) fn of(group: Gid, rank: IoprioClass, kind: ServiceType) -> TreeAt {
        let nth = match rank {
            IoprioClass::RealTime => kind as u8,
            IoprioClass::BestEffort => 3 + kind as u8,
            IoprioClass::Idle => 6,
        };
        TreeAt { group, nth }
    }

    pub(super) fn group(self) -> Gid {
        self.group
    }

    /// Which of its group's.
    pub(super) fn nth(self) -> usize {
        usize::from(self.nth)
    }
}

/// A group's trees.
#[derive(Clone, Copy, Debug, Default)]
struct Branch {
    roots: [Root; TREES],
    queues: u32,
}

/// The queues that wait for a turn or have it.
#[derive(Clone, Debug)]
pub(super) struct ServiceTrees {
    forest: Forest<(IoprioClass, i64)>,
    branches: Vec<Branch>,
    busy: u32,
    busy_sync: u32,
}

impl Default for ServiceTrees {
    fn default() -> ServiceTrees {
        ServiceTrees { forest: Forest::new(), branches: vec![Branch::default()], busy: 0, busy_sync: 0 }
    }
}

impl ServiceTrees {
    pub(super) fn reserve(&mut self, queues: usize) {
        self.forest.reserve(queues);
    }

    /// Trees for this many groups.
    pub(super) fn make_room(&mut self, groups: usize) {
        self.branches.resize(groups.max(self.branches.len()), Branch::default());
    }

    /// How many queues there are in all.
    pub(super) fn busy(&self) -> u32 {
        self.busy
    }

    /// How many of them hold requests that somebody waits for.
    pub(super) fn busy_sync(&self) -> u32 {
        self.busy_sync
    }

    /// How many queues of a group there are.
    pub(super) fn in_group(&self, g: Gid) -> u32 {
        self.branches[g as usize].queues
    }

    /// Of one class (by workload).
    pub(super) fn busy_of(&self, g: Gid, rank: IoprioClass) -> u32 {
        match rank {
            IoprioClass::Idle => self.count(TreeAt::of(g, rank, ServiceType::Async)),
            _ => TYPES.iter().map(|&kind| self.count(TreeAt::of(g, rank, kind))).sum(),
        }
    }

    /// The group has queues that are neither write-back nor of the idle class (by workload).
    pub(super) fn has_sync(&self, g: Gid) -> bool {
        let none = |rank| self.count(TreeAt::of(g, rank, ServiceType::Async));
        self.in_group(g) > none(IoprioClass::RealTime) + none(IoprioClass::BestEffort) + none(IoprioClass::Idle)
    }

    fn root(&self, tree: TreeAt) -> Root {
        self.branches[tree.group as usize].roots[tree.nth()]
    }

    pub(super) fn count(&self, tree: TreeAt) -> u32 {
        self.root(tree).len()
    }

    pub(super) fn first_of(&self, tree: TreeAt) -> Option<Qid> {
        self.root(tree).first()
    }

    /// The first of a group's single tree.
    pub(super) fn first(&self, g: Gid) -> Option<Qid> {
        self.first_of(TreeAt::single(g))
    }

    /// As the tree keeps it ([`Clock::stored`]).
    pub(super) fn key(&self, q: Qid) -> i64 {
        self.forest.key(q).1
    }

    fn last_of(&self, tree: TreeAt) -> Option<Qid> {
        self.forest.last(self.root(tree))
    }

    fn insert(&mut self, tree: TreeAt, q: Qid, rank: IoprioClass, key: i64) {
        self.forest.insert(&mut self.branches[tree.group as usize].roots[tree.nth()], q, (rank, key));
    }

    fn remove(&mut self, tree: TreeAt, q: Qid) {
        self.forest.remove(&mut self.branches[tree.group as usize].roots[tree.nth()], q);
    }
}

/// Where in its tree a queue goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InsertPosition {
    /// By its key.
    InOrder,
    /// It preempts.
    Front,
}

/// What kind of load a queue is now.
pub(super) fn kind(queue: &CfqQueue) -> ServiceType {
    match (queue.is_sync(), queue.idling.open) {
        (false, _) => ServiceType::Async,
        (true, false) => ServiceType::SyncNoIdle,
        (true, true) => ServiceType::Sync,
    }
}

impl Cfq {
    /// The tree that a queue goes into now.
    fn tree_for(&self, q: Qid) -> TreeAt {
        let queue = &self.queues[q];
        match self.rules.trees {
            Trees::Single => TreeAt::single(queue.group),
            _ => TreeAt::of(queue.group, queue.ioprio.rank, kind(queue)),
        }
    }

    fn service_key(&mut self, cx: &Cx<'_>, q: Qid, tree: TreeAt, entrance: InsertPosition) -> i64 {
        let (clock, second) = (self.rules.clock, self.second() as i64);
        let now = (self.now(cx) as i64).wrapping_add(self.head_start);
        if self.queues[q].is_idle_class() {
            let last = self.service.last_of(tree).filter(|&last| last != q && clock == Clock::Jiffies);
            return second / 5 + last.map_or(now, |last| self.service.key(last));
        }
        if entrance == InsertPosition::Front {
            return match self.rules.preemption {
                Preemption::Close => 0,
                _ => {
                    let first = self.service.first_of(tree).map(|first| clock.stored(self.service.key(first)));
                    first.unwrap_or(now).wrapping_sub(second)
                }
            };
        }
        let key = now.wrapping_add(self.slice_offset(q));
        let residual = core::mem::take(&mut self.queues[q].slice.residual);
        match self.rules.residual {
            Residual::Added => key.wrapping_add(residual),
            Residual::Subtracted | Residual::Whole => key.wrapping_sub(residual),
        }
    }

    /// How much later than the best a queue's turn comes.
    fn slice_offset(&self, q: Qid) -> i64 {
        let (queue, ticks) = (&self.queues[q], self.ticks);
        let best = by_level(Waiter::Sync, 0, &ticks);
        let gap = best - by_level(queue.waiter, queue.ioprio.level, &ticks);
        let others = i64::from(self.service.in_group(queue.group)) - 1;
        match self.rules.trees {
            Trees::Single => {
                let others = others + i64::from(queue.served_in.is_none());
                let jiffy = self.jiffy as i64;
                i64::from((others as u32).wrapping_mul((gap / jiffy) as u32)) * jiffy
            }
            _ => others.wrapping_mul(gap),
        }
    }

    pub(super) fn service_add(&mut self, cx: &Cx<'_>, q: Qid, entrance: InsertPosition) {
        let tree = self.tree_for(q);
        let key = self.service_key(cx, q, tree, entrance);
        let key = self.rules.clock.stored(key);
        if let Some(present) = self.queues[q].served_in {
            if present == tree && self.service.key(q) == key {
                return;
            }
            self.service.remove(present, q);
        }
        self.service.insert(tree, q, self.queues[q].ioprio.rank, key);
        self.queues[q].served_in = Some(tree);
    }

    /// A queue that waits already gets the place that it would get now.
    pub(super) fn resort(&mut self, cx: &Cx<'_>, q: Qid) {
        if self.queues[q].served_in.is_none() {
            return;
        }
        if self.change_group(q) {
            self.join(cx, q);
        } else {
            self.service_add(cx, q, InsertPosition::InOrder);
            self.position_add(cx, q);
        }
    }

    /// A queue has a request: it waits for a turn from now on.
    pub(super) fn join(&mut self, cx: &Cx<'_>, q: Qid) {
        if self.queues[q].served_in.is_some() {
            return;
        }
        self.change_group(q);
        self.service_add(cx, q, InsertPosition::InOrder);
        self.position_add(cx, q);
        let (group, sync) = (self.queues[q].group, self.queues[q].is_sync());
        self.service.busy += 1;
        self.service.busy_sync += u32::from(sync);
        let branch = &mut self.service.branches[group as usize];
        branch.queues += 1;
        if branch.queues == 1 && self.rules.groups == Grouping::On {
            let delay = self.newcomers_delay();
            self.groups.join(group, delay);
        }
    }

    pub(super) fn leave(&mut self, q: Qid) {
        self.position_remove(q);
        let Some(tree) = self.queues[q].served_in.take() else { return };
        self.service.remove(tree, q);
        let (group, sync) = (self.queues[q].group, self.queues[q].is_sync());
        self.service.busy -= 1;
        self.service.busy_sync -= u32::from(sync);
        let branch = &mut self.service.branches[group as usize];
        branch.queues -= 1;
        if branch.queues == 0 {
            self.groups[group].saved = None;
            if self.rules.groups == Grouping::On {
                self.groups.quit(group);
            }
        }
    }

    /// The group that is to be served next.
    pub(super) fn due_group(&mut self) -> Gid {
        match self.rules.groups {
            Grouping::Off => ROOT,
            Grouping::On => self.groups.due().expect("a queue waits, so its group does"),
        }
    }
}
