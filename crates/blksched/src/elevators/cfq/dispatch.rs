//! One request from the queue being served to the list of chosen requests.
//!
//! **Rule** The oldest if its time is up and this turn has not looked yet, else the next. Write-back gives the disk
//! away after `2 · slice_async_rq · (8 − level)` requests, the idle class after each, if others wait.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c13; docs/behaviour/elevators-4.20.md#x.15 and #x.17.
//! **In the kernel** `cfq_dispatch_requests`, `cfq_dispatch_request`, `cfq_dispatch_insert`.

#![doc(alias = "cfq_dispatch_requests")]
#![doc(alias = "cfq_dispatch_request")]
#![doc(alias = "cfq_dispatch_insert")]

use super::Cfq;
use super::next_request::{self, Candidate, Chosen, NextRequest};
use super::qid::Qid;
use super::service_tree::Trees;
use super::slice::Rest;
use crate::elevator::{Cx, Dispatch};
use crate::explain::SliceEnd;
use crate::request::{RequestId, Sector};

/// How many requests of write-back a turn has.
fn async_share(per_level: i32, level: u8) -> u32 {
    let share = 2 * i64::from(per_level) * (8 - i64::from(level));
    u32::try_from(share).unwrap_or(u32::MAX)
}

impl Cfq {
    /// Choose a request, if one may go.
    pub(super) fn dispatch_one(&mut self, cx: &mut Cx<'_>) -> bool {
        if self.service.busy() == 0 {
            return false;
        }
        let Some(q) = self.select(cx) else { return false };
        let late = self.overdue(cx, q);
        if !self.may_dispatch(cx, q) {
            return false;
        }
        let rq = late.or_else(|| self.expired(cx, q)).or(self.queues[q].next);
        let rq = rq.expect("a queue that is selected has requests");
        self.move_to_chosen(cx, rq);
        self.active_process = self.active_process.or(Some(self.rows[rq].process));
        let (contended, per_level) = (self.service.busy() > 1, self.knobs.slice_async_rq);
        let queue = &mut self.queues[q];
        queue.slice.dispatched += 1;
        queue.slice.must_dispatch = false;
        let share = async_share(per_level, queue.ioprio.level);
        if contended && queue.is_idle_class() {
            self.expire(cx, Rest::Dropped, SliceEnd::IdleClass);
        } else if contended && !queue.is_sync() && queue.slice.dispatched >= share {
            self.expire(cx, Rest::Dropped, SliceEnd::AsyncShare);
        }
        true
    }

    /// To the list of chosen requests, by whatever rule.
    pub(super) fn move_to_chosen(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        let q = self.rows[rq].queue;
        if self.rules.next_request != NextRequest::Kept {
            let next = self.find_next(cx, q, rq);
            self.set_next(cx, q, next);
        }
        self.take_out(cx, q, rq);
        let queue = &mut self.queues[q];
        queue.dispatched += 1;
        self.in_flight[queue.waiter] += 1;
        self.groups[queue.group].in_flight += 1;
        self.chosen.insert(cx, rq);
    }

    /// The request behind `rq` or the one before it.
    pub(super) fn find_next(&self, cx: &Cx<'_>, q: Qid, rq: RequestId) -> Option<RequestId> {
        let slot = rq.index() as u32;
        let lowest = || self.queues[q].sorted.first().filter(|&first| first != slot);
        let next = self.sorted.next(slot).or_else(lowest).map(RequestId::from_index);
        let previous = self.sorted.previous(slot).map(RequestId::from_index);
        let from = match self.rules.next_request {
            NextRequest::FromTaken => cx.rq(rq).start,
            NextRequest::Kept | NextRequest::FromDisk => self.head,
        };
        self.better(cx, next, previous, from)
    }

    pub(super) fn better(
        &self,
        cx: &Cx<'_>,
        a: Option<RequestId>,
        b: Option<RequestId>,
        from: Sector,
    ) -> Option<RequestId> {
        let (Some(one), Some(two)) = (a, b) else { return a.or(b) };
        if one == two {
            return a;
        }
        let (first, second) = (Candidate::of(cx.rq(one)), Candidate::of(cx.rq(two)));
        match next_request::choose(first, second, from, &self.knobs) {
            Chosen::First => a,
            Chosen::Second => b,
        }
    }

    /// A request leaves every order of its queue.
    pub(super) fn take_out(&mut self, cx: &Cx<'_>, q: Qid, rq: RequestId) {
        if self.queues[q].next == Some(rq) {
            let next = self.find_next(cx, q, rq);
            self.set_next(cx, q, next);
        }
        self.forget_age(q, rq);
        let queue = &mut self.queues[q];
        self.sorted.remove(&mut queue.sorted, rq.index() as u32);
        queue.meta -= u32::from(cx.rq(rq).hints.meta);
        self.queued -= 1;
        if queue.is_empty() {
            match self.rules.trees {
                Trees::Single => self.leave(q),
                Trees::ByWorkload | Trees::InGroups => self.position_remove(q),
            }
        }
    }

    /// Why nothing was issued.
    pub(super) fn nothing_to_issue(&self) -> Dispatch {
        match self.timer {
            _ if self.queued == 0 => Dispatch::Empty,
            Some(until) => Dispatch::Idle { until: self.unit.instant(until), why: self.idles_for },
            None => Dispatch::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_back_of_level_0_has_eight_times_the_share_of_level_7() {
        assert_eq!((async_share(2, 0), async_share(2, 4), async_share(2, 7)), (32, 16, 4));
        assert_eq!(async_share(i32::MAX, 0), u32::MAX);
    }
}
