//! Kernel workers that sleep in a process's place: io_uring's.
//!
//! **Rule** A request that finds no slot goes to a worker of the kernel, which sleeps for it; the process goes on. Each
//! sleeping worker is one place in the wait queues, so a deep job has as many as it has requests beyond the slots, but
//! at most four workers for each processor; what is beyond them waits in order for a worker to come free.
//! **Origin** docs/behaviour/fio-reaping.md#2, traced on 6.18.

use std::collections::VecDeque;

use blksched::{Bio, Listener, Submitted};

use super::{Observer, World};

/// How many may sleep, for each processor.
const EACH: u32 = 4;

/// One process's workers.
#[derive(Debug, Default)]
pub(super) struct Workers {
    asleep: u32,
    behind: VecDeque<Bio>,
}

impl<L: Listener, O: Observer> World<L, O> {
    /// The same on a host with so many processors.
    pub fn with_processors(mut self, count: u32) -> World<L, O> {
        self.processors = count;
        self
    }

    /// A bio of a source that never sleeps for a slot itself.
    pub(super) fn submit_offloaded(&mut self, index: usize, bio: Bio) {
        let most = EACH * self.processors;
        let workers = &mut self.workers[index];
        if workers.asleep >= most {
            workers.behind.push_back(bio);
        } else if self.hand_in(bio) == Submitted::Asleep {
            self.workers[index].asleep += 1;
        }
    }

    /// The bio of a worker of this source went through: the worker takes the next.
    pub(super) fn worker_woke(&mut self, index: usize) {
        let workers = &mut self.workers[index];
        workers.asleep -= 1;
        if let Some(bio) = workers.behind.pop_front() {
            self.submit_offloaded(index, bio);
        }
    }
}
