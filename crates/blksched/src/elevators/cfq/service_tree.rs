//! Who is next: queues in the order of the moment their turn is due.
//!
//! **Rule** A queue's key is `now + (n − 1)·(length(sync, 0) − length(queue)) ∓ residual` \[ticks\], n the queues that
//! wait: the shorter its slice, the later its turn. The idle class comes 200 ms after everybody else of it; who
//! preempts comes first. Equal keys in the order of arrival.
//! **Origin** notes C10, S1, C33.1 and C33.2. With one tree ([`Trees::Single`]) the product is unsigned and 32 bits
//! wide: an async slice longer than sync slices makes a queue wait for 2³² ticks. 2.6.33 signs it, and does not count
//! the queue that joins, so the first one's offset is negative.

use super::Cfq;
use super::preempt::Preemption;
use super::priority::Rank;
use super::queue::{CfqQueue, Qid};
use super::slice::{Residual, by_level};
use crate::elevator::Cx;
use crate::explain::ServiceType;
use crate::index::{Forest, Root};

/// How many service trees there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trees {
    /// One, by class, then by key; a queue leaves it when it runs empty (2.6.31, 2.6.32).
    Single,
    /// One per class and kind of load, which share the time (`workload`); a queue leaves when its turn ends and it is
    /// empty (2.6.33).
    ByWorkload,
}

/// One of the trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TreeAt(u8);

const TYPES: [ServiceType; 3] = [ServiceType::Async, ServiceType::SyncNoIdle, ServiceType::Sync];

impl TreeAt {
    const SINGLE: TreeAt = TreeAt(0);

    /// The tree of a class and a kind of load; the idle class has one.
    pub(super) fn of(rank: Rank, kind: ServiceType) -> TreeAt {
        let kind = kind as u8;
        match rank {
            Rank::RealTime => TreeAt(kind),
            Rank::BestEffort => TreeAt(3 + kind),
            Rank::Idle => TreeAt(6),
        }
    }
}

/// The queues that wait for a turn or have it.
#[derive(Clone, Debug, Default)]
pub(super) struct ServiceTrees {
    forest: Forest<(Rank, i64)>,
    roots: [Root; 7],
}

impl ServiceTrees {
    pub(super) fn reserve(&mut self, queues: usize) {
        self.forest.reserve(queues);
    }

    /// How many queues there are in all.
    pub(super) fn busy(&self) -> u32 {
        self.roots.iter().map(|root| root.len()).sum()
    }

    /// Of one class (by workload).
    pub(super) fn busy_of(&self, rank: Rank) -> u32 {
        match rank {
            Rank::Idle => self.count(TreeAt::of(rank, ServiceType::Async)),
            _ => TYPES.iter().map(|&kind| self.count(TreeAt::of(rank, kind))).sum(),
        }
    }

    pub(super) fn count(&self, tree: TreeAt) -> u32 {
        self.roots[usize::from(tree.0)].len()
    }

    pub(super) fn first_of(&self, tree: TreeAt) -> Option<Qid> {
        self.roots[usize::from(tree.0)].first()
    }

    /// The first of the single tree.
    pub(super) fn first(&self) -> Option<Qid> {
        self.first_of(TreeAt::SINGLE)
    }

    pub(super) fn key(&self, q: Qid) -> i64 {
        self.forest.key(q).1
    }

    fn last_of(&self, tree: TreeAt) -> Option<Qid> {
        self.forest.last(self.roots[usize::from(tree.0)])
    }

    fn insert(&mut self, tree: TreeAt, q: Qid, rank: Rank, key: i64) {
        self.forest.insert(&mut self.roots[usize::from(tree.0)], q, (rank, key));
    }

    fn remove(&mut self, tree: TreeAt, q: Qid) {
        self.forest.remove(&mut self.roots[usize::from(tree.0)], q);
    }
}

/// Where in its tree a queue goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entrance {
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
        match self.rules.trees {
            Trees::Single => TreeAt::SINGLE,
            Trees::ByWorkload => TreeAt::of(self.queues[q].standing.rank, kind(&self.queues[q])),
        }
    }

    fn service_key(&mut self, cx: &Cx<'_>, q: Qid, tree: TreeAt, entrance: Entrance) -> i64 {
        let (now, hz) = (self.now(cx) as i64, i64::from(self.jiffies.hz()));
        if self.queues[q].is_idle_class() {
            let last = self.service.last_of(tree).filter(|&last| last != q);
            return hz / 5 + last.map_or(now, |last| self.service.key(last));
        }
        if entrance == Entrance::Front {
            return match self.rules.preemption {
                Preemption::Close => 0,
                _ => self.service.first_of(tree).map_or(now, |first| self.service.key(first)) - hz,
            };
        }
        let key = now + self.slice_offset(q);
        let residual = core::mem::take(&mut self.queues[q].slice.residual);
        match self.rules.residual {
            Residual::Added => key + residual,
            Residual::Subtracted => key - residual,
        }
    }

    /// How much later than the best a queue's turn comes.
    fn slice_offset(&self, q: Qid) -> i64 {
        let (queue, ticks) = (&self.queues[q], self.ticks());
        let best = by_level(crate::request::Waiter::Sync, 0, &ticks);
        let gap = best - by_level(queue.waiter, queue.standing.level, &ticks);
        let others = i64::from(self.service.busy()) - 1;
        match self.rules.trees {
            Trees::Single => {
                let others = others + i64::from(queue.served_in.is_none());
                i64::from((others as u32).wrapping_mul(gap as u32))
            }
            Trees::ByWorkload => others * gap,
        }
    }

    pub(super) fn service_add(&mut self, cx: &Cx<'_>, q: Qid, entrance: Entrance) {
        let tree = self.tree_for(q);
        let key = self.service_key(cx, q, tree, entrance);
        if let Some(present) = self.queues[q].served_in {
            if present == tree && self.service.key(q) == key {
                return;
            }
            self.service.remove(present, q);
        }
        self.service.insert(tree, q, self.queues[q].standing.rank, key);
        self.queues[q].served_in = Some(tree);
    }

    /// A queue that waits already gets the place that it would get now.
    pub(super) fn resort(&mut self, cx: &Cx<'_>, q: Qid) {
        if self.queues[q].served_in.is_some() {
            self.service_add(cx, q, Entrance::InOrder);
            self.position_add(cx, q);
        }
    }

    /// A queue has a request: it waits for a turn from now on.
    pub(super) fn join(&mut self, cx: &Cx<'_>, q: Qid) {
        if self.queues[q].served_in.is_none() {
            self.service_add(cx, q, Entrance::InOrder);
            self.position_add(cx, q);
        }
    }

    pub(super) fn leave(&mut self, q: Qid) {
        if let Some(tree) = self.queues[q].served_in.take() {
            self.service.remove(tree, q);
        }
        self.position_remove(q);
        if self.service.busy() == 0 {
            self.workload.nobody_waits();
        }
    }
}
