//! The end of requests, processes and queues: objects without references are released.
//!
//! **Rule** A queue lives while a process holds it, a merge is planned into it, or one of its requests exists. A
//! process that exits ends the slice of its queue at once, since no more requests will follow.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c1 and #c17.
//! **In the kernel** `cfq_put_queue`, `cfq_put_request`, `cfq_exit_icq`, `cfq_exit_cfqq`.

use crate::elevator::{Cx, Run};
use crate::elevators::cfq::data::{Cfq, RequestData};
use crate::elevators::cfq::ids::{Pid, Qid};
use crate::elevators::cfq::state::slice::Rest;
use crate::explain::SliceEnd;
use crate::request::{PerWaiter, RequestId, SubmitterId};

impl Cfq {
    /// The last step in the life of a request that was never inserted or has been merged into another: uncounts it in
    /// its queue and process.
    pub(in crate::elevators::cfq) fn drop_unserved(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        let RequestData { queue, process, .. } = self.rows[rq];
        self.queues[queue].held_by.requests -= 1;
        self.processes[process].requests -= 1;
        if self.queues[queue].held_by.is_none() {
            self.release(cx, queue);
        }
        if self.processes[process].gone {
            self.forget_if_unused(process);
        }
    }

    /// Drops the reference of a process, or of a merge planned for one, to a queue.
    pub(super) fn drop_process(&mut self, cx: &mut Cx<'_>, q: Qid) {
        let held_by = &mut self.queues[q].held_by;
        held_by.processes -= 1;
        if held_by.is_none() {
            self.release(cx, q);
        }
    }

    /// Releases a queue that no process and no request holds any more.
    #[inline(never)]
    pub(super) fn release(&mut self, cx: &mut Cx<'_>, q: Qid) {
        if self.active == Some(q) {
            self.expire(cx, Rest::Dropped, SliceEnd::Gone);
            self.wish_run();
        }
        self.groups.unused(self.queues[q].own_group);
        self.queues.release(q);
    }

    pub(in crate::elevators::cfq) fn process_gone(&mut self, cx: &mut Cx<'_>, submitter: SubmitterId) -> Run {
        let Some(pid) = self.processes.of(submitter) else { return Run::No };
        let process = &mut self.processes[pid];
        process.gone = true;
        let PerWaiter { sync, async_ } = core::mem::take(&mut process.queues);
        // The slice of the shared write-back queue ends too, although other processes still use it: as in the kernel.
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

    /// Forgets an exited process, unless it still has requests or the disk idles for it.
    pub(super) fn forget_if_unused(&mut self, pid: Pid) {
        let process = &self.processes[pid];
        if process.gone && process.requests == 0 && self.active_process != Some(pid) && self.knows(pid) {
            self.processes.remove(pid);
        }
    }

    /// Whether it is still in the table.
    fn knows(&self, pid: Pid) -> bool {
        self.processes.of(self.processes[pid].id) == Some(pid)
    }
}
