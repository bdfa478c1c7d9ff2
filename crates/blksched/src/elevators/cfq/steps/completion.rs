//! A request completes: the slice starts or ends, or the disk idles for its queue.
//!
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c14 and #c33.6; docs/behaviour/elevators-4.20.md#x.9.
//! **In the kernel** `cfq_completed_request`, `wait_busy`, `cfq_schedule_dispatch`.

use crate::elevator::{Cx, Run};
use crate::elevators::cfq::data::{Cfq, RequestData};
use crate::elevators::cfq::ids::Qid;
use crate::elevators::cfq::rules::{Idling, Think, Trees};
use crate::elevators::cfq::state::ncq::Moment;
use crate::elevators::cfq::state::slice::{Progress, Rest};
use crate::elevators::cfq::steps::cooperator::CooperatorSearch;
use crate::explain::{ServiceType, SliceEnd};
use crate::request::{Bio, RequestId, Waiter};

impl Cfq {
    #[inline(always)]
    pub(in crate::elevators::cfq) fn completed(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run {
        let RequestData { queue: q, process: pid, .. } = self.rows[rq];
        let queued_at = cx.rq(rq).queued_at;
        let Bio { waiter, hints, .. } = **cx.rq(rq);
        // Before the counts drop: the disk had this request too.
        self.watch_depth();
        self.in_device.returned(waiter);
        let queue = &mut self.queues[q];
        queue.dispatched -= 1;
        let unused = queue.held_by.drop_request();
        self.in_device.completed(queue.waiter);
        self.groups[queue.group].completed();
        let process = &mut self.processes[pid];
        process.completed(waiter, self.now);
        if self.rules.think != Think::PerProcess {
            self.groups.think_time_begins(queue, waiter, self.now, self.rules.groups);
        }
        let gone = process.is_gone();
        if waiter == Waiter::Sync {
            let expires = self.unit.tick(queued_at) + self.ticks.fifo_expire.sync;
            self.last_sync.completed(self.now, expires);
        }
        if self.active.is(q) {
            self.active_completed(cx, q, waiter, hints.no_idle);
        }
        // Without requests in the driver nothing would trigger another run, although queues may wait.
        if self.in_device.in_driver() == 0 {
            self.run_later();
        }
        // This is the last step in the request's life (`release`): a queue or process that it alone kept alive goes
        // with it.
        if unused {
            self.release(&mut cx.apart(), q);
        }
        if gone {
            self.processes.forget_if_unused(pid, self.active.process());
        }
        self.take_run()
    }

    #[inline(always)]
    fn watch_depth(&mut self) {
        let Cfq { ncq, queues, active, .. } = self;
        let at = Moment { queued: self.queued, in_driver: self.in_device.in_driver() };
        ncq.update(at, || {
            let active = active.queue().map(|a| &queues[a]).filter(|queue| queue.window.is_open());
            active.map(|queue| queue.dispatched + queue.sorted.len())
        });
    }

    #[inline(always)]
    fn active_completed(&mut self, cx: &mut Cx<'_>, q: Qid, waiter: Waiter, no_idle: bool) {
        let now = self.now;
        let mut queue = &self.queues[q];
        if queue.slice.progress() == Progress::Unstarted {
            self.start_slice(q);
            queue = &self.queues[q];
        }
        let for_group = self.rules.idling == Idling::TreeThinks;
        // With groups, only after its last request.
        let is_alone = self.rules.trees != Trees::Single
            && self.service.in_group(queue.group) == 1
            && (!for_group || queue.is_empty());
        if is_alone {
            self.wait_while_alone(q, for_group);
            queue = &self.queues[q];
        }
        let empty = queue.is_empty();
        // One request at a time, so that any other class can go next.
        if queue.is_idle_class() {
            self.expire(&mut cx.apart(), Rest::Kept, SliceEnd::IdleClass);
        } else if queue.slice.is_used(now) {
            self.expire(&mut cx.apart(), Rest::Kept, SliceEnd::Used);
        // A close cooperator continues at this very position, which is better than an idle disk.
        } else if waiter == Waiter::Sync
            && empty
            && self.cooperator(&mut cx.apart(), q, CooperatorSearch::Probe).is_none()
            && self.is_served_alone(no_idle)
        {
            self.try_to_idle(&mut cx.apart(), q);
        }
    }

    /// Whether idling is for this queue rather than for its whole tree. By workload, a request that announces more
    /// counts for the whole tree.
    fn is_served_alone(&mut self, no_idle: bool) -> bool {
        if self.rules.idling == Idling::TreeThinks {
            return true;
        }
        if self.rules.trees == Trees::Single {
            return !no_idle;
        }
        self.workload.announces_more(!no_idle);
        self.workload.kind() == ServiceType::Sync || self.workload.is_idled_for_all() || self.service.busy() == 1
    }

    /// No other queue of the group waits: if the slice is about to end, extends it to wait for the next request.
    #[inline(never)]
    fn wait_while_alone(&mut self, q: Qid, for_group: bool) {
        let (now, ticks) = (self.now, &self.ticks);
        let queue = &self.queues[q];
        if for_group && self.groups[queue.group].ttime.is_big(ticks.group_idle) {
            return;
        }
        // Otherwise the queue would leave its tree, and its group the tree of groups, at the end of the slice; a group
        // with one process would never get its share (`steps/group_idle.rs`).
        let left = queue.slice.left_unsigned(now);
        let think = self.active.process().and_then(|pid| self.processes[pid].mean_ttime());
        let about_over = queue.slice.is_used(now) || think.is_some_and(|think| left < think) || left <= self.jiffy;
        if about_over {
            let idle = if for_group && ticks.slice_idle == 0 { ticks.group_idle } else { ticks.slice_idle };
            self.queues[q].slice.wait_alone(now + idle);
        }
    }
}
