//! Processes: the state of each, and the queues it uses.
//!
//! **Rule** A process has one queue for requests it waits for and shares one for write-back with all processes of its
//! group, class and level. Requests carry priority and group; a change is noticed at the next insertion. A process
//! whose group changes leaves both queues behind; merges planned out of them stay counted.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c1 and #c17; docs/behaviour/elevators-4.20.md#p.2 and #g.6. The
//! quirks of [`WriteBack`] are kept.
//! **In the kernel** `cfq_io_context`, `cfq_io_cq`, `cfq_set_request`, `cfq_put_request`, `cfq_exit_icq`,
//! `cfq_init_prio_data`, `changed_ioprio`, `cfq_ioc_set_ioprio`, `cfq_find_alloc_queue`, `cfq_async_queue_prio`.

use crate::elevator::Cx;
use crate::elevators::cfq::data::Cfq;
use crate::elevators::cfq::ids::{Gid, Pid, Qid};
use crate::elevators::cfq::rules::WriteBack;
use crate::elevators::cfq::state::queue::Reading;
use crate::elevators::ioprio::Ioprio;
use crate::request::{Bio, RequestId, SubmitterId, Waiter};

impl Cfq {
    /// Finds the queue for a new request, creating the process and the queue if there are none.
    #[inline(always)]
    pub(in crate::elevators::cfq) fn prepared(&mut self, cx: &mut Cx<'_>, rq: RequestId, bio: &Bio) {
        let Bio { submitter, waiter, priority, .. } = *bio;
        let (group, prefers) = (self.group_of(bio.group), bio.hints.meta);
        let pid = match self.processes.of(submitter) {
            Some(known) => known,
            None => self.processes.make(submitter, group, priority, self.now),
        };
        let row = self.rows.value(rq);
        row.process = pid;
        let process = &mut self.processes[pid];
        process.prepared();
        if let Some(q) = process.queue(waiter) {
            // Boosts the queue's priority, or ends the boost.
            let queue = &mut self.queues[q];
            if self.rules.boost.is_on() && queue.reading == Reading::Stale {
                queue.take(process.ioprio());
            }
            queue.ioprio = self.rules.boost.ioprio(queue.own_ioprio, prefers);
            // The usual case: nothing has changed since the process's last request.
            if process.priority() == priority && process.group() == group && queue.goes_on_as_it_is() {
                queue.held_by.hold_request();
                row.queue = q;
                return;
            }
        }
        process.set_priority(priority);
        let q = self.find_queue(&mut cx.apart(), pid, waiter, Ioprio::of(priority), group);
        self.queues[q].held_by.hold_request();
        self.rows[rq].queue = q;
    }

    /// Finds the queue for a request of a process whose priority, group or queue has changed.
    #[inline(never)]
    fn find_queue(&mut self, cx: &mut Cx<'_>, pid: Pid, waiter: Waiter, ioprio: Ioprio, group: Gid) -> Qid {
        self.notice_priority(pid, ioprio, group);
        self.notice_group(cx, pid, group);
        let present = self.processes[pid].queue(waiter);
        let q = present.and_then(|q| self.part_or_join(cx, pid, waiter, q));
        q.unwrap_or_else(|| self.new_queue(pid, waiter))
    }

    fn notice_priority(&mut self, pid: Pid, ioprio: Ioprio, group: Gid) {
        let process = &mut self.processes[pid];
        if process.ioprio() == ioprio {
            return;
        }
        let old = process.set_ioprio(ioprio);
        let [sync, async_] = [Waiter::Sync, Waiter::Async].map(|waiter| process.queue(waiter));
        let present_group = process.group();
        if let Some(present) = async_ {
            let new = match self.rules.write_back {
                // A quirk of 2.6.31 to 2.6.33, kept: if the new level has no queue yet, the present queue is used for
                // it too and keeps its own level, so two levels share it.
                WriteBack::Moves => *self.groups[present_group].write_back(ioprio).get_or_insert(present),
                // 4.20 looks up the queue of the priority that the process *had*: its write-back stays where it was.
                WriteBack::LagsBehind => self.write_back_of(pid, group, old),
            };
            self.processes[pid].use_queue(Waiter::Async, Some(new));
        }
        if let Some(sync) = sync {
            self.queues[sync].reading = Reading::Stale;
        }
    }

    fn notice_group(&mut self, cx: &mut Cx<'_>, pid: Pid, group: Gid) {
        let process = &mut self.processes[pid];
        if process.group() == group {
            return;
        }
        let left = process.move_to(group);
        // References for merges planned out of the queue are never dropped, as in the kernel: only the process's own
        // reference is.
        if let Some(sync) = left.sync {
            self.drop_process(cx, sync);
        }
    }

    fn new_queue(&mut self, pid: Pid, waiter: Waiter) -> Qid {
        let process = &self.processes[pid];
        let (id, group, ioprio) = (process.id(), process.group(), process.ioprio());
        let q = match waiter {
            Waiter::Sync => {
                self.groups.used(group);
                self.queues.make(id, waiter, group, ioprio)
            }
            Waiter::Async => self.write_back_of(pid, group, ioprio),
        };
        self.processes[pid].use_queue(waiter, Some(q));
        q
    }

    /// The write-back queue of a group, class and level.
    fn write_back_of(&mut self, pid: Pid, group: Gid, ioprio: Ioprio) -> Qid {
        if let Some(q) = *self.groups[group].write_back(ioprio) {
            return q;
        }
        let q = self.queues.make(self.processes[pid].id(), Waiter::Async, group, ioprio);
        self.groups.used(group);
        *self.groups[group].write_back(ioprio) = Some(q);
        q
    }

    /// The queue into which a process's next request would be inserted.
    #[inline(always)]
    pub(in crate::elevators::cfq) fn queue_of(&self, submitter: SubmitterId, waiter: Waiter) -> Option<Qid> {
        self.processes.of(submitter).and_then(|pid| self.processes[pid].queue(waiter))
    }
}
