//! A request comes back: the slice starts, ends, or the disk idles for its queue.
//!
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c14 and #c33.6; docs/behaviour/elevators-4.20.md#x.9.
//! **In the kernel** `cfq_completed_request`, `wait_busy`.

#![doc(alias = "cfq_completed_request")]
#![doc(alias = "wait_busy")]

use super::Cfq;
use super::cooperator::Search;
use super::idle::Idling;
use super::ncq::Moment;
use super::qid::Qid;
use super::service_tree::Trees;
use super::slice::Rest;
use crate::elevator::{Cx, Run};
use crate::explain::{ServiceType, SliceEnd};
use crate::request::{RequestId, Waiter};

impl Cfq {
    pub(super) fn completed(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run {
        let (q, waiter) = (self.rows[rq].queue, cx.rq(rq).waiter);
        self.watch_depth();
        self.in_driver[waiter] -= 1;
        let queue = &mut self.queues[q];
        queue.dispatched -= 1;
        self.in_flight[queue.waiter] -= 1;
        self.groups[queue.group].in_flight -= 1;
        self.pauses_begin(cx, q, rq);
        if waiter == Waiter::Sync {
            self.note_sync_end(cx, rq);
        }
        if self.active == Some(q) {
            self.active_completed(cx, q, rq);
        }
        if self.in_driver.sync + self.in_driver.async_ == 0 {
            self.wish_run();
        }
        self.drop_request(cx, rq);
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
        self.last_sync = now;
        let made = self.unit.tick(cx.rq(rq).queued_at);
        if made + self.ticks.fifo_expire.sync <= now {
            self.last_delayed_sync = now;
        }
    }

    fn active_completed(&mut self, cx: &mut Cx<'_>, q: Qid, rq: RequestId) {
        let (sync, no_idle) = (cx.rq(rq).waiter == Waiter::Sync, cx.rq(rq).hints.no_idle);
        let now = self.now(cx);
        self.start_slice(cx, q);
        if self.rules.trees != Trees::Single {
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
        if self.rules.idling == Idling::TreeThinks {
            return true;
        }
        if self.rules.trees == Trees::Single {
            return !no_idle;
        }
        self.workload.idled_for_all |= !no_idle;
        self.workload.kind == ServiceType::Sync || self.workload.idled_for_all || self.service.busy() == 1
    }
}
