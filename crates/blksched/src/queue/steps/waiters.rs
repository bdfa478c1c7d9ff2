//! Submitters on their way to a slot before blk-mq: asleep, woken. The state is in `queue/waiters.rs`.
//!
//! **In the kernel** `get_request_wait`.

use crate::elevator::Elevator;
use crate::explain::{Reason, Unplug};
use crate::queue::merge::Attempt;
use crate::queue::mq::Task;
use crate::queue::plug::Handover;
use crate::queue::step::Step;
use crate::queue::steps::Caller;
use crate::queue::waiters::Sleeper;
use crate::queue::waiters::Waiter;
use crate::queue::{Delivery, QueueState, Submitted};
use crate::request::NONE;
use alloc::collections::VecDeque;

impl Step<'_, dyn Elevator> {
    /// A submitter finds no request for the first of these pieces of a bio, and sleeps or continues to sleep.
    pub(in crate::queue) fn wait_for_request(&mut self, pieces: VecDeque<Sleeper>) {
        let Some(first) = pieces.front() else { unreachable!("it waits with something") };
        let (submitter, dir) = (first.bio.submitter, first.bio.dir());
        self.cx.state.last_asleep = Some(self.cx.state.slots.pools().waiters().wait(dir, pieces));
        self.flush_plug_of(submitter, Handover::FromSchedule);
        self.open_plug(Unplug::Waiting);
    }

    /// Runs woken waiters; returns whether one of them succeeded.
    pub(in crate::queue) fn run_waiters(&mut self) -> bool {
        let mut any = false;
        while let Some(task) = self.cx.state.slots.pools().waiters().runnable.pop_front() {
            any |= self.run_waiter(task);
        }
        any
    }

    /// Returns false if it continues to wait: another submitter has the request.
    pub(in crate::queue) fn run_waiter(&mut self, task: Task) -> bool {
        let pools = self.cx.state.slots.pools();
        let at = pools.waiters().find(task);
        let dir = pools.waiters().waiting[at].dir;
        if pools.free(dir) == 0 {
            pools.waiters().waiting[at].woken = false;
            return false;
        }
        let Some(Waiter { mut pieces, .. }) = pools.waiters().waiting.remove(at) else { unreachable!("it was found") };
        let Some(first) = pieces.pop_front() else { unreachable!("it waits with something") };
        let submitter = first.bio.submitter;
        self.try_with_request(&first);
        while let Some(piece) = pieces.pop_front() {
            if self.submit_piece(&piece.bio, piece.piece, Caller::TriesAgain) == Submitted::Asleep {
                pieces.push_front(piece);
                self.wait_for_request(pieces);
                return true;
            }
        }
        // The burst to which it belonged may have ended.
        self.end_burst(submitter);
        self.cx.tell(|_| Reason::Woke { submitter });
        self.cx.state.deliveries.push(Delivery::Awake(submitter));
        true
    }

    /// Repeats the whole search, with a request in hand.
    fn try_with_request(&mut self, Sleeper { bio, piece }: &Sleeper) {
        self.cx.state.slots.pools().take_anyway(bio.dir());
        match self.merge_bio(bio, *piece) {
            Attempt::Joined { .. } => {
                let QueueState { slots, woke, .. } = &mut *self.cx.state;
                slots.pools().release(bio.dir(), woke);
                self.cx.state.woken();
            }
            Attempt::Insert(at) => {
                self.make_request(bio, *piece, false, at, NONE);
            }
        }
    }
}
