//! One request moves from the active queue to the dispatch list.
//!
//! **Rule** The oldest if it has expired and this slice has not checked yet, otherwise the next. Write-back gives up
//! the disk after `2 · slice_async_rq · (8 − level)` requests, the idle class after each, if others wait.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c13; docs/behaviour/elevators-4.20.md#x.15 and #x.17.
//! **In the kernel** `cfq_dispatch_requests`, `cfq_dispatch_request`, `cfq_dispatch_insert`, `cfq_find_next_rq`,
//! `cfq_remove_request`, `cfq_del_rq_rb`.

use crate::elevator::{Cx, Dispatch};
use crate::elevators::by_sector;
use crate::elevators::cfq::data::Cfq;
use crate::elevators::cfq::decide::async_ramp::Ramp;
use crate::elevators::cfq::decide::async_share::async_share;
use crate::elevators::cfq::decide::depth::{Load, allowed, simply_allowed};
use crate::elevators::cfq::decide::select::simply_goes_on;
use crate::elevators::cfq::ids::Qid;
use crate::elevators::cfq::rules::{AsyncDepth, Depth, Fifo, NextRequest, Trees};
use crate::elevators::cfq::state::queue::CfqQueue;
use crate::elevators::cfq::state::slice::{AgeCheck, Rest};
use crate::elevators::cfq::tunables::V2_6_32;
use crate::elevators::next_request::Choice;
use crate::explain::{HeldBack, Reason, SliceEnd};
use crate::request::RequestId;

impl Cfq {
    /// Gives the driver the next request, if one may be dispatched.
    #[inline(always)]
    pub(in crate::elevators::cfq) fn dispatch_next(&mut self, cx: &mut Cx<'_>) -> Dispatch {
        let rq =
            if self.dispatch_list.is_empty() { self.dispatch_one(cx) } else { self.dispatch_list.take(&cx.apart()) };
        let Some(rq) = rq else { return self.nothing_to_issue() };
        let request = cx.rq(rq);
        self.in_device.taken(request.waiter);
        self.head = request.end();
        self.dispatch_list.arm_is_at(self.head);
        Dispatch::Issue(rq)
    }

    /// Whether anything is queued; with one tree, whether any queue is in it.
    pub(in crate::elevators::cfq) fn has_queued(&self) -> bool {
        match self.rules.trees {
            Trees::Single => self.service.busy() > 0,
            Trees::ByWorkload | Trees::InGroups => self.queued > 0,
        }
    }

    /// Chooses a request, if one may be dispatched; it bypasses the dispatch list, which is empty.
    #[inline(always)]
    fn dispatch_one(&mut self, cx: &mut Cx<'_>) -> Option<RequestId> {
        if let Some(a) = self.active.queue()
            && self.simply_sends(&self.queues[a])
        {
            debug_assert_eq!(self.select(&mut cx.apart()), Some(a));
            let next = self.queues[a].next.expect("a queue that goes on has requests");
            self.choose(cx, a, next);
            self.sent(cx, a, next);
            return Some(next);
        }
        self.look_and_dispatch(&mut cx.apart())
    }

    /// Whether a queue obviously continues, which is the usual case: no limit is near and the age check is done.
    #[inline(always)]
    fn simply_sends(&self, queue: &CfqQueue) -> bool {
        let quantum = self.knobs.quantum as u32;
        queue.slice.age_check() == AgeCheck::Done
            && simply_goes_on(self.rules.preemption, queue, self.now)
            && simply_allowed(self.rules.depth, queue, quantum, self.async_in_flight())
    }

    #[inline(never)]
    fn look_and_dispatch(&mut self, cx: &mut Cx<'_>) -> Option<RequestId> {
        if self.service.busy() == 0 {
            return None;
        }
        let q = self.select(cx)?;
        let (mut late, mut queue) = (None, &self.queues[q]);
        if self.rules.fifo == Fifo::PastLimits && queue.slice.age_check() == AgeCheck::Due {
            late = self.overdue(cx, q);
            queue = &self.queues[q];
        }
        if let Err(why) = self.may_dispatch(cx, q, queue) {
            cx.explain(Reason::HeldBack { owner: queue.owner, waiter: queue.waiter, why });
            return None;
        }
        let next = queue.next;
        if late.is_none() && queue.slice.age_check() == AgeCheck::Due {
            late = self.expired(cx, q);
        }
        let rq = late.or(next).expect("a queue that is selected has requests");
        self.choose(cx, q, rq);
        self.sent(cx, q, rq);
        Some(rq)
    }

    /// Counts a request that the active queue has dispatched.
    #[inline(always)]
    fn sent(&mut self, cx: &mut Cx<'_>, q: Qid, rq: RequestId) {
        // The disk idles for the process that began the slice, and its think time counts, even if another process of a
        // shared queue sends the request.
        self.active.note_process(self.rows[rq].process);
        let queue = &mut self.queues[q];
        queue.slice.sent();
        if self.service.busy() > 1 && (!queue.is_sync() || queue.is_idle_class()) {
            self.give_way(&mut cx.apart(), q);
        }
    }

    /// Ends the slice of write-back or of the idle class when it has had its share and others wait.
    #[inline(never)]
    fn give_way(&mut self, cx: &mut Cx<'_>, q: Qid) {
        let queue = &self.queues[q];
        let share = async_share(self.knobs.slice_async_rq, queue.ioprio.level);
        // The idle class has the disk only while no other class wants it, so it gives way after each request.
        if queue.is_idle_class() {
            self.expire(cx, Rest::Dropped, SliceEnd::IdleClass);
        } else if !queue.is_sync() && queue.slice.dispatched() >= share {
            self.expire(cx, Rest::Dropped, SliceEnd::AsyncShare);
        }
    }

    /// The number of write-back requests in flight.
    #[inline(always)]
    fn async_in_flight(&self) -> u32 {
        match self.rules.depth {
            Depth::WhileSliceLasts => self.in_device.async_in_flight(),
            // Until 2.6.33 write-back on the dispatch list does not count, although the disk gets it next.
            _ => self.in_device.async_in_driver(),
        }
    }

    fn may_dispatch(&self, cx: &mut Cx<'_>, q: Qid, queue: &CfqQueue) -> Result<(), HeldBack> {
        let busy = self.service.busy();
        let async_depth = if queue.is_sync() { None } else { self.async_depth(cx, queue) };
        let load = Load {
            waiter: queue.waiter,
            idle_class: queue.is_idle_class(),
            dispatched: queue.dispatched,
            quantum: self.knobs.quantum as u32,
            contended: busy > 1,
            duty: queue.slice.duty(),
            only_reader: queue.is_sync() && self.service.busy_sync() == 1,
            // Computed only if other queues wait.
            slice_short: busy > 1 && !queue.slice.lasts(self.now, self.ticks.slice_idle * u64::from(queue.dispatched)),
            must_drain: self.async_in_flight() > 0 && self.should_idle(cx, q),
            sync_in_flight: self.in_device.sync_in_flight() > 0,
            async_depth,
        };
        allowed(self.rules.depth, load)
    }

    /// How much write-back may be in flight.
    #[inline(never)]
    fn async_depth(&self, cx: &mut Cx<'_>, queue: &CfqQueue) -> Option<u32> {
        let (ticks, now) = (&self.ticks, self.now);
        // 2.6.31 has no such knob, so the mechanism always applies in full.
        let wanted = self.knobs.low_latency || self.knobs.kernel < V2_6_32;
        if !wanted {
            return None;
        }
        // The patch's product has 32 bits and counts jiffies.
        let jiffy = if self.rules.async_depth == AsyncDepth::RemainingSlice { self.jiffy } else { 1 };
        let ramp = Ramp {
            last_sync: self.last_sync.ago(now) / jiffy,
            delayed_sync: self.last_sync.delayed_ago(now) / jiffy,
            left: queue.slice.left(now) / jiffy,
            slice_sync: ticks.slice_sync / jiffy,
            slice_idle: ticks.slice_idle / jiffy,
            dispatched: queue.dispatched,
        };
        let (depth, rule) = self.rules.async_depth.depth(ramp)?;
        cx.explain(Reason::AsyncDepth { depth, rule });
        Some(depth)
    }

    /// Moves a request to the dispatch list.
    pub(super) fn move_to_dispatch_list(&mut self, cx: &Cx<'_>, q: Qid, rq: RequestId) {
        self.choose(cx, q, rq);
        self.dispatch_list.insert(cx, rq);
    }

    /// Takes a request out of its queue for the driver.
    #[inline(always)]
    fn choose(&mut self, cx: &Cx<'_>, q: Qid, rq: RequestId) {
        let queue = &mut self.queues[q];
        queue.dispatched += 1;
        self.in_device.dispatched(queue.waiter);
        self.groups[queue.group].dispatched();
        // In 2.6.31 an overdue request that is taken out of order leaves the queue's next request unchanged, so the
        // queue then returns to where it was.
        if self.rules.next_request == NextRequest::Kept {
            return self.take_out(cx, q, rq);
        }
        let (behind, before) = by_sector::candidates_after(&self.sorted, queue.sorted, rq);
        let from_taken = self.rules.next_request == NextRequest::FromTaken;
        let from = if from_taken { self.sorted.key(rq.index() as u32) } else { self.head };
        let choice = Choice::of(self.turning_back, queue.meta, from);
        queue.next = choice.better(&self.sorted, |rq| cx.rq(rq), behind, before);
        if let (Some(_), Some(next)) = (queue.positioned_in, queue.next) {
            self.positions.moved(q, self.sorted.key(next.index() as u32));
        }
        self.rows.remove(&mut queue.fifo, rq);
        self.sorted.remove(&mut queue.sorted, rq.index() as u32);
        if queue.meta > 0 {
            queue.meta -= u32::from(cx.rq(rq).hints.meta);
        }
        self.queued -= 1;
        if queue.is_empty() {
            self.ran_empty(q);
        }
    }

    /// The better of the requests after and before `rq`.
    fn find_next(&self, cx: &Cx<'_>, q: Qid, rq: RequestId) -> Option<RequestId> {
        let (behind, before) = by_sector::candidates_after(&self.sorted, self.queues[q].sorted, rq);
        let from = match self.rules.next_request {
            NextRequest::FromTaken => cx.rq(rq).start,
            NextRequest::Kept | NextRequest::FromDisk => self.head,
        };
        let choice = Choice::of(self.turning_back, self.queues[q].meta, from);
        choice.better(&self.sorted, |rq| cx.rq(rq), behind, before)
    }

    /// Removes a request from every order of its queue.
    pub(super) fn take_out(&mut self, cx: &Cx<'_>, q: Qid, rq: RequestId) {
        if self.queues[q].next == Some(rq) {
            let next = self.find_next(cx, q, rq);
            self.set_next(cx, q, next);
        }
        let queue = &mut self.queues[q];
        self.rows.remove(&mut queue.fifo, rq);
        self.sorted.remove(&mut queue.sorted, rq.index() as u32);
        queue.meta -= u32::from(cx.rq(rq).hints.meta);
        self.queued -= 1;
        if queue.is_empty() {
            self.ran_empty(q);
        }
    }

    /// Called when a queue has run empty.
    #[inline(never)]
    fn ran_empty(&mut self, q: Qid) {
        match self.rules.trees {
            // Until 2.6.32 a queue leaves its tree as soon as it is empty, even while it is being served; since 2.6.33,
            // when its slice ends.
            Trees::Single => self.leave(q),
            Trees::ByWorkload | Trees::InGroups => self.position_remove(q),
        }
    }

    /// Why nothing was issued.
    #[inline(never)]
    fn nothing_to_issue(&mut self) -> Dispatch {
        self.settle();
        match self.timer.until() {
            _ if self.queued == 0 => Dispatch::Empty,
            Some(until) => Dispatch::Idle { until: self.unit.instant(until), why: self.timer.idles_for() },
            None => Dispatch::Wait,
        }
    }
}
