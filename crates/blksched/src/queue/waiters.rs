//! Submissions that wait for a free request in 2.4.
//!
//! **Rule** A submission that finds no free request of its direction unplugs the queue and waits, in order. A returned
//! request wakes the next waiter of its direction that is not awake yet, or (2.4.18) all waiters, but only while enough
//! are free. A woken waiter that finds a request takes it and searches the whole list again, which charges every
//! request that it passes once more; if it joins another now, its request is returned. One that finds none continues to
//! wait in its old place. A task that finds a request takes it, even while others wait.
//! **Origin** docs/behaviour/elevator-linus.md#q8, #q9, #amendment-q8 and #amendment-q9. Recordings show every wake-up.
//! **In the kernel** `__get_request_wait`, `blkdev_release_request`.

use super::mq::Task;
use super::split::SplitPiece;
use crate::request::{Bio, Dir};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// A bio whose submitter sleeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sleeper {
    pub(super) bio: Bio,
    pub(super) piece: SplitPiece,
}

/// One waiter.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) task: Task,
    pub(super) dir: Dir,
    /// The bio with which it waits: its pieces.
    pub(super) pieces: VecDeque<Sleeper>,
    pub(super) woken: bool,
}

/// All waiters, in the order of their arrival.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    pub(super) waiting: VecDeque<Waiter>,
    /// Woken, in this order, and not yet run.
    pub(super) runnable: VecDeque<Task>,
    pub(super) next: u32,
}

impl Waiters {
    pub(super) fn wait(&mut self, dir: Dir, pieces: VecDeque<Sleeper>) -> Task {
        let task = Task(self.next);
        self.next = self.next.wrapping_add(1);
        self.waiting.push_back(Waiter { task, dir, pieces, woken: false });
        task
    }

    /// Adds a further piece of the bio that came last.
    pub(super) fn behind(&mut self, sleeper: Sleeper) {
        let Some(waiter) = self.waiting.back_mut() else { unreachable!("a piece of it waits") };
        waiter.pieces.push_back(sleeper);
    }

    pub(super) fn wake_one(&mut self, dir: Dir, woke: &mut Vec<Task>) {
        let next = self.waiting.iter_mut().find(|waiter| waiter.dir == dir && !waiter.woken);
        if let Some(waiter) = next {
            waiter.woken = true;
            woke.push(waiter.task);
        }
    }

    pub(super) fn wake_all(&mut self, woke: &mut Vec<Task>) {
        for waiter in self.waiting.iter_mut().filter(|waiter| !waiter.woken) {
            waiter.woken = true;
            woke.push(waiter.task);
        }
    }

    pub(super) fn nobody_runs(&self) -> bool {
        self.runnable.is_empty()
    }

    pub(super) fn find(&self, task: Task) -> usize {
        let at = self.waiting.iter().position(|waiter| waiter.task == task && waiter.woken);
        at.expect("only a task that was woken can run")
    }
}
