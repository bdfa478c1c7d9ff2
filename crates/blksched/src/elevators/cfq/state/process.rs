//! The state of a process.
//!
//! **Rule** An exited process is remembered until its last request has completed, or while the disk idles for it.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c1.
//! **In the kernel** `cfq_io_context`, `cfq_io_cq`, `cfq_init_icq`, `cfq_cic_lookup`.

use alloc::vec::Vec;

use crate::elevators::cfq::ids::{Gid, Pid, Qid};
use crate::elevators::cfq::state::think::Ttime;
use crate::elevators::ioprio::Ioprio;
use crate::estimate::SeekDistance;
use crate::index::Numbers;
use crate::request::{PerWaiter, Priority, SubmitterId};
use crate::time::Tick;

/// The state of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process {
    pub(crate) id: SubmitterId,
    pub(crate) ioprio: Ioprio,
    /// The priority that its last request carried, from which `ioprio` was computed.
    pub(crate) priority: Priority,
    /// The group of its last inserted request.
    pub(crate) group: Gid,
    pub(crate) queues: PerWaiter<Option<Qid>>,
    /// Its think time; the first counts from its creation.
    pub(crate) ttime: Ttime,
    pub(crate) seeks: SeekDistance,
    /// Whether it has exited; it is then remembered until its last request completes.
    pub(crate) gone: bool,
    /// The number of its requests that are prepared and not yet complete.
    pub(crate) requests: u32,
}

/// Every process, in slots that are reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Processes {
    slots: Vec<Process>,
    free: Vec<Pid>,
    by_id: Numbers,
}

impl Processes {
    pub(crate) fn reserve(&mut self, processes: usize) {
        self.slots.reserve(processes);
        self.free.reserve(processes);
        self.by_id.reserve(processes);
    }

    /// Every place in the table; a free one has no queues.
    pub(crate) fn places(&self) -> impl Iterator<Item = Pid> + use<> {
        0..self.slots.len() as Pid
    }

    pub(crate) fn of(&self, id: SubmitterId) -> Option<Pid> {
        self.by_id.get(id.0)
    }

    pub(crate) fn make(&mut self, id: SubmitterId, group: Gid, priority: Priority, now: Tick) -> Pid {
        let process = Process {
            id,
            ioprio: Ioprio::of(priority),
            priority,
            group,
            queues: PerWaiter::default(),
            ttime: Ttime::since(now),
            seeks: SeekDistance::default(),
            gone: false,
            requests: 0,
        };
        let pid = match self.free.pop() {
            Some(pid) => {
                self[pid] = process;
                pid
            }
            None => {
                self.slots.push(process);
                (self.slots.len() - 1) as Pid
            }
        };
        self.by_id.insert(id.0, pid);
        pid
    }

    pub(crate) fn remove(&mut self, pid: Pid) {
        self.by_id.remove(self[pid].id.0);
        self.free.push(pid);
    }
}

impl core::ops::Index<Pid> for Processes {
    type Output = Process;
    fn index(&self, pid: Pid) -> &Process {
        &self.slots[pid as usize]
    }
}

impl core::ops::IndexMut<Pid> for Processes {
    fn index_mut(&mut self, pid: Pid) -> &mut Process {
        &mut self.slots[pid as usize]
    }
}
