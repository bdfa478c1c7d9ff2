//! One queue of BFQ: the requests that one process waits for, those of processes whose queues were merged, or the
//! write-back of a class and level.
//!
//! **Rule** A queue lives while a process, a planned or a stable merge holds it, one of its requests exists, its weight
//! is counted, or it is on a service tree or in service; the write-back of a level lives for ever.
//! **Origin** docs/behaviour/elevators-6.1.md#b1. Numbers are reused; a serial number never is.
//! **In the kernel** `bfq_queue`, `bfq_get_queue`, `bfq_put_queue`, `async_bfqq`.

#![doc(alias = "bfq_queue")]
#![doc(alias = "bfq_get_queue")]
#![doc(alias = "bfq_put_queue")]
#![doc(alias = "async_bfqq")]

use super::burst::Birth;
use super::habits::{Habits, Seeks};
use super::injection::Injection;
use super::qid::Qid;
use super::raising::Raising;
use super::sharing::Sharing;
use super::terms::{Call, Jiffy, LONG_AGO};
use super::waker::Waking;
use crate::elevators::ioprio::Ioprio;
use crate::index::{Chain, Root};
use crate::request::{RequestId, SubmitterId, Waiter};

/// One queue. Its weight, budget and timestamps are its [`Entity`](super::entity::Entity)'s.
#[derive(Clone, Copy, Debug)]
pub(super) struct BfqQueue {
    pub(super) serial: u64,
    /// Who made it, for reasons.
    pub(super) owner: SubmitterId,
    pub(super) waiter: Waiter,
    /// The level that its process asks for.
    pub(super) level: u8,

    /// Its requests by sector.
    pub(super) sorted: Root,
    /// Its requests by age.
    pub(super) fifo: Chain,
    /// Its next request, while it has any.
    pub(super) next: Option<RequestId>,
    /// Requests of it that the device has.
    pub(super) in_device: u32,
    /// It has requests, or is waited for although it has none.
    pub(super) busy: bool,
    /// The level in which it counts as one that has something to do, here or in the device.
    pub(super) pending_in: Option<usize>,

    pub(super) turn: Turn,
    pub(super) raising: Raising,
    pub(super) habits: Habits,
    pub(super) seeks: Seeks,
    pub(super) injection: Injection,
    pub(super) waking: Waking,
    pub(super) birth: Birth,
    pub(super) sharing: Sharing,
    pub(super) held_by: References,
}

/// What a queue's turns are like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// The budget that feedback assigns it \[sectors\].
    pub(super) assigned: i64,
    /// While it is served: when its turn ends at the latest. Else: when it became idle.
    pub(super) expires: Jiffy,
    /// This turn has looked for a request whose time is up.
    pub(super) looked_for_oldest: bool,
    /// The disk is left idle for it.
    pub(super) waits: bool,
    /// It ran empty with budget left, which is kept for it.
    pub(super) keeps_budget: bool,
    /// What it has had since it last became busy \[sectors\].
    pub(super) served: i64,
    /// When it was first served since then.
    pub(super) first_served: Jiffy,
    /// When it last became busy.
    pub(super) busy_since: Jiffy,
}

/// Why a queue lives, beside service trees.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct References {
    /// Processes, and merges planned into it.
    pub(super) processes: u32,
    /// Its requests, from prepared to complete.
    pub(super) requests: u32,
    /// Processes that may join it for good.
    pub(super) stable: u32,
    /// The weight under which it is counted.
    pub(super) counted: Option<i64>,
}

impl BfqQueue {
    pub(super) fn is_sync(&self) -> bool {
        self.waiter == Waiter::Sync
    }

    /// Nothing of it is queued.
    pub(super) fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    pub(super) fn is_raised(&self) -> bool {
        self.raising.is_raised()
    }

    fn new(call: &Call<'_, '_>, owner: SubmitterId, waiter: Waiter, ioprio: Ioprio, assigned: i64) -> BfqQueue {
        BfqQueue {
            serial: 0,
            owner,
            waiter,
            level: ioprio.level,
            sorted: Root::default(),
            fifo: Chain::default(),
            next: None,
            in_device: 0,
            busy: false,
            pending_in: None,
            turn: Turn {
                assigned,
                expires: LONG_AGO,
                looked_for_oldest: false,
                waits: false,
                keeps_budget: false,
                served: 0,
                first_served: LONG_AGO,
                busy_since: LONG_AGO,
            },
            raising: Raising::new(call.now),
            habits: Habits::new(call.ns, waiter),
            seeks: Seeks::new(),
            injection: Injection::default(),
            waking: Waking::default(),
            birth: Birth::new(call.now, waiter),
            sharing: Sharing::default(),
            held_by: References::default(),
        }
    }
}

/// Every queue, in slots that are reused.
#[derive(Clone, Debug, Default)]
pub(super) struct Queues {
    slots: Vec<BfqQueue>,
    live: Vec<bool>,
    free: Vec<Qid>,
    made: u64,
}

impl Queues {
    pub(super) fn reserve(&mut self, queues: usize) {
        self.slots.reserve(queues);
        self.live.reserve(queues);
        self.free.reserve(queues);
    }

    pub(super) fn make(
        &mut self,
        call: &Call<'_, '_>,
        owner: SubmitterId,
        waiter: Waiter,
        ioprio: Ioprio,
        assigned: i64,
    ) -> Qid {
        self.made += 1;
        let queue = BfqQueue { serial: self.made, ..BfqQueue::new(call, owner, waiter, ioprio, assigned) };
        if let Some(q) = self.free.pop() {
            self.slots[q as usize] = queue;
            self.live[q as usize] = true;
            return q;
        }
        self.slots.push(queue);
        self.live.push(true);
        (self.slots.len() - 1) as Qid
    }

    pub(super) fn is_live(&self, q: Qid) -> bool {
        self.live[q as usize]
    }

    pub(super) fn release(&mut self, q: Qid) {
        self.live[q as usize] = false;
        self.free.push(q);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Qid, &BfqQueue)> {
        (0..).zip(&self.slots).filter(|(q, _)| self.is_live(*q))
    }
}

impl core::ops::Index<Qid> for Queues {
    type Output = BfqQueue;
    fn index(&self, q: Qid) -> &BfqQueue {
        &self.slots[q as usize]
    }
}

impl core::ops::IndexMut<Qid> for Queues {
    fn index_mut(&mut self, q: Qid) -> &mut BfqQueue {
        &mut self.slots[q as usize]
    }
}
