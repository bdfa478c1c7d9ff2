//! A request comes back: the slice starts, ends, or the disk idles for its queue.
//!
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c14 and #c33.6; docs/behaviour/elevators-4.20.md#x.9.
//! **In the kernel** `cfq_completed_request`, `wait_busy`.

#![doc(alias = "cfq_completed_request")]
#![doc(alias = "wait_busy")]
#![doc(alias = "cfq_schedule_dispatch")]

use crate::elevator::{Cx, Run};
use crate::elevators::cfq::data::Cfq;
use crate::elevators::cfq::ids::Qid;
use crate::elevators::cfq::rules::{Grouping, Idling, Think, Trees};
use crate::elevators::cfq::state::ncq::Moment;
use crate::elevators::cfq::state::service_trees::TreeAt;
use crate::elevators::cfq::state::slice::{Progress, Rest};
use crate::elevators::cfq::steps::cooperator::Search;
use crate::explain::{ServiceType, SliceEnd};
use crate::request::{RequestId, Waiter};

impl Cfq {
    pub(in crate::elevators::cfq) fn completed(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run {
        let (q, waiter) = (self.rows[rq].queue, cx.rq(rq).waiter);
        // Counts this request still: the watch asks how many the disk had at once.
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
        // Without requests in the driver nothing else would call again, though queues may wait.
        if self.in_driver.sync + self.in_driver.async_ == 0 {
            self.wish_run();
        }
        self.drop_request(cx, rq);
        self.take_wish()
    }

    fn watch_depth(&mut self) {
        let active = self.active.map(|a| &self.queues[a]).filter(|queue| queue.window.is_open());
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
        // Only a read that came late says that write-back is in the way (2.6.33). Until 2.6.32 any read does, and a
        // steady reader that the disk serves at once keeps write-back at one request.
        if made + self.ticks.fifo_expire.sync <= now {
            self.last_delayed_sync = now;
        }
    }

    /// A request came back: pauses begin.
    fn pauses_begin(&mut self, cx: &Cx<'_>, q: Qid, rq: RequestId) {
        let (now, sync) = (self.now(cx), cx.rq(rq).waiter == Waiter::Sync);
        if sync {
            self.processes[self.rows[rq].process].pauses.begin(now);
        }
        if self.rules.think == Think::PerProcess {
            return;
        }
        let queue = &self.queues[q];
        if sync {
            let tree = queue.served_in.unwrap_or(TreeAt::of(queue.group, queue.ioprio.class, queue.kind()));
            self.groups.pauses_of(tree).begin(now);
        }
        if self.rules.groups == Grouping::On {
            self.groups[queue.group].pauses.begin(now);
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
        // One request at a time: after each, any other class goes first.
        if queue.is_idle_class() {
            self.expire(cx, Rest::Kept, SliceEnd::IdleClass);
        } else if queue.slice.is_used(now) {
            self.expire(cx, Rest::Kept, SliceEnd::Used);
        // A close cooperator goes on at this very place, which is worth more than an idle disk.
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

    /// No other queue of the group waits and the slice is about over: wait for the next request all the same, beyond
    /// it.
    fn wait_while_alone(&mut self, cx: &Cx<'_>, q: Qid) {
        let (now, ticks) = (self.now(cx), self.ticks);
        let queue = &self.queues[q];
        let for_group = self.rules.idling == Idling::TreeThinks;
        if self.service.in_group(queue.group) != 1
            || for_group && (!queue.is_empty() || self.groups[queue.group].pauses.are_long(ticks.group_idle))
        {
            return;
        }
        // Without this the queue leaves its tree at the end of the slice and its group the tree of groups, so that a
        // group with one process never gets its share (`steps/group_idle.rs`).
        let left = queue.slice.left_unsigned(now);
        let think = self.active_process.and_then(|pid| self.processes[pid].pauses.believed());
        let about_over = queue.slice.is_used(now) || think.is_some_and(|think| left < think) || left <= self.jiffy;
        if about_over {
            let idle = if for_group && ticks.slice_idle == 0 { ticks.group_idle } else { ticks.slice_idle };
            let slice = &mut self.queues[q].slice;
            slice.progress = Progress::WaitingAlone(now + idle);
        }
    }
}
