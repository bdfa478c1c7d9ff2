//! Queues of close cooperators are merged, process by process, and split again when they seek.
//!
//! **Rule** A merge is *planned* between two queues: the one with fewer processes points at the other, and holds it
//! once for each of its processes. A process changes over at its next request, one step of a chain of plans at a time.
//! A shared queue whose mean seek exceeds 8192 sectors when a slice of it ends is marked; each of its processes then
//! gets a queue of its own at its next request, and the last one keeps it.
//! **Origin** the mail of 2009-10-23; docs/behaviour/elevators-2.5-2.6.md#c33.9 (2.6.33, with the stable fixes to the
//! references).
//! **Shown by** the recordings of 2.6.33 with interleaved readers.
//! **In the kernel** `cfq_setup_merge`, `cfq_merge_cfqqs`, `split_cfqq`, `should_split_cfqq`, `cfq_mark_cfqq_coop`,
//! `cfq_put_cooperator`, `split_coop`, `new_cfqq`, `cfqq_process_refs`.

use crate::elevator::Cx;
use crate::elevators::cfq::data::Cfq;
use crate::elevators::cfq::ids::{Pid, Qid};
use crate::elevators::cfq::rules::CooperationRule;
use crate::elevators::cfq::state::cooperation::Cooperation;
use crate::explain::Reason;
use crate::request::Waiter;

impl Cfq {
    /// Plans the merge of `q`, which has run empty, and `found`, which continues at its position.
    pub(super) fn plan_merge(&mut self, cx: &mut Cx<'_>, q: Qid, found: Qid) {
        if self.rules.cooperation != CooperationRule::MergeSplit || self.queues[q].held_by.joins().is_some() {
            return;
        }
        let Some(end) = self.end_of_chain(found, q) else { return };
        let processes = |q: Qid| self.queues[q].held_by.processes();
        let (here, there) = (processes(q), processes(end));
        // Without a process to send a request, the merge would never be carried out.
        if here == 0 || there == 0 {
            return;
        }
        // The queue with fewer processes is merged into the other, since each process changes over at a request of its
        // own.
        let (from, into, moving) = if there >= here { (q, end, here) } else { (end, q, there) };
        self.queues[from].held_by.plan(into);
        self.queues[into].held_by.hold_processes(moving);
        cx.explain(Reason::MergePlanned { from: self.queues[from].owner, into: self.queues[into].owner });
    }

    /// The end of the chain of plans from `found`; `None` if no process holds `found` or the chain leads back to `q`.
    fn end_of_chain(&self, found: Qid, q: Qid) -> Option<Qid> {
        if self.queues[found].held_by.processes() == 0 || found == q {
            return None;
        }
        let mut end = found;
        while let Some(next) = self.queues[end].held_by.joins() {
            // A circular chain would never end.
            if next == q {
                return None;
            }
            end = next;
        }
        Some(end)
    }

    /// The queue that a process uses from this request on: its present one, or the one it merges into; `None`: a new
    /// one.
    pub(super) fn part_or_join(&mut self, cx: &mut Cx<'_>, pid: Pid, waiter: Waiter, q: Qid) -> Option<Qid> {
        let submitter = self.processes[pid].id();
        if self.queues[q].cooperation == Cooperation::Splitting {
            cx.explain(Reason::QueueSplit { submitter });
            // The last process keeps the queue, which is then its own again.
            if self.queues[q].held_by.processes() > 1 {
                self.processes[pid].use_queue(waiter, None);
                self.drop_plans(cx, q);
                self.drop_process(cx, q);
                return None;
            }
            let queue = &mut self.queues[q];
            queue.owner = submitter;
            queue.cooperation = Cooperation::Alone;
        }
        let Some(target) = self.queues[q].held_by.joins() else { return Some(q) };
        self.processes[pid].use_queue(waiter, Some(target));
        self.queues[target].cooperation.share();
        cx.explain(Reason::QueueMerged { submitter, into: self.queues[target].owner });
        self.drop_process(cx, q);
        Some(target)
    }

    /// Drops the references of planned merges along the chain from `q`, for a process that leaves it.
    pub(super) fn drop_plans(&mut self, cx: &mut Cx<'_>, q: Qid) {
        let mut at = self.queues[q].held_by.joins();
        while let Some(target) = at {
            at = self.queues[target].held_by.joins();
            self.drop_process(cx, target);
        }
    }
}
