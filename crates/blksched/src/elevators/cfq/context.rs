//! Processes: what is known of each, and which queues it uses.
//!
//! **Rule** A process has one queue for requests it waits for and shares one for write-back with all processes of its
//! group, class and level. Priority and group travel on requests; a change is noticed at the next insertion. A process
//! whose group changes leaves both queues behind; merges planned out of them stay counted.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c1 and #c17; docs/behaviour/elevators-4.20.md#p.2 and #g.6. **Quirks,
//! kept** [`WriteBack`].
//! **In the kernel** `cfq_io_context`, `cfq_io_cq`, `cfq_set_request`, `cfq_put_request`, `cfq_exit_icq`.

#![doc(alias = "cfq_io_context")]
#![doc(alias = "cfq_io_cq")]
#![doc(alias = "cfq_set_request")]
#![doc(alias = "cfq_put_request")]
#![doc(alias = "cfq_exit_icq")]

use super::Cfq;
use super::groups::Gid;
use super::priority::Ioprio;
use super::qid::Qid;
use super::slice::Rest;
use super::think::Pauses;
use crate::elevator::{Cx, Run};
use crate::estimate::SeekDistance;
use crate::explain::SliceEnd;
use crate::index::Numbers;
use crate::request::{PerWaiter, RequestId, SubmitterId, Waiter};
use crate::time::Tick;

/// What becomes of a process's write-back queue when its priority changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteBack {
    /// It changes to the new level's. If there is none, its present one becomes the new level's too, so two levels
    /// share a queue of the old one (2.6.31 to 2.6.33).
    Moves,
    /// It looks up the queue of the priority that it *had*, which after one change is its present one (4.20).
    LagsBehind,
}

/// A process's place in the table; reused.
pub(super) type Pid = u32;

/// What is known of a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Process {
    pub(super) id: SubmitterId,
    ioprio: Ioprio,
    /// Whose share its last inserted request was.
    group: Gid,
    pub(super) queues: PerWaiter<Option<Qid>>,
    /// At first since it came.
    pub(super) pauses: Pauses,
    pub(super) seeks: SeekDistance,
    /// It has exited; it is remembered until its last request is back.
    pub(super) gone: bool,
    /// Prepared and not yet complete.
    pub(super) requests: u32,
}

/// Every process, in slots that are reused.
#[derive(Clone, Debug, Default)]
pub(super) struct Processes {
    slots: Vec<Process>,
    free: Vec<Pid>,
    by_id: Numbers,
}

impl Processes {
    pub(super) fn reserve(&mut self, processes: usize) {
        self.slots.reserve(processes);
        self.free.reserve(processes);
        self.by_id.reserve(processes);
    }

    pub(super) fn of(&self, id: SubmitterId) -> Option<Pid> {
        self.by_id.get(id.0)
    }

    fn make(&mut self, id: SubmitterId, group: Gid, ioprio: Ioprio, now: Tick) -> Pid {
        let process = Process {
            id,
            ioprio,
            group,
            queues: PerWaiter::default(),
            pauses: Pauses::since(now),
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

impl Cfq {
    /// The queue for a new request; process and queue are made if there are none.
    pub(super) fn prepared(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        let request = cx.rq(rq);
        let (submitter, waiter, ioprio) = (request.submitter, request.waiter, Ioprio::of(request.priority));
        let (group, prefers) = (self.group_of(request.group), request.hints.meta);
        let now = self.now(cx);
        let known = self.processes.of(submitter);
        let pid = known.unwrap_or_else(|| self.processes.make(submitter, group, ioprio, now));
        self.processes[pid].requests += 1;
        self.processes[pid].gone = false;
        self.boost(pid, waiter, prefers);
        self.notice_priority(pid, ioprio, group);
        self.notice_group(cx, pid, group);
        let present = self.processes[pid].queues[waiter];
        let q = present.and_then(|q| self.part_or_join(cx, pid, waiter, q));
        let q = q.unwrap_or_else(|| self.new_queue(pid, waiter));
        self.queues[q].held_by.requests += 1;
        let row = self.rows.row(rq);
        (row.queue, row.process) = (q, pid);
    }

    /// A process sends a request: its queue is served as if better, or no longer.
    fn boost(&mut self, pid: Pid, waiter: Waiter, prefers: bool) {
        let process = &self.processes[pid];
        if let Some(q) = process.queues[waiter] {
            let (queue, ioprio) = (&mut self.queues[q], process.ioprio);
            if self.rules.boost.is_on() && queue.priority_is_old {
                queue.take(ioprio);
            }
            queue.ioprio = self.rules.boost.ioprio(queue.own_ioprio, prefers);
        }
    }

    fn notice_priority(&mut self, pid: Pid, ioprio: Ioprio, group: Gid) {
        let process = &mut self.processes[pid];
        if process.ioprio == ioprio {
            return;
        }
        let old = core::mem::replace(&mut process.ioprio, ioprio);
        let PerWaiter { sync, async_ } = process.queues;
        let present_group = process.group;
        if let Some(present) = async_ {
            let new = match self.rules.write_back {
                WriteBack::Moves => *self.groups[present_group].write_back(ioprio).get_or_insert(present),
                WriteBack::LagsBehind => self.write_back_of(pid, group, old),
            };
            self.processes[pid].queues.async_ = Some(new);
        }
        if let Some(sync) = sync {
            self.queues[sync].priority_is_old = true;
        }
    }

    fn notice_group(&mut self, cx: &mut Cx<'_>, pid: Pid, group: Gid) {
        let process = &mut self.processes[pid];
        if process.group == group {
            return;
        }
        process.group = group;
        if let Some(sync) = core::mem::take(&mut process.queues).sync {
            self.drop_process(cx, sync);
        }
    }

    /// The processes of a group that is gone use its queues no more.
    pub(super) fn leave_queues_of(&mut self, cx: &mut Cx<'_>, group: Gid) {
        for pid in 0..self.processes.slots.len() as Pid {
            let process = &mut self.processes[pid];
            // A slot that is free has no queues.
            if process.group == group
                && let Some(sync) = core::mem::take(&mut process.queues).sync
            {
                self.drop_process(cx, sync);
            }
        }
    }

    fn new_queue(&mut self, pid: Pid, waiter: Waiter) -> Qid {
        let Process { id, group, ioprio, .. } = self.processes[pid];
        let q = match waiter {
            Waiter::Sync => {
                self.groups.used(group);
                self.queues.make(id, waiter, group, ioprio)
            }
            Waiter::Async => self.write_back_of(pid, group, ioprio),
        };
        self.processes[pid].queues[waiter] = Some(q);
        q
    }

    /// The write-back queue of a group, class and level.
    fn write_back_of(&mut self, pid: Pid, group: Gid, ioprio: Ioprio) -> Qid {
        if let Some(q) = *self.groups[group].write_back(ioprio) {
            return q;
        }
        let q = self.queues.make(self.processes[pid].id, Waiter::Async, group, ioprio);
        self.groups.used(group);
        *self.groups[group].write_back(ioprio) = Some(q);
        q
    }

    /// The queue that a process's next request would go into.
    pub(super) fn queue_of(&self, submitter: SubmitterId, waiter: Waiter) -> Option<Qid> {
        self.processes.of(submitter).and_then(|pid| self.processes[pid].queues[waiter])
    }

    /// A request is no more.
    pub(super) fn drop_request(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        let (q, pid) = (self.rows[rq].queue, self.rows[rq].process);
        self.queues[q].held_by.requests -= 1;
        self.release_if_unused(cx, q);
        self.processes[pid].requests -= 1;
        self.forget_if_unused(pid);
    }

    /// A process, or a merge planned for one, leaves a queue.
    pub(super) fn drop_process(&mut self, cx: &mut Cx<'_>, q: Qid) {
        self.queues[q].held_by.processes -= 1;
        self.release_if_unused(cx, q);
    }

    fn release_if_unused(&mut self, cx: &mut Cx<'_>, q: Qid) {
        let held_by = self.queues[q].held_by;
        if held_by.processes + held_by.requests > 0 {
            return;
        }
        if self.active == Some(q) {
            self.expire(cx, Rest::Dropped, SliceEnd::Gone);
            self.wish_run();
        }
        self.groups.unused(self.queues[q].own_group);
        self.queues.release(q);
    }

    pub(super) fn process_gone(&mut self, cx: &mut Cx<'_>, submitter: SubmitterId) -> Run {
        let Some(pid) = self.processes.of(submitter) else { return Run::No };
        let process = &mut self.processes[pid];
        process.gone = true;
        let PerWaiter { sync, async_ } = core::mem::take(&mut process.queues);
        for q in [async_, sync].into_iter().flatten() {
            if self.active == Some(q) {
                self.expire(cx, Rest::Dropped, SliceEnd::Gone);
                self.wish_run();
            }
        }
        if let Some(q) = sync {
            self.drop_plans(cx, q);
            self.drop_process(cx, q);
        }
        self.forget_if_unused(pid);
        self.take_wish()
    }

    /// A process that is gone is remembered only while it has requests or is the one idled for.
    pub(super) fn forget_if_unused(&mut self, pid: Pid) {
        let process = &self.processes[pid];
        if process.gone && process.requests == 0 && self.active_process != Some(pid) && self.knows(pid) {
            self.processes.remove(pid);
        }
    }

    /// It is in the table still.
    fn knows(&self, pid: Pid) -> bool {
        self.processes.of(self.processes[pid].id) == Some(pid)
    }
}
