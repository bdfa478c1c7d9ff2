//! Kernel workers that sleep in a process's place: io_uring's.
//!
//! **Rule** A request that finds no slot goes to a worker of the kernel, which sleeps for it; the process goes on. Each
//! sleeping worker is one place in the wait queues, so a deep job has as many as it has requests beyond the slots, but
//! at most four workers for each processor; what is beyond them waits in order for a worker to come free. The process
//! itself takes a slot that it finds free, however many workers sleep. What the host submits in such a process's name
//! (its buffered and synchronous I/O, pages that its direct I/O has to have written first) sleeps by itself and is no
//! worker. The queue says only whose submission went through, so who of the two fell asleep first is taken to have
//! woken first.
//! **Origin** docs/behaviour/fio-reaping.md#2, traced on 6.18.

use std::collections::VecDeque;

use blksched::{Bio, Listener, Submitted, SubmitterId};

use super::{Observer, World};
use crate::disk_number::DiskNumber;

/// How many may sleep, per processor.
const EACH: u32 = 4;

/// The task that sleeps on behalf of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sleeper {
    Worker,
    Host,
}

/// One process's workers.
#[derive(Debug, Default)]
pub(super) struct Workers {
    /// How many of the sleepers are workers.
    asleep: u32,
    /// In the order in which they fell asleep, each at its disk.
    sleepers: VecDeque<(DiskNumber, Sleeper)>,
    behind: VecDeque<Bio>,
}

impl<L: Listener, O: Observer> World<L, O> {
    /// The same on a host with this many processors.
    pub fn with_processors(mut self, count: u32) -> World<L, O> {
        self.processors = count;
        self
    }

    /// Submits a bio of a source that never sleeps for a slot itself.
    pub(super) fn submit_offloaded(&mut self, index: usize, bio: Bio) {
        let most = EACH * self.processors;
        let (home, local) = self.turn_for(bio);
        let workers = &mut self.workers[index];
        if workers.asleep >= most && !self.here.queue.has_free_tag(bio.submitter) {
            workers.behind.push_back(bio);
        } else if self.hand_in(local) == Submitted::Asleep {
            let workers = &mut self.workers[index];
            workers.asleep += 1;
            workers.sleepers.push_back((self.here.number, Sleeper::Worker));
        }
        self.turn_to(home);
    }

    /// A bio that the host submitted on behalf of such a source sleeps.
    pub(super) fn host_fell_asleep(&mut self, submitter: SubmitterId) {
        self.host.fell_asleep(submitter);
        if let Some(index) = self.source_of(submitter)
            && !self.sources[index].sleeps_for_slots()
        {
            self.workers[index].sleepers.push_back((self.here.number, Sleeper::Host));
        }
    }

    /// A bio of such a source went through. If it was a worker's, the worker takes the next.
    pub(super) fn offloaded_woke(&mut self, index: usize, submitter: SubmitterId) {
        let (workers, here) = (&mut self.workers[index], self.here.number);
        let first = workers.sleepers.iter().position(|(disk, _)| *disk == here);
        match first.and_then(|at| workers.sleepers.remove(at)).map(|(_, sleeper)| sleeper) {
            Some(Sleeper::Host) if workers.sleepers.iter().any(|(_, sleeper)| *sleeper == Sleeper::Host) => {}
            Some(Sleeper::Host) => self.host.woke(self.now, submitter),
            Some(Sleeper::Worker) => {
                workers.asleep -= 1;
                if let Some(bio) = workers.behind.pop_front() {
                    self.submit_offloaded(index, bio);
                    self.leave_none_behind(index);
                }
            }
            None => unreachable!("who wakes has slept"),
        }
    }

    /// No bio stays behind when no worker sleeps that would come for it: the last may have found a slot at another disk
    /// than the one where its worker woke.
    fn leave_none_behind(&mut self, index: usize) {
        while self.workers[index].asleep == 0
            && let Some(bio) = self.workers[index].behind.pop_front()
        {
            self.submit_offloaded(index, bio);
        }
    }

    /// The source of a submitter; `None` if it is the host's flusher.
    pub(super) fn source_of(&self, submitter: SubmitterId) -> Option<usize> {
        let at = self.submitters.binary_search_by_key(&submitter, |&(id, _)| id).ok()?;
        Some(self.submitters[at].1)
    }
}
