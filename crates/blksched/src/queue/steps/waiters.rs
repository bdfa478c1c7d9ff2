//! Submitters on their way to a slot before blk-mq: asleep, woken. The state is in `queue/waiters.rs`.
//!
//! **In the kernel** `get_request_wait`.

use crate::explain::{Reason, Unplug};
use crate::queue::merge::Attempt;
use crate::queue::mq::Task;
use crate::queue::plug::Handover;
use crate::queue::slot_pools::SlotPools;
use crate::queue::waiters::Sleeper;
use crate::queue::waiters::Waiter;
use crate::queue::{BlockQueue, Delivery, Listener, Submitted, Wakes};
use crate::time::Instant;
use alloc::collections::VecDeque;

impl<L: Listener> BlockQueue<L> {
    /// A submitter finds no request for the first of these pieces of a bio, and sleeps or continues to sleep.
    pub(in crate::queue) fn wait_for_request(&mut self, now: Instant, pieces: VecDeque<Sleeper>) {
        let Some(first) = pieces.front() else { unreachable!("it waits with something") };
        let (submitter, dir) = (first.bio.submitter, first.bio.dir());
        self.last_asleep = Some(self.pools().waiters().wait(dir, pieces));
        self.flush_plug_of(now, submitter, Handover::FromSchedule);
        self.open_plug(now, Unplug::Waiting);
    }

    /// Reports the woken tasks to a driver that decides itself when they run.
    pub(in crate::queue) fn tell_woken(&mut self) {
        if let (Wakes::ByDriver, SlotPools::Pools(pools)) = (self.core.state.config.wakes, &mut self.core.state.slots) {
            self.core.state.deliveries.extend(pools.waiters().runnable.drain(..).map(Delivery::Runnable));
        }
    }

    /// Runs woken waiters; returns whether one of them succeeded.
    pub(in crate::queue) fn run_waiters(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(task) = self.pools().waiters().runnable.pop_front() {
            any |= self.run_waiter(now, task);
        }
        any
    }

    /// Returns false if it continues to wait: another submitter has the request.
    pub(in crate::queue) fn run_waiter(&mut self, now: Instant, task: Task) -> bool {
        let pools = self.pools();
        let at = pools.waiters().find(task);
        let dir = pools.waiters().waiting[at].dir;
        if pools.free(dir) == 0 {
            pools.waiters().waiting[at].woken = false;
            return false;
        }
        let Some(Waiter { mut pieces, .. }) = pools.waiters().waiting.remove(at) else { unreachable!("it was found") };
        let Some(first) = pieces.pop_front() else { unreachable!("it waits with something") };
        let submitter = first.bio.submitter;
        self.try_with_request(now, &first);
        while let Some(piece) = pieces.pop_front() {
            if self.submit_pooled(now, &piece.bio, piece.piece) == Submitted::Asleep {
                pieces.push_front(piece);
                self.wait_for_request(now, pieces);
                return true;
            }
        }
        // The burst to which it belonged may have ended.
        self.end_burst(now, submitter);
        self.core.explain(now, |_| Reason::Woke { submitter });
        self.core.state.deliveries.push(Delivery::Awake(submitter));
        true
    }

    /// Repeats the whole search, with a request in hand.
    fn try_with_request(&mut self, now: Instant, Sleeper { bio, piece }: &Sleeper) {
        self.pools().take_anyway(bio.dir());
        match self.merge_bio(now, bio, *piece) {
            Attempt::Joined { .. } => {
                self.pools().release(bio.dir());
                self.tell_woken();
            }
            Attempt::Insert(at) => {
                let carried = self.core.state.bios.carry(bio.tag, piece.of);
                let rq = self.make(now, bio, carried);
                self.enter_queue(now, rq, at);
            }
        }
    }
}
