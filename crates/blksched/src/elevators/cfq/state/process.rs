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
use crate::request::{PerWaiter, Priority, SubmitterId, Waiter};
use crate::time::Tick;

/// The state of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process {
    id: SubmitterId,
    ioprio: Ioprio,
    /// The priority that its last request carried, from which `ioprio` was computed.
    priority: Priority,
    /// The group of its last inserted request.
    group: Gid,
    queues: PerWaiter<Option<Qid>>,
    /// Its think time; the first counts from its creation.
    ttime: Ttime,
    seeks: SeekDistance,
    /// Whether it has exited; it is then remembered until its last request completes.
    gone: bool,
    /// The number of its requests that are prepared and not yet complete.
    requests: u32,
}

impl Process {
    #[inline]
    pub(crate) fn id(&self) -> SubmitterId {
        self.id
    }

    #[inline]
    pub(crate) fn ioprio(&self) -> Ioprio {
        self.ioprio
    }

    /// Changes its class and level; returns the old ones.
    pub(crate) fn set_ioprio(&mut self, ioprio: Ioprio) -> Ioprio {
        core::mem::replace(&mut self.ioprio, ioprio)
    }

    #[inline]
    pub(crate) fn priority(&self) -> Priority {
        self.priority
    }

    pub(crate) fn set_priority(&mut self, priority: Priority) {
        self.priority = priority;
    }

    #[inline]
    pub(crate) fn group(&self) -> Gid {
        self.group
    }

    /// It is in another group from now on, and leaves its queues, which are returned.
    pub(crate) fn move_to(&mut self, group: Gid) -> PerWaiter<Option<Qid>> {
        self.group = group;
        self.take_queues()
    }

    /// The queue that it uses for such requests.
    #[inline(always)]
    pub(crate) fn queue(&self, waiter: Waiter) -> Option<Qid> {
        self.queues[waiter]
    }

    pub(crate) fn use_queue(&mut self, waiter: Waiter, q: Option<Qid>) {
        self.queues[waiter] = q;
    }

    pub(crate) fn take_queues(&mut self) -> PerWaiter<Option<Qid>> {
        core::mem::take(&mut self.queues)
    }

    /// It exits; returns the queues that it used.
    pub(crate) fn exit(&mut self) -> PerWaiter<Option<Qid>> {
        self.gone = true;
        self.take_queues()
    }

    #[inline]
    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    /// A request of it is prepared; so it has not exited.
    #[inline(always)]
    pub(crate) fn prepared(&mut self) {
        self.requests += 1;
        self.gone = false;
    }

    pub(crate) fn drop_request(&mut self) {
        self.requests -= 1;
    }

    /// A request of it arrives, which ends its think time.
    #[inline(always)]
    pub(crate) fn arrived(&mut self, now: Tick, idle: Tick) {
        self.ttime.end(now, idle);
    }

    /// A request of it completes, which begins its think time if it waited for it.
    #[inline(always)]
    pub(crate) fn completed(&mut self, waiter: Waiter, now: Tick) {
        self.requests -= 1;
        if waiter == Waiter::Sync {
            self.ttime.begin(now);
        }
    }

    /// Its mean think time, if there are enough samples.
    #[inline]
    pub(crate) fn mean_ttime(&self) -> Option<Tick> {
        self.ttime.valid_mean()
    }

    #[inline]
    pub(crate) fn seeks(&self) -> SeekDistance {
        self.seeks
    }

    #[inline]
    pub(crate) fn seeks_mut(&mut self) -> &mut SeekDistance {
        &mut self.seeks
    }
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

    /// Forgets an exited process, unless it still has requests or the disk idles for it.
    pub(crate) fn forget_if_unused(&mut self, pid: Pid, idled_for: Option<Pid>) {
        let process = &self[pid];
        let is_known = || self.of(process.id) == Some(pid);
        if process.gone && process.requests == 0 && idled_for != Some(pid) && is_known() {
            self.remove(pid);
        }
    }

    fn remove(&mut self, pid: Pid) {
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
