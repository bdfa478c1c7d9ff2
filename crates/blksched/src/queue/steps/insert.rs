//! A request goes to the elevator; in 6.1 it may continue a queued one instead.
//!
//! **Origin** docs/formats/transcripts-6.1.md "Merging".
//! **In the kernel** `elv_insert`, `__elv_add_request`, `blk_mq_sched_insert_request`, `elv_attempt_insert_merge`.

use crate::elevator::{Elevator, Insert};
use crate::explain::Unplug;
use crate::queue::dispatch_list::From;
use crate::queue::merge::OnInsert;
use crate::queue::step::Step;
use crate::request::{Bio, RequestId, Sector, Stage};

impl<E: Elevator + ?Sized> Step<'_, E> {
    /// Gives a prepared request to the elevator.
    #[inline(always)]
    pub(in crate::queue) fn hand_over(&mut self, rq: RequestId, at: Insert) {
        let closes = self.cx.state.plug.closes() && !self.elevator.has_work();
        self.enlist(rq);
        if closes {
            self.rare().close_plug();
        }
        self.insert(rq, at);
    }

    /// From now on it is queued, and bios can find it.
    #[inline(always)]
    pub(in crate::queue) fn enlist(&mut self, rq: RequestId) {
        let state = &mut *self.cx.state;
        state.requests.get_mut(rq).stage = Stage::Queued;
        state.queued += 1;
        state.merges.admit(&mut state.requests, rq);
        self.explain_inserted(rq);
    }

    #[inline(always)]
    pub(in crate::queue) fn explain_inserted(&mut self, rq: RequestId) {
        self.cx.tell_by(|listener, at, requests| {
            let Bio { submitter, start, sectors, .. } = *requests[rq];
            listener.on_inserted(at, rq, requests[rq].dir(), start, sectors, submitter);
        });
    }

    #[inline(always)]
    pub(in crate::queue) fn insert(&mut self, rq: RequestId, at: Insert) {
        let run = self.elevator.insert(&mut self.cx, rq, at);
        self.changed();
        self.unplug_for(run);
        if self.cx.state.plug.is_reached(self.cx.state.queued) {
            self.rare().open_plug(Unplug::Threshold);
        }
    }

    /// 6.1: whether a request that starts here may continue a queued one. The search of its bio may just have shown
    /// that none ends here.
    #[inline(always)]
    pub(in crate::queue) fn may_merge_on_insert(&self, start: Sector) -> bool {
        self.elevator.merging().on_insert == OnInsert::Merge && !self.cx.state.merges.nothing_ends_at(start)
    }
}

impl Step<'_, dyn Elevator> {
    /// 6.1: a request about to be inserted may continue a queued one, and the grown one another. Returns the first.
    pub(in crate::queue) fn merge_on_insert(&mut self, rq: RequestId) -> Option<RequestId> {
        let start = self.cx.state.requests[rq].start;
        let may = self.may_merge_on_insert(start) && self.elevator.may_append(&self.cx.state.requests[rq]);
        if may { self.merge_into_others(rq) } else { None }
    }

    /// The elevator puts a request that it kept aside into its order.
    pub(in crate::queue) fn reinsert(&mut self, rq: RequestId) {
        let stage = self.cx.state.requests[rq].stage;
        assert!(stage == crate::request::Stage::Queued, "the elevator inserts {rq:?} again, which is {stage:?}");
        if self.merge_on_insert(rq).is_none() {
            self.cx.state.merges.admit(&mut self.cx.state.requests, rq);
            self.insert(rq, Insert::Sorted);
        }
    }

    fn merge_into_others(&mut self, rq: RequestId) -> Option<RequestId> {
        let mut first = None;
        let mut grown = None;
        while let Some(join) = self.cx.insert_merge(self.elevator, rq, grown) {
            self.changed();
            self.absorb(join.into, join.victim);
            self.unplug_if_asked();
            first.get_or_insert(join.into);
            grown = Some(join.into);
            if !join.cascades {
                break;
            }
        }
        first
    }

    /// A request was absorbed by another: its slot is free.
    pub(in crate::queue) fn absorb(&mut self, into: RequestId, victim: RequestId) {
        self.tell_policies(|policy, cx| policy.absorbed(cx, into, victim));
        let queued = self.cx.state.requests[victim].stage == Stage::Queued;
        self.cx.state.queued -= u32::from(queued);
        self.cx.state.release(victim);
    }

    /// A request that the elevator chose waits for the device, unmergeable.
    pub(in crate::queue) fn hold_on_list(&mut self, rq: RequestId) {
        self.cx.seal(rq);
        self.cx.state.requests.get_mut(rq).stage = Stage::Held;
        self.cx.state.list.push_back(rq, From::Elevator);
    }
}
