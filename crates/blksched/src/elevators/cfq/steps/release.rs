//! The end of requests, processes and queues: objects without references are released.
//!
//! **Rule** A queue lives while a process holds it, a merge is planned into it, or one of its requests exists. A
//! process that exits ends the slice of its queue at once, since no more requests will follow.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c1 and #c17.
//! **In the kernel** `cfq_put_queue`, `cfq_put_request`, `cfq_exit_icq`, `cfq_exit_cfqq`.

use crate::elevator::{Cx, Run};
use crate::elevators::cfq::data::{Cfq, RequestData};
use crate::elevators::cfq::ids::Qid;
use crate::elevators::cfq::state::slice::Rest;
use crate::explain::SliceEnd;
use crate::request::{PerWaiter, RequestId, SubmitterId};

impl Cfq {
    /// The last step in the life of a request that was never inserted or has been merged into another: uncounts it in
    /// its queue and process.
    pub(in crate::elevators::cfq) fn drop_unserved(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        let RequestData { queue, process, .. } = self.rows[rq];
        let unused = self.queues[queue].held_by.drop_request();
        self.processes[process].drop_request();
        if unused {
            self.release(cx, queue);
        }
        if self.processes[process].is_gone() {
            self.processes.forget_if_unused(process, self.active.process());
        }
    }

    /// Drops the reference of a process, or of a merge planned for one, to a queue.
    pub(super) fn drop_process(&mut self, cx: &mut Cx<'_>, q: Qid) {
        if self.queues[q].held_by.drop_process() {
            self.release(cx, q);
        }
    }

    /// Releases a queue that no process and no request holds any more.
    #[inline(never)]
    pub(super) fn release(&mut self, cx: &mut Cx<'_>, q: Qid) {
        if self.active.is(q) {
            self.expire(cx, Rest::Dropped, SliceEnd::Gone);
            self.run_later();
        }
        self.groups.unused(self.queues[q].own_group);
        self.queues.release(q);
    }

    pub(in crate::elevators::cfq) fn process_gone(&mut self, cx: &mut Cx<'_>, submitter: SubmitterId) -> Run {
        let Some(pid) = self.processes.of(submitter) else { return Run::No };
        let process = &mut self.processes[pid];
        let PerWaiter { sync, async_ } = process.exit();
        // The slice of the shared write-back queue ends too, although other processes still use it: as in the kernel.
        for q in [async_, sync].into_iter().flatten() {
            if self.active.is(q) {
                self.expire(cx, Rest::Dropped, SliceEnd::Gone);
                self.run_later();
            }
        }
        if let Some(q) = sync {
            self.drop_plans(cx, q);
            self.drop_process(cx, q);
        }
        self.processes.forget_if_unused(pid, self.active.process());
        self.take_run()
    }
}
