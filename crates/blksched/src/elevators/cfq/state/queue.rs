//! One queue of CFQ: the requests that one process waits for, those of processes that share a queue, or the write-back
//! of a priority level.
//!
//! **Rule** A queue lives while a process holds it, a merge is planned into it, or one of its requests exists; the
//! write-back of a level lives for ever. Queues are numbered, and numbers are reused.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c1; docs/behaviour/elevators-4.20.md#g.6.
//! **In the kernel** `cfq_queue`, `cfq_get_queue`, `cfq_put_queue`, `async_cfqq`, `cfqq_type`, `prio_changed`,
//! `meta_pending`, `prio_pending`.

use alloc::vec::Vec;

use crate::elevators::cfq::ids::{Gid, Qid};
use crate::elevators::cfq::state::cooperation::Cooperation;
use crate::elevators::cfq::state::idle_window::IdleWindow;
use crate::elevators::cfq::state::references::References;
use crate::elevators::cfq::state::service_trees::TreeAt;
use crate::elevators::cfq::state::slice::Slice;
use crate::elevators::ioprio::{Ioprio, IoprioClass};
use crate::estimate::{SeekDistance, SeekHistory};
use crate::explain::ServiceType;
use crate::index::{Chain, Root};
use crate::request::{RequestId, SubmitterId, Waiter};

/// One queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CfqQueue {
    /// The process that created it, named in reasons.
    pub(crate) owner: SubmitterId,
    pub(crate) waiter: Waiter,
    /// The group that it belongs to.
    pub(crate) own_group: Gid,
    /// The group for which it counts now, usually `own_group` (`steps/isolation`).
    pub(crate) group: Gid,
    /// Effective class and level.
    pub(crate) ioprio: Ioprio,
    /// Its process's class and level; the effective one may be boosted for a while (`decide/boost`).
    pub(crate) own_ioprio: Ioprio,
    pub(crate) reading: Reading,

    /// Its requests, by sector.
    pub(crate) sorted: Root,
    /// Its requests, by age.
    pub(crate) fifo: Chain,
    /// Its next request, while it has any.
    pub(crate) next: Option<RequestId>,
    /// The number of its requests for metadata.
    pub(crate) meta: u32,
    /// The number of its requests that are dispatched and not yet completed.
    pub(crate) dispatched: u32,

    /// The service tree it is in.
    pub(crate) served_in: Option<TreeAt>,
    /// The tree of positions it is in, by level.
    pub(crate) positioned_in: Option<u8>,

    pub(crate) slice: Slice,
    pub(crate) window: IdleWindow,
    pub(crate) seeks: SeekDistance,
    pub(crate) history: SeekHistory,
    pub(crate) cooperation: Cooperation,
    pub(crate) held_by: References,
}

/// Whether a queue has its process's current priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    Current,
    /// The priority has changed; the queue reads it at the next insertion.
    Stale,
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
            reading: Reading::Current,
            sorted: Root::default(),
            fifo: Chain::default(),
            next: None,
            meta: 0,
            dispatched: 0,
            served_in: None,
            positioned_in: None,
            slice: Slice::default(),
            window: IdleWindow::new(waiter),
            seeks: SeekDistance::default(),
            history: SeekHistory::default(),
            cooperation: Cooperation::Alone,
            held_by: References::of_one_process(),
        };
        queue.take(ioprio);
        queue
    }

    /// Takes over a process's priority.
    pub(crate) fn take(&mut self, ioprio: Ioprio) {
        (self.ioprio, self.own_ioprio) = (ioprio, ioprio);
        self.reading = Reading::Current;
        if self.is_idle_class() {
            self.window.close();
        }
    }

    pub(crate) fn is_idle_class(&self) -> bool {
        self.ioprio.class == IoprioClass::Idle
    }

    pub(crate) fn is_real_time(&self) -> bool {
        self.ioprio.class == IoprioClass::RealTime
    }

    pub(crate) fn is_sync(&self) -> bool {
        self.waiter == Waiter::Sync
    }

    /// The kind of load that it is now.
    pub(crate) fn kind(&self) -> ServiceType {
        match (self.is_sync(), self.window.is_open()) {
            (false, _) => ServiceType::Async,
            (true, false) => ServiceType::SyncNoIdle,
            (true, true) => ServiceType::Sync,
        }
    }

    /// Whether no split or merge of it is pending.
    pub(crate) fn goes_on_as_it_is(&self) -> bool {
        self.cooperation != Cooperation::Splitting && self.held_by.joins().is_none()
    }

    /// Whether it has no queued requests.
    pub(crate) fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }
}

/// Every queue, in slots that are reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queues {
    slots: Vec<CfqQueue>,
    free: Vec<Qid>,
}

impl Queues {
    pub(crate) fn reserve(&mut self, queues: usize) {
        self.slots.reserve(queues);
        self.free.reserve(queues);
    }

    pub(crate) fn make(&mut self, owner: SubmitterId, waiter: Waiter, group: Gid, ioprio: Ioprio) -> Qid {
        let queue = CfqQueue::new(owner, waiter, group, ioprio);
        if let Some(q) = self.free.pop() {
            self.slots[q as usize] = queue;
            return q;
        }
        self.slots.push(queue);
        (self.slots.len() - 1) as Qid
    }

    pub(crate) fn release(&mut self, q: Qid) {
        self.free.push(q);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Qid, &CfqQueue)> {
        let all = self.slots.iter().enumerate().map(|(q, queue)| (q as Qid, queue));
        all.filter(|(_, queue)| !queue.held_by.is_none())
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
