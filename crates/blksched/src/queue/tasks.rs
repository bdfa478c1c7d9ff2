//! Tasks that sleep in the block layer since blk-mq: for a policy, or for a tag; and how they continue when they run.
//!
//! **Rule** A bio that did not merge passes the policies, then takes a tag. Its task may sleep at each. A task that
//! sleeps flushes its plug. A woken task continues where it slept; it does not try to merge again, and it may lose its
//! tag to another task. The driver decides when it runs ([`Wakes`]).
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
    /// By itself, after the queue has run.
    #[default]
    AtOnce,
    /// When the driver says so: it hears of it ([`Delivery::Runnable`](crate::Delivery::Runnable)) and calls
    /// [`BlockQueue::run_task`](crate::BlockQueue::run_task) once the task has got a processor. Which of the two is
    /// faster, it or the owner of the completed request, decides which has the tag.
    ByDriver,
}

/// Where a task sleeps.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gate {
    /// For this policy.
    Policy(usize),
    /// For a tag, of those that this search finds.
    Tag(SearchDepth),
}

/// A task that sleeps or was woken.
#[derive(Debug)]
pub(super) struct Sleeping {
    pub(super) gate: Gate,
    /// What it sleeps with, and what comes behind that: pieces of one bio.
    pub(super) pieces: VecDeque<Sleeper>,
}

/// Tags, the tasks that have them, and those that sleep.
#[derive(Debug)]
pub(crate) struct Tasks {
    pub(super) set: TagSet,
    pub(super) sleeping: Vec<Option<Sleeping>>,
    pub(super) free: Vec<Task>,
    /// Woken, if they run by themselves.
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

    /// The task that [`Tasks::next`] named falls asleep.
    pub(super) fn fall_asleep(&mut self, gate: Gate, sleeper: Sleeper) {
        let Some(task) = self.free.pop() else { unreachable!("it has a number") };
        self.sleeping[task.0 as usize] = Some(Sleeping { gate, pieces: VecDeque::from([sleeper]) });
    }

    /// Another piece of the bio with which `task` sleeps.
    pub(super) fn behind(&mut self, task: Task, sleeper: Sleeper) {
        let Some(sleeping) = &mut self.sleeping[task.0 as usize] else { unreachable!("it sleeps") };
        sleeping.pieces.push_back(sleeper);
    }

    /// Another elevator comes. A kernel lets those that sleep for a tag through before it changes over; here they are
    /// woken and go on without the old elevator's limit. Left asleep, they would wait for a batch of wake-ups that is
    /// sized for the new one and may never fill.
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
