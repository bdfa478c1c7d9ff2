//! One queue of BFQ: the requests that one process waits for, those of processes whose queues were merged, or the
//! write-back of a class and level.
//!
//! **Rule** A queue lives while a process, a planned or a stable merge holds it, one of its requests exists, its weight
//! is counted, or it is on a service tree or in service; the write-back of a level lives for ever.
//! **Origin** docs/behaviour/elevators-6.1.md#b1. Numbers are reused; a serial number never is.
//! **In the kernel** `bfq_queue`, `bfq_get_queue`, `bfq_put_queue`, `async_bfqq`, `dispatched`,
//! `busy_queues`, `wr_busy_queues`.

use alloc::vec::Vec;

use crate::elevators::bfq::hierarchy::entity::Entity;
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::state::birth::Birth;
use crate::elevators::bfq::state::habits::{Habits, Seeks};
use crate::elevators::bfq::state::injection::Injection;
use crate::elevators::bfq::state::raising::Raising;
use crate::elevators::bfq::state::sharing::Sharing;
use crate::elevators::bfq::state::slice::Slice;
use crate::elevators::bfq::timeouts::{Call, Jiffy};
use crate::elevators::ioprio::{Ioprio, IoprioClass};
use crate::index::{Chain, Root};
use crate::request::{RequestId, SubmitterId, Waiter};

/// One queue. Its weight, budget and timestamps are in its `hierarchy::entity::Entity`; its waker in
/// [`Wakers`](super::waking::Wakers).
#[derive(Clone, Copy, Debug)]
pub(crate) struct BfqQueue {
    serial: u64,
    owner: SubmitterId,
    waiter: Waiter,
    level: u8,

    /// Its requests, by sector.
    pub(crate) sorted: Root,
    /// Its requests, by age.
    pub(crate) fifo: Chain,
    /// Its next request, while it has any.
    pub(crate) next: Option<RequestId>,
    in_device: u32,
    busy: bool,

    raising: Raising,
    pub(crate) slice: Slice,
    pub(crate) habits: Habits,
    pub(crate) seeks: Seeks,
    pub(crate) injection: Injection,
    pub(crate) birth: Birth,
    pub(crate) sharing: Sharing,
}

impl BfqQueue {
    fn new(call: &Call<'_>, owner: SubmitterId, waiter: Waiter, ioprio: Ioprio, assigned: i64) -> BfqQueue {
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
            raising: Raising::new(call.now),
            slice: Slice::new(assigned),
            habits: Habits::new(call.ns, waiter),
            seeks: Seeks::new(),
            injection: Injection::default(),
            birth: Birth::new(call.now, waiter),
            sharing: Sharing::default(),
        }
    }

    pub(crate) fn serial(&self) -> u64 {
        self.serial
    }

    /// The process that created it, named in reasons.
    #[inline]
    pub(crate) fn owner(&self) -> SubmitterId {
        self.owner
    }

    #[inline]
    pub(crate) fn waiter(&self) -> Waiter {
        self.waiter
    }

    #[inline]
    pub(crate) fn is_sync(&self) -> bool {
        self.waiter == Waiter::Sync
    }

    /// The ioprio level of its process.
    pub(crate) fn level(&self) -> u8 {
        self.level
    }

    pub(crate) fn set_level(&mut self, level: u8) {
        self.level = level;
    }

    /// Whether it has no queued requests.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// The number of its requests in the device.
    #[inline]
    pub(crate) fn in_device(&self) -> u32 {
        self.in_device
    }

    /// A request of it goes to the device.
    #[inline(always)]
    pub(crate) fn sent(&mut self) {
        self.in_device += 1;
    }

    /// A request of it comes back from the device; true if it is idle now, with nothing queued or in the device.
    #[inline(always)]
    pub(crate) fn returned(&mut self, now: Jiffy) -> bool {
        self.in_device -= 1;
        let is_idle = self.in_device == 0 && !self.busy;
        if is_idle {
            self.slice.became_idle(now);
        }
        is_idle
    }

    /// Whether it has requests, or is waited for although it has none.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.busy
    }

    #[inline]
    pub(crate) fn raising(&self) -> &Raising {
        &self.raising
    }

    #[inline]
    pub(crate) fn is_raised(&self) -> bool {
        self.raising.is_raised()
    }

    /// Its raising, or the time without, begins again.
    #[inline]
    pub(crate) fn restart_raising(&mut self, now: Jiffy) {
        self.raising.restart(now);
    }

    pub(crate) fn set_soft_is_open(&mut self, open: bool) {
        self.raising.set_soft_is_open(open);
    }

    /// It has become idle: notes when its next arrival, at the earliest, shows a soft real-time rate. Later, the more
    /// it was served.
    pub(crate) fn note_soft_real_time(&mut self, now: Jiffy, second: Jiffy, idle: Jiffy) {
        self.raising.note_soft_from(self.slice.slow_from(second).max(now + idle + 4));
    }

    /// Begins a slice that lasts until then.
    pub(crate) fn begin_slice(&mut self, now: Jiffy, expires: Jiffy) {
        self.raising.waited(now, self.slice.idle_since());
        self.slice.begin(expires);
    }

    /// Counts sectors that it was served.
    #[inline]
    pub(crate) fn note_served(&mut self, now: Jiffy, sectors: i64) {
        self.slice.note_served(now, sectors);
        self.raising.note_served(sectors);
    }
}

/// The numbers of busy queues. They and what they count change together, here alone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BusyQueues {
    /// By class; a class's count may be wrong, their sum never is.
    by_class: [i64; 3],
    raised: i64,
}

impl BusyQueues {
    #[inline]
    pub(crate) fn count(&self) -> i64 {
        self.by_class.iter().sum()
    }

    /// The number of busy queues that are raised.
    #[inline]
    pub(crate) fn raised(&self) -> i64 {
        self.raised
    }

    /// Whether queues of several classes seem to be busy.
    pub(crate) fn several_classes(&self) -> bool {
        self.by_class.iter().filter(|&&busy| busy != 0).count() >= 2
    }

    /// A queue of this class wants service from now on.
    pub(crate) fn join(&mut self, queue: &mut BfqQueue, class: IoprioClass) {
        queue.busy = true;
        self.by_class[class as usize] += 1;
        self.raised += i64::from(queue.is_raised());
    }

    /// A queue wants no service any more. Uncounted in its present class: a change of class while busy leaves the
    /// counts of both classes wrong, as in the kernel. Only their sum is used, and whether a count is 0.
    pub(crate) fn leave(&mut self, queue: &mut BfqQueue, class: IoprioClass) {
        queue.busy = false;
        self.by_class[class as usize] -= 1;
        self.raised -= i64::from(queue.is_raised());
    }

    /// Sets a queue's raising, with the factor of its weight and the number of raised queues.
    pub(crate) fn set_raising(&mut self, queue: &mut BfqQueue, entity: &mut Entity, raising: Raising) {
        if queue.busy {
            self.raised += i64::from(raising.is_raised()) - i64::from(queue.is_raised());
        }
        queue.raising = raising;
        entity.set_times(raising.times());
    }
}

/// Every queue, in slots that are reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queues {
    slots: Vec<BfqQueue>,
    live: Vec<bool>,
    free: Vec<Qid>,
    made: u64,
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
