//! One queue of CFQ: the requests that one process waits for, those of processes that share a queue, or the write-back
//! of a priority level.
//!
//! **Rule** A queue lives while a process holds it, a merge is planned into it, or one of its requests exists; the
//! write-back of a level lives for ever. Queues are numbered, and numbers are reused.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c1; docs/behaviour/elevators-4.20.md#g.6.
//! **In the kernel** `cfq_queue`, `cfq_get_queue`, `cfq_put_queue`, `async_cfqq`.

#![doc(alias = "cfq_queue")]
#![doc(alias = "cfq_get_queue")]
#![doc(alias = "cfq_put_queue")]
#![doc(alias = "async_cfqq")]

use super::cooperator::Sharing;
use super::groups::Gid;
use super::priority::Ioprio;
use super::qid::Qid;
use super::service_tree::TreeAt;
use super::slice::Slice;
use crate::estimate::{SeekDistance, SeekHistory};
use crate::index::{Chain, Root};
use crate::request::{RequestId, SubmitterId, Waiter};

/// One queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct CfqQueue {
    /// Who made it, for reasons.
    pub(super) owner: SubmitterId,
    pub(super) waiter: Waiter,
    /// Whose share it has.
    pub(super) own_group: Gid,
    /// For whom it counts now: mostly that group (`isolation`).
    pub(super) group: Gid,
    /// Effective class and level.
    pub(super) ioprio: Ioprio,
    /// Its process's class and level; the effective one may be boosted for a while (`priority`).
    pub(super) own_ioprio: Ioprio,
    /// Its process's priority changed; it is read at the next insertion.
    pub(super) priority_is_old: bool,

    /// Its requests by sector.
    pub(super) sorted: Root,
    /// Its requests by age.
    pub(super) fifo: Chain,
    /// Its next request, while it has any.
    pub(super) next: Option<RequestId>,
    /// Its requests for metadata.
    pub(super) meta: u32,
    /// Chosen and not yet back.
    pub(super) dispatched: u32,

    /// The service tree it is in.
    pub(super) served_in: Option<TreeAt>,
    /// The tree of positions it is in: its level.
    pub(super) positioned_in: Option<u8>,

    pub(super) slice: Slice,
    pub(super) idling: IdleWindow,
    pub(super) seeks: SeekDistance,
    pub(super) history: SeekHistory,
    pub(super) sharing: Sharing,
    pub(super) held_by: References,
}

/// Is the disk left idle for this queue?
#[derive(Clone, Copy, Debug)]
pub(super) struct IdleWindow {
    /// It thinks shortly enough and does not seek too much.
    pub(super) open: bool,
    /// It had four requests queued at once (2.6.33): it may seek and is idled for all the same.
    pub(super) deep: bool,
}

/// Why a queue lives.
#[derive(Clone, Copy, Debug)]
pub(super) struct References {
    /// Processes, and merges planned into it.
    pub(super) processes: u32,
    /// Its requests, from prepared to complete.
    pub(super) requests: u32,
}

impl CfqQueue {
    fn new(owner: SubmitterId, waiter: Waiter, group: Gid, ioprio: Ioprio) -> CfqQueue {
        let mut queue = CfqQueue {
            owner,
            waiter,
            own_group: group,
            group,
            ioprio,
            own_ioprio: ioprio,
            priority_is_old: false,
            sorted: Root::default(),
            fifo: Chain::default(),
            next: None,
            meta: 0,
            dispatched: 0,
            served_in: None,
            positioned_in: None,
            slice: Slice::default(),
            idling: IdleWindow { open: waiter == Waiter::Sync, deep: false },
            seeks: SeekDistance::default(),
            history: SeekHistory::default(),
            sharing: Sharing::default(),
            held_by: References { processes: 1, requests: 0 },
        };
        queue.take(ioprio);
        queue
    }

    /// A process's priority becomes the queue's.
    pub(super) fn take(&mut self, ioprio: Ioprio) {
        (self.ioprio, self.own_ioprio) = (ioprio, ioprio);
        self.priority_is_old = false;
        if self.is_idle_class() {
            self.idling.open = false;
        }
    }

    pub(super) fn is_idle_class(&self) -> bool {
        self.ioprio.rank == super::priority::IoprioClass::Idle
    }

    pub(super) fn is_real_time(&self) -> bool {
        self.ioprio.rank == super::priority::IoprioClass::RealTime
    }

    pub(super) fn is_sync(&self) -> bool {
        self.waiter == Waiter::Sync
    }

    /// Nothing of it is queued.
    pub(super) fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }
}

/// Every queue, in slots that are reused.
#[derive(Clone, Debug, Default)]
pub(super) struct Queues {
    slots: Vec<CfqQueue>,
    free: Vec<Qid>,
}

impl Queues {
    pub(super) fn reserve(&mut self, queues: usize) {
        self.slots.reserve(queues);
        self.free.reserve(queues);
    }

    pub(super) fn make(&mut self, owner: SubmitterId, waiter: Waiter, group: Gid, ioprio: Ioprio) -> Qid {
        let queue = CfqQueue::new(owner, waiter, group, ioprio);
        if let Some(q) = self.free.pop() {
            self.slots[q as usize] = queue;
            return q;
        }
        self.slots.push(queue);
        (self.slots.len() - 1) as Qid
    }

    pub(super) fn release(&mut self, q: Qid) {
        self.free.push(q);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Qid, &CfqQueue)> {
        let all = self.slots.iter().enumerate().map(|(q, queue)| (q as Qid, queue));
        all.filter(|(_, queue)| queue.held_by.processes + queue.held_by.requests > 0)
    }
}

impl core::ops::Index<Qid> for Queues {
    type Output = CfqQueue;
    fn index(&self, q: Qid) -> &CfqQueue {
        &self.slots[q as usize]
    }
}

impl core::ops::IndexMut<Qid> for Queues {
    fn index_mut(&mut self, q: Qid) -> &mut CfqQueue {
        &mut self.slots[q as usize]
    }
}
