//! A request comes back: the slice starts, ends, or the disk idles for its queue.
//!
//! **Origin** notes C14 and C33.6.

use super::Cfq;
use super::cooperator::Search;
use super::ncq::Moment;
use super::queue::Qid;
use super::service_tree::Trees;
use super::slice::{Progress, Rest};
use crate::elevator::{Cx, Run};
use crate::explain::{ServiceType, SliceEnd};
use crate::request::{RequestId, Waiter};

impl Cfq {
    pub(super) fn completed(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run {
        let (q, waiter, pid) = (self.rows[rq].queue, cx.rq(rq).waiter, cx.rq(rq).submitter);
        self.watch_depth();
        self.in_driver[waiter] -= 1;
        self.queues[q].dispatched -= 1;
        self.sync_in_flight -= u32::from(self.queues[q].is_sync());
        if waiter == Waiter::Sync {
            self.note_sync_end(cx, rq);
        }
        if self.active == Some(q) {
            self.active_completed(cx, q, rq);
        }
        if self.in_driver.sync + self.in_driver.async_ == 0 {
            self.wish_run();
        }
        self.drop_request(cx, q);
        self.process_mut(pid).requests -= 1;
        self.forget_if_unused(pid);
        self.take_wish()
    }

    fn watch_depth(&mut self) {
        let active = self.active.map(|a| &self.queues[a]).filter(|queue| queue.idling.open);
        self.ncq.look(Moment {
            queued: self.queued,
            in_driver: self.in_driver.sync + self.in_driver.async_,
            idled_for: active.map(|queue| queue.dispatched + queue.sorted.len()),
        });
    }

    fn note_sync_end(&mut self, cx: &Cx<'_>, rq: RequestId) {
        let now = self.now(cx);
        self.process_mut(cx.rq(rq).submitter).last_end = now;
        self.last_sync = now;
        let made = self.jiffies.tick(cx.rq(rq).queued_at);
        if made + self.jiffies.ticks(self.knobs.fifo_expire_sync) <= now {
            self.last_delayed_sync = now;
        }
    }

    fn active_completed(&mut self, cx: &mut Cx<'_>, q: Qid, rq: RequestId) {
        let (sync, no_idle) = (cx.rq(rq).waiter == Waiter::Sync, cx.rq(rq).hints.no_idle);
        let now = self.now(cx);
        self.start_slice(cx, q);
        if self.rules.trees == Trees::ByWorkload {
            self.wait_while_alone(cx, q);
        }
        let queue = &self.queues[q];
        let empty = queue.is_empty();
        if queue.is_idle_class() {
            self.expire(cx, Rest::Kept, SliceEnd::IdleClass);
        } else if queue.slice.is_used(now) {
            self.expire(cx, Rest::Kept, SliceEnd::Used);
        } else if sync && empty && self.cooperator(cx, q, Search::Probe).is_none() && self.is_served_alone(no_idle) {
            self.try_to_idle(cx, q);
        }
    }

    /// Idling is for this queue, not for its whole tree. By workload a request that more will follow speaks for all.
    fn is_served_alone(&mut self, no_idle: bool) -> bool {
        if self.rules.trees == Trees::Single {
            return !no_idle;
        }
        self.workload.idled_for_all |= !no_idle;
        self.workload.kind == ServiceType::Sync || self.workload.idled_for_all || self.service.busy() == 1
    }

    /// Nobody else waits and the slice is about over: wait for the next request all the same, beyond the slice.
    fn wait_while_alone(&mut self, cx: &Cx<'_>, q: Qid) {
        let now = self.now(cx);
        let left = self.queues[q].slice.left_unsigned(now);
        let process = self.active_process.and_then(|pid| self.processes.get(&pid));
        let think = process.and_then(|process| process.think.believed());
        let about_over = self.queues[q].slice.is_used(now) || think.is_some_and(|think| left < think) || left == 1;
        if self.service.busy() == 1 && about_over {
            let end = now + self.ticks().slice_idle;
            let slice = &mut self.queues[q].slice;
            slice.progress = Progress::Until(end);
            slice.waits_while_alone = true;
        }
    }
}
