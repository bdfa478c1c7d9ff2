//! The service trees: the queues that wait for a slice or have one, by the time their slice is due.
//!
//! **Rule** One tree, or one per class and kind of load; in 4.20 as many in each group. Equal keys in the order of
//! arrival.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c10 and #c33.1.
//! **In the kernel** `cfq_rb_root`, `service_trees`, `rb_key`, `busy_queues`.

use alloc::vec;
use alloc::vec::Vec;

use crate::elevators::cfq::ids::{Gid, Qid};
use crate::elevators::ioprio::IoprioClass;
use crate::explain::ServiceType;
use crate::index::{Forest, Root};
use crate::request::Waiter;

/// How many trees a group has.
pub(crate) const TREES: usize = 7;

/// One of the trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TreeAt {
    group: Gid,
    nth: u8,
}

const TYPES: [ServiceType; 3] = [ServiceType::Async, ServiceType::SyncNoIdle, ServiceType::Sync];

impl TreeAt {
    /// A group's only tree, where there is one.
    pub(crate) fn single(group: Gid) -> TreeAt {
        TreeAt { group, nth: 0 }
    }

    /// A group's tree of a class and a kind of load; the idle class has one.
    pub(crate) fn of(group: Gid, class: IoprioClass, kind: ServiceType) -> TreeAt {
        let nth = match class {
            IoprioClass::RealTime => kind as u8,
            IoprioClass::BestEffort => 3 + kind as u8,
            IoprioClass::Idle => 6,
        };
        TreeAt { group, nth }
    }

    pub(crate) fn group(self) -> Gid {
        self.group
    }

    /// Its index among its group's trees.
    pub(crate) fn nth(self) -> usize {
        usize::from(self.nth)
    }
}

/// A group's trees.
#[derive(Clone, Copy, Debug, Default)]
struct Branch {
    roots: [Root; TREES],
    queues: u32,
}

/// The queues that wait for a slice or have one.
#[derive(Clone, Debug)]
pub(crate) struct ServiceTrees {
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
    pub(crate) fn reserve(&mut self, queues: usize) {
        self.forest.reserve(queues);
    }

    /// Makes room for the trees of this many groups.
    pub(crate) fn make_room(&mut self, groups: usize) {
        self.branches.resize(groups.max(self.branches.len()), Branch::default());
    }

    /// The number of queues in all.
    pub(crate) fn busy(&self) -> u32 {
        self.busy
    }

    /// The number of synchronous queues.
    pub(crate) fn busy_sync(&self) -> u32 {
        self.busy_sync
    }

    /// The number of a group's queues.
    pub(crate) fn in_group(&self, g: Gid) -> u32 {
        self.branches[g as usize].queues
    }

    /// The number of a group's queues of one class (with trees by workload).
    pub(crate) fn busy_of(&self, g: Gid, class: IoprioClass) -> u32 {
        match class {
            IoprioClass::Idle => self.count(TreeAt::of(g, class, ServiceType::Async)),
            _ => TYPES.iter().map(|&kind| self.count(TreeAt::of(g, class, kind))).sum(),
        }
    }

    /// Whether the group has queues that are neither write-back nor of the idle class (with trees by workload).
    pub(crate) fn has_sync(&self, g: Gid) -> bool {
        let none = |class| self.count(TreeAt::of(g, class, ServiceType::Async));
        self.in_group(g) > none(IoprioClass::RealTime) + none(IoprioClass::BestEffort) + none(IoprioClass::Idle)
    }

    fn root(&self, tree: TreeAt) -> Root {
        self.branches[tree.group as usize].roots[tree.nth()]
    }

    pub(crate) fn count(&self, tree: TreeAt) -> u32 {
        self.root(tree).len()
    }

    pub(crate) fn first_of(&self, tree: TreeAt) -> Option<Qid> {
        self.root(tree).first()
    }

    /// The first queue of a group's single tree.
    pub(crate) fn first(&self, g: Gid) -> Option<Qid> {
        self.first_of(TreeAt::single(g))
    }

    /// A queue's key as stored in its tree ([`Clock::stored`]).
    pub(crate) fn key(&self, q: Qid) -> i64 {
        self.forest.key(q).1
    }

    pub(crate) fn last_of(&self, tree: TreeAt) -> Option<Qid> {
        self.forest.last(self.root(tree))
    }

    pub(crate) fn insert(&mut self, tree: TreeAt, q: Qid, class: IoprioClass, key: i64) {
        self.forest.insert(&mut self.branches[tree.group as usize].roots[tree.nth()], q, (class, key));
    }

    pub(crate) fn remove(&mut self, tree: TreeAt, q: Qid) {
        self.forest.remove(&mut self.branches[tree.group as usize].roots[tree.nth()], q);
    }

    /// Counts a queue that begins to wait for a slice. True if it is the first of its group.
    pub(crate) fn count_in(&mut self, group: Gid, waiter: Waiter) -> bool {
        self.busy += 1;
        self.busy_sync += u32::from(waiter == Waiter::Sync);
        let branch = &mut self.branches[group as usize];
        branch.queues += 1;
        branch.queues == 1
    }

    /// Uncounts a queue that no longer waits. True if it was the last of its group.
    pub(crate) fn count_out(&mut self, group: Gid, waiter: Waiter) -> bool {
        self.busy -= 1;
        self.busy_sync -= u32::from(waiter == Waiter::Sync);
        let branch = &mut self.branches[group as usize];
        branch.queues -= 1;
        branch.queues == 0
    }
}
