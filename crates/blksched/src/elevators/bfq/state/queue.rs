//! One queue of BFQ: the requests that one process waits for, those of processes whose queues were merged, or the
//! write-back of a class and level.
//!
//! **Rule** A queue lives while a process, a planned or a stable merge holds it, one of its requests exists, its weight
//! is counted, or it is on a service tree or in service; the write-back of a level lives for ever.
//! **Origin** docs/behaviour/elevators-6.1.md#b1. Numbers are reused; a serial number never is.
//! **In the kernel** `bfq_queue`, `bfq_get_queue`, `bfq_put_queue`, `async_bfqq`, `budget_timeout`,
//! `non_blocking_wait_rq`, `service_from_backlogged`, `first_IO_time`.

use alloc::vec::Vec;

use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::rules::Chains;
use crate::elevators::bfq::state::burst::Birth;
use crate::elevators::bfq::state::habits::{Habits, Seeks};
use crate::elevators::bfq::state::injection::Injection;
use crate::elevators::bfq::state::raising::Raising;
use crate::elevators::bfq::state::sharing::Sharing;
use crate::elevators::bfq::state::waking::Waking;
use crate::elevators::bfq::timeouts::{Call, Jiffy, LONG_AGO};
use crate::elevators::ioprio::Ioprio;
use crate::index::{Chain, Root};
use crate::request::{RequestId, SubmitterId, Waiter};

/// One queue. Its weight, budget and timestamps are in its `hierarchy::entity::Entity`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BfqQueue {
    pub(crate) serial: u64,
    /// The process that created it, named in reasons.
    pub(crate) owner: SubmitterId,
    pub(crate) waiter: Waiter,
    /// The ioprio level of its process.
    pub(crate) level: u8,

    /// Its requests, by sector.
    pub(crate) sorted: Root,
    /// Its requests, by age.
    pub(crate) fifo: Chain,
    /// Its next request, while it has any.
    pub(crate) next: Option<RequestId>,
    /// The number of its requests in the device.
    pub(crate) in_device: u32,
    /// Whether it has requests, or is waited for although it has none.
    pub(crate) busy: bool,

    pub(crate) slice: Slice,
    pub(crate) raising: Raising,
    pub(crate) habits: Habits,
    pub(crate) seeks: Seeks,
    pub(crate) injection: Injection,
    pub(crate) waking: Waking,
    pub(crate) birth: Birth,
    pub(crate) sharing: Sharing,
    pub(crate) held_by: References,
}

/// A queue's slices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice {
    /// The budget that feedback assigns it \[sectors\].
    pub(crate) assigned: i64,
    /// While it is in service, the latest end of its slice; otherwise, when it became idle (`budget_timeout`).
    pub(crate) expires: Jiffy,
    /// Whether this slice has checked its oldest request.
    pub(crate) looked_for_oldest: bool,
    /// Whether the disk is being left idle for it.
    pub(crate) waits: bool,
    /// Whether it ran empty with budget left, which is kept for it (`non_blocking_wait_rq`).
    pub(crate) keeps_budget: bool,
    /// The service received since it last became busy \[sectors\].
    pub(crate) served: i64,
    /// When it was first served since it became busy.
    pub(crate) first_served: Jiffy,
    /// When it last became busy.
    pub(crate) busy_since: Jiffy,
}

/// The references that keep a queue alive, apart from service trees.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct References {
    /// The number of processes that hold it, and of merges planned into it.
    pub(crate) processes: u32,
    /// The number of its requests, from preparation to completion.
    pub(crate) requests: u32,
    /// The number of stable merges that may still join it.
    pub(crate) stable: u32,
}

impl BfqQueue {
    pub(crate) fn is_sync(&self) -> bool {
        self.waiter == Waiter::Sync
    }

    /// Counts sectors that it was served.
    #[inline]
    pub(crate) fn note_served(&mut self, now: Jiffy, sectors: i64) {
        if self.slice.served == 0 {
            self.slice.first_served = now;
        }
        if self.is_raised() {
            self.raising.served += sectors;
        }
        self.slice.served += sectors;
    }

    /// Whether it has no queued requests.
    pub(crate) fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// Whether it belongs to a single process: if merges are carried out to the end of a chain, not while one is
    /// planned.
    #[inline(always)]
    pub(crate) fn is_of_one(&self, chains: Chains) -> bool {
        self.held_by.processes == 1 && (chains == Chains::OneStep || self.sharing.target.is_none())
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.raising.is_raised()
    }

    pub(crate) fn new(call: &Call<'_>, owner: SubmitterId, waiter: Waiter, ioprio: Ioprio, assigned: i64) -> BfqQueue {
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
            slice: Slice {
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
pub(crate) struct Queues {
    pub(crate) slots: Vec<BfqQueue>,
    pub(crate) live: Vec<bool>,
    pub(crate) free: Vec<Qid>,
    pub(crate) made: u64,
}

impl Queues {
    pub(crate) fn reserve(&mut self, queues: usize) {
        self.slots.reserve(queues);
        self.live.reserve(queues);
        self.free.reserve(queues);
    }

    pub(crate) fn make(
        &mut self,
        call: &Call<'_>,
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

    pub(crate) fn is_live(&self, q: Qid) -> bool {
        self.live[q as usize]
    }

    pub(crate) fn release(&mut self, q: Qid) {
        self.live[q as usize] = false;
        self.free.push(q);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Qid, &BfqQueue)> {
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

impl BfqQueue {
    /// When its next arrival, at the earliest, shows a soft real-time rate: later, the more it was served.
    pub(crate) fn next_soft_from(&self, now: Jiffy, second: Jiffy, idle: Jiffy) -> Jiffy {
        let by_rate = self.slice.busy_since + second * self.slice.served / SLOW_RATE;
        self.raising.soft_from.max(by_rate).max(now + idle + 4)
    }
}

/// The greatest rate of a soft real-time queue \[sectors per second\].
pub(crate) const SLOW_RATE: i64 = 7000;
