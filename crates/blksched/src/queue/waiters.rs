//! Who waits for a request in 2.4.
//!
//! **Rule** A submission that finds no free request of its direction opens the plug and waits, in order. A request that
//! comes back wakes the next waiter of its direction that is not awake yet, or (2.4.18) all waiters, but only while
//! enough are free. A woken waiter that finds a request takes it and searches the whole list again, which charges
//! everybody again; if it joins another now, its request comes back. One that finds none waits on in its old place.
//! Whoever finds a request takes it, even while others wait.
//! **Origin** docs/behaviour/elevator-linus.md#q8, #q9, #amendment-q8 and #amendment-q9. Recordings show every wake-up.

use std::collections::VecDeque;

use super::merge::Attempt;
use super::mq::Task;
use super::plug::Handover;
use super::pools::Sleeper;
use super::slots::SlotPools;
use super::{BlockQueue, Delivery, Listener, Submitted, Wakes};
use crate::explain::{Reason, Unplug};
use crate::request::Dir;
use crate::time::Instant;

/// One of them.
#[derive(Debug)]
struct Waiter {
    task: Task,
    dir: Dir,
    /// What it waits with, and what comes behind that.
    pieces: VecDeque<Sleeper>,
    woken: bool,
}

/// All of them, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    waiting: VecDeque<Waiter>,
    /// Woken, in this order, and not yet run.
    runnable: VecDeque<Task>,
    next: u32,
}

impl Waiters {
    fn wait(&mut self, dir: Dir, pieces: VecDeque<Sleeper>) -> Task {
        let task = Task(self.next);
        self.next = self.next.wrapping_add(1);
        self.waiting.push_back(Waiter { task, dir, pieces, woken: false });
        task
    }

    /// A further piece for whoever came last.
    pub(super) fn behind(&mut self, sleeper: Sleeper) {
        let Some(waiter) = self.waiting.back_mut() else { unreachable!("a piece of it waits") };
        waiter.pieces.push_back(sleeper);
    }

    pub(super) fn wake_one(&mut self, dir: Dir) {
        let next = self.waiting.iter_mut().find(|waiter| waiter.dir == dir && !waiter.woken);
        if let Some(waiter) = next {
            waiter.woken = true;
            self.runnable.push_back(waiter.task);
        }
    }

    pub(super) fn wake_all(&mut self) {
        for waiter in self.waiting.iter_mut().filter(|waiter| !waiter.woken) {
            waiter.woken = true;
            self.runnable.push_back(waiter.task);
        }
    }

    pub(super) fn nobody_runs(&self) -> bool {
        self.runnable.is_empty()
    }

    fn find(&self, task: Task) -> usize {
        let at = self.waiting.iter().position(|waiter| waiter.task == task && waiter.woken);
        at.expect("only a task that was woken can run")
    }
}

impl<L: Listener> BlockQueue<L> {
    /// Somebody finds no request for the first of these pieces of a bio, and sleeps or goes on sleeping.
    pub(super) fn wait_for_request(&mut self, now: Instant, pieces: VecDeque<Sleeper>) {
        let Some(first) = pieces.front() else { unreachable!("it waits with something") };
        let (submitter, dir) = (first.bio.submitter, first.bio.dir());
        self.last_asleep = Some(self.pools().waiters().wait(dir, pieces));
        self.flush_plug_of(now, submitter, Handover::FromSchedule);
        self.open_plug(now, Unplug::Waiting);
    }

    /// A driver that says itself when tasks run hears of those that were woken.
    pub(super) fn tell_woken(&mut self) {
        if let (Wakes::ByDriver, SlotPools::Pools(pools)) = (self.core.config.wakes, &mut self.core.slots) {
            self.deliveries.extend(pools.waiters().runnable.drain(..).map(Delivery::Runnable));
        }
    }

    /// Let woken waiters run; true if one of them went on.
    pub(super) fn run_waiters(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(task) = self.pools().waiters().runnable.pop_front() {
            any |= self.run_waiter(now, task);
        }
        any
    }

    /// False if it waits on: somebody else has the request.
    pub(super) fn run_waiter(&mut self, now: Instant, task: Task) -> bool {
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
        // The burst it belonged to may be over.
        self.end_burst(now, submitter);
        self.core.explain(now, |_| Reason::Woke { submitter });
        self.deliveries.push(Delivery::Awake(submitter));
        true
    }

    /// The whole search again, with a request in hand.
    fn try_with_request(&mut self, now: Instant, Sleeper { bio, piece }: &Sleeper) {
        self.pools().take_anyway(bio.dir());
        match self.merge_bio(now, bio, *piece) {
            Attempt::Joined { .. } => {
                self.pools().release(bio.dir());
                self.tell_woken();
            }
            Attempt::Insert(at) => {
                let carried = self.core.bios.carry(bio.tag, piece.of);
                let rq = self.make(now, bio, carried);
                self.enter_queue(now, rq, at);
            }
        }
    }
}
