//! Tasks that sleep in the block layer since blk-mq: for a policy, or for a tag; and how they continue when they run.
//!
//! **Rule** A bio that did not merge passes the policies, then takes a tag. Its task may sleep at each. A task that
//! sleeps flushes its plug. A woken task continues where it slept; it does not try to merge again, and it may lose its
//! tag to another task. The driver decides when it runs ([`Wakes`]).
//! **Origin** docs/behaviour/blk-mq-6.x.md#p.3, #t5 and #t8.
//! **In the kernel** `blk_mq_get_tag`, `rq_qos_wait`.

#![doc(alias = "blk_mq_get_tag")]
#![doc(alias = "rq_qos_wait")]

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::mq::{SearchDepth, TagSet, Task};
use super::waiters::Sleeper;

/// When a woken task runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wakes {
    /// After the queue has run, without the driver.
    #[default]
    AtOnce,
    /// When the driver says so: it is told ([`Delivery::Runnable`](crate::Delivery::Runnable)) and calls
    /// [`BlockQueue::run_task`](crate::BlockQueue::run_task) once the task has got a processor. Whether the task or the
    /// owner of the completed request is faster decides which gets the tag.
    ByDriver,
}

/// What a task sleeps for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gate {
    /// This policy.
    Policy(usize),
    /// A tag of those that this search finds.
    Tag(SearchDepth),
}

/// A task that sleeps or was woken.
#[derive(Debug)]
pub(super) struct Sleeping {
    pub(super) gate: Gate,
    /// The bio with which it sleeps: its pieces.
    pub(super) pieces: VecDeque<Sleeper>,
}

/// Tags, the tasks that hold them, and those that sleep.
#[derive(Debug)]
pub(crate) struct Tasks {
    pub(super) set: TagSet,
    pub(super) sleeping: Vec<Option<Sleeping>>,
    pub(super) free: Vec<Task>,
    /// Woken tasks, if they run without the driver.
    pub(super) runnable: VecDeque<Task>,
}

impl Tasks {
    pub(super) fn new(set: TagSet) -> Tasks {
        Tasks { set, sleeping: Vec::new(), free: Vec::new(), runnable: VecDeque::new() }
    }

    /// The number of the next task that falls asleep.
    pub(super) fn next(&mut self) -> Task {
        if self.free.is_empty() {
            self.free.push(Task(self.sleeping.len() as u32));
            self.sleeping.push(None);
        }
        *self.free.last().expect("one was just made")
    }

    /// Puts the task that [`Tasks::next`] named to sleep.
    pub(super) fn fall_asleep(&mut self, gate: Gate, sleeper: Sleeper) {
        let Some(task) = self.free.pop() else { unreachable!("it has a number") };
        self.sleeping[task.0 as usize] = Some(Sleeping { gate, pieces: VecDeque::from([sleeper]) });
    }

    /// Adds a piece of the bio with which `task` sleeps.
    pub(super) fn behind(&mut self, task: Task, sleeper: Sleeper) {
        let Some(sleeping) = &mut self.sleeping[task.0 as usize] else { unreachable!("it sleeps") };
        sleeping.pieces.push_back(sleeper);
    }

    /// Another elevator comes. A kernel lets tasks that sleep for a tag through before it switches; here they are woken
    /// and continue without the old elevator's limit. Left asleep, they would wait for a wake-up batch that is sized
    /// for the new one and may never fill.
    pub(super) fn change_over(&mut self, shallowest: Option<u32>, woke: &mut Vec<Task>) {
        self.set.announce(shallowest);
        for sleeping in self.sleeping.iter_mut().flatten() {
            if let Gate::Tag(search) = &mut sleeping.gate {
                *search = SearchDepth::All;
            }
        }
        while self.set.waits().asleep().next().is_some() {
            self.set.wake_one_each(woke);
        }
    }

    pub(super) fn nobody_runs(&self) -> bool {
        self.runnable.is_empty()
    }

    pub(super) fn check(&self, live: u32) {
        assert!(self.set.map().in_use() <= live, "tags are taken by nobody");
    }
}
