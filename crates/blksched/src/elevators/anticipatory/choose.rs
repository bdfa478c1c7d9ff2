//! The decision: which request is dispatched next, and the consequences.
//!
//! **Rule** A batch that continues takes its oldest request if that one is late; otherwise, if it is a batch of reads,
//! it asks whether to wait for the process that read last; otherwise it continues in sector order. A batch that is over
//! yields to the other class, which begins with its oldest request. A dispatched request ends any wait, and its
//! process, if the request is synchronous, becomes the one to wait for.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#a.2, #a.5, #a.6, #e10.
//! **In the kernel** `as_dispatch_request`, `as_choose_req`, `as_move_to_dispatch`.

use super::anticipate::Awaited;
use super::batch::{self, BatchStage};
use super::scheduler::Anticipatory;
use crate::elevator::{Cx, Run};
use crate::elevators::nearer::TurningBack;
use crate::explain::{BatchStart, Index, Reason, WaitEnd};
use crate::request::{PerWaiter, RequestId, Waiter};

/// The rule for seeks back, from the end of the last request of the class.
const TURNING_BACK: TurningBack = TurningBack { reach_sectors: 1024 * 1024, penalty: 2 };

/// The next step of a batch that continues.
enum BatchStep {
    Take(RequestId),
    /// Leave the disk idle: a process's next read is waited for.
    Wait,
    /// It has no request to continue with.
    Nothing,
}

impl Anticipatory {
    pub(super) fn choose(&mut self, cx: &mut Cx<'_>) -> Option<RequestId> {
        let waiting = self.waiting();
        self.batch.look(waiting);
        let nobody = !waiting.sync && !waiting.async_;
        if nobody || self.anticipation.is_waiting() || self.batch.stage == BatchStage::Draining {
            return None;
        }
        if self.batch.goes_on(self.tick(cx), waiting) {
            match self.go_on(cx, waiting) {
                BatchStep::Take(rq) => return Some(rq),
                BatchStep::Wait => return None,
                BatchStep::Nothing => {}
            }
        }
        self.begin_batch(cx, waiting)
    }

    fn go_on(&mut self, cx: &mut Cx<'_>, waiting: PerWaiter<bool>) -> BatchStep {
        let (class, candidate) = (self.batch.class, self.next[self.batch.class]);
        let antic_expire = self.antic_expire();
        if class == Waiter::Sync && antic_expire > 0 {
            if let Some(late) = self.late(cx, class) {
                return BatchStep::Take(late);
            }
            if self.should_wait(cx, candidate) {
                self.anticipation.wait(cx, self.jiffies, antic_expire);
                return BatchStep::Wait;
            }
        }
        let Some(next) = candidate else { return BatchStep::Nothing };
        // Without writes waiting, the reads' time begins anew with each.
        if waiting.sync && !waiting.async_ {
            self.batch.expires = self.tick(cx) + self.lengths().sync;
        }
        if let Some(late) = self.late(cx, class) {
            return BatchStep::Take(late);
        }
        cx.explain(Reason::BatchContinued { rq: next, nth: self.batch.taken + 1 });
        BatchStep::Take(next)
    }

    /// The oldest request of the class, if it has expired and the check is due.
    fn late(&mut self, cx: &mut Cx<'_>, class: Waiter) -> Option<RequestId> {
        let expire = self.expire(class);
        let (rq, late) = self.aged[class].late(cx.now, self.jiffies, expire)?;
        cx.explain(Reason::TookOldest { rq, late });
        Some(rq)
    }

    /// Begins the next batch and returns its first request; `None` while it must wait for the device.
    fn begin_batch(&mut self, cx: &mut Cx<'_>, waiting: PerWaiter<bool>) -> Option<RequestId> {
        let (now, lengths) = (self.tick(cx), self.lengths());
        let class = batch::next_class(self.batch.class, waiting);
        self.batch.begin(class, now, self.in_flight, lengths);
        let rq = self.aged[class].begin_with_oldest(now)?;
        if self.batch.stage == BatchStage::Draining {
            cx.explain(Reason::BatchDrains { to: class, in_flight: self.in_flight });
            return None;
        }
        cx.explain(Reason::BatchBegan { dir: cx.rq(rq).dir(), rq, why: BatchStart::Oldest });
        Some(rq)
    }

    /// Dispatches `rq`: it leaves the orders of its class, and its process becomes the one to wait for.
    pub(super) fn take(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run {
        let run = self.end_wait(cx, WaitEnd::OutOfTurn);
        let class = cx.rq(rq).waiter;
        let process = self.owner[rq];
        self.arm[class] = cx.rq(rq).end();
        let awaited = match class {
            Waiter::Sync => Some(Awaited { process, submitter: cx.rq(rq).submitter }),
            Waiter::Async => {
                self.batch.writes.count();
                None
            }
        };
        self.wait_next_for(awaited);
        self.next[class] = self.behind(cx, rq);
        self.leave_orders(class, rq);
        self.processes[process].queued -= 1;
        self.processes[process].on_dispatch_list += 1;
        self.batch.taken += 1;
        self.in_flight += 1;
        self.dispatch_list.insert(cx, rq);
        run
    }

    fn wait_next_for(&mut self, awaited: Option<Awaited>) {
        if let Some(Awaited { process, .. }) = awaited {
            self.processes.refer(process);
        }
        if let Some(Awaited { process, .. }) = self.anticipation.taken(awaited) {
            self.processes.release(process);
        }
    }

    /// The request with which its class would continue after `rq`, which is still in sector order.
    pub(super) fn behind(&self, cx: &Cx<'_>, rq: RequestId) -> Option<RequestId> {
        let class = cx.rq(rq).waiter;
        let tree = &self.sorted[class];
        let index = rq.index() as u32;
        let lowest = tree.first().filter(|&first| first != index);
        let ahead = tree.next(index).or(lowest).map(RequestId::from_index);
        let back = tree.previous(index).map(RequestId::from_index);
        self.nearer(cx, class, ahead, back)
    }

    /// The nearer of two requests. Only the neighbours of a request just taken are compared, and each new request with
    /// the present choice.
    pub(super) fn nearer(
        &self,
        cx: &Cx<'_>,
        class: Waiter,
        first: Option<RequestId>,
        second: Option<RequestId>,
    ) -> Option<RequestId> {
        let (Some(a), Some(b)) = (first, second) else { return first.or(second) };
        if TURNING_BACK.prefers_first(self.arm[class], cx.rq(a).start, cx.rq(b).start) { first } else { second }
    }

    pub(super) fn leave_orders(&mut self, class: Waiter, rq: RequestId) {
        self.sorted[class].remove(rq.index() as u32);
        self.aged[class].remove(rq);
    }

    /// Inserts a request by sector; every older request with the same first sector is forced out.
    pub(super) fn sort(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run {
        let (class, start) = (cx.rq(rq).waiter, cx.rq(rq).start);
        let mut run = Run::No;
        while let Some(older) = self.sorted[class].find_counting(start, cx.steps()).0.map(RequestId::from_index) {
            cx.explain(Reason::AliasForced { rq: older });
            run = run.max(self.take(cx, older));
            cx.seal(older);
        }
        let steps = self.sorted[class].insert_counting(rq.index() as u32, start, cx.steps());
        cx.explain_search(Index::Tree, steps);
        run
    }
}
