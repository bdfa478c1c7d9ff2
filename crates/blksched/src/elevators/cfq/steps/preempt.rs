//! An arrival takes the disk from the active queue.
//!
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c8; docs/behaviour/elevators-4.20.md#x.19; the tests are in
//! `decide/preempt.rs`.
//! **In the kernel** `cfq_should_preempt`, `cfq_preempt_queue`.

use crate::elevator::Cx;
use crate::elevators::cfq::data::Cfq;
use crate::elevators::cfq::decide::preempt::{Arrival, nothing_speaks_for_it, why};
use crate::elevators::cfq::ids::Qid;
use crate::elevators::cfq::rules::{Preemption, Trees};
use crate::elevators::cfq::state::queue::CfqQueue;
use crate::elevators::cfq::state::slice::{Idle, Rest};
use crate::elevators::cfq::steps::cooperator::ClosePurpose;
use crate::elevators::cfq::steps::service_tree::InsertPosition;
use crate::explain::{Preempt, ServiceType, SliceEnd};
use crate::request::{Bio, Waiter};

/// A request of one queue that arrives while another queue is active.
struct Met<'c, 'a> {
    cfq: &'c Cfq,
    cx: &'c Cx<'a>,
    bio: &'c Bio,
    active: (Qid, &'c CfqQueue),
    arriving: &'c CfqQueue,
}

impl Arrival for Met<'_, '_> {
    fn active(&self) -> &CfqQueue {
        self.active.1
    }

    fn arriving(&self) -> &CfqQueue {
        self.arriving
    }

    fn waiter(&self) -> Waiter {
        self.bio.waiter
    }

    fn meta(&self) -> bool {
        self.bio.hints.meta
    }

    #[inline]
    fn slice_used(&self) -> bool {
        self.active().slice.is_used(self.cfq.now)
    }

    #[inline]
    fn foreign(&self) -> bool {
        !self.cfq.groups.is_within(self.active().group, self.arriving.group)
    }

    #[inline]
    fn fellow_seekers(&self) -> bool {
        let Met { cfq, arriving: new, .. } = self;
        let is_pair = || new.served_in.is_some_and(|tree| cfq.service.count(tree) == 2);
        cfq.rules.trees != Trees::Single
            && cfq.workload.kind() == ServiceType::SyncNoIdle
            && new.kind() == ServiceType::SyncNoIdle
            && (cfq.rules.preemption == Preemption::SameGroup || is_pair())
            && self.active().is_empty()
    }

    #[inline]
    fn abandoned(&self) -> bool {
        self.active().is_empty() && !self.cfq.should_idle(self.cx, self.active.0)
    }

    #[inline]
    fn close(&self) -> bool {
        let Met { cfq, arriving: new, .. } = self;
        let idles = cfq.active.process().is_some() && self.active().slice.idle() == Idle::WaitsForRequest;
        // 2.6.31 has no such test, and two cooperators can take the disk from each other again and again.
        let once =
            || cfq.rules.preemption != Preemption::CloseOnce || !new.cooperation.is_on() || cfq.service.busy() == 1;
        idles && once() && cfq.is_close(self.bio.start, ClosePurpose::Preemption)
    }
}

impl Cfq {
    /// Whether an arrival in queue `n` takes the disk from the active queue, and why.
    #[inline(always)]
    pub(super) fn should_preempt(&mut self, cx: &mut Cx<'_>, n: Qid, bio: &Bio) -> Option<Preempt> {
        let a = self.active.queue()?;
        if nothing_speaks_for_it(&self.queues[a], &self.queues[n], bio.hints.meta, self.now) {
            debug_assert_eq!(self.climb(&cx.apart(), a, n, bio), None);
            return None;
        }
        self.climb(&cx.apart(), a, n, bio)
    }

    /// All tests.
    #[inline(never)]
    fn climb(&mut self, cx: &Cx<'_>, a: Qid, n: Qid, bio: &Bio) -> Option<Preempt> {
        let active = (a, &self.queues[a]);
        let met = Met { cfq: self, cx, bio, active, arriving: &self.queues[n] };
        let why = why(self.rules.preemption, &met);
        if why == Some(Preempt::Close) && self.rules.preemption == Preemption::CloseOnce {
            self.queues[n].cooperation.preempt();
        }
        why
    }

    /// Expires the active queue and puts `n` first.
    pub(in crate::elevators::cfq) fn preempt(&mut self, cx: &mut Cx<'_>, n: Qid, why: Preempt) {
        let old_kind = self.active.queue().map(|a| self.queues[a].kind());
        self.expire(cx, Rest::Kept, SliceEnd::Preempted(why));
        // Otherwise the interrupted kind of load would be resumed at once, and the preempting queue, which is in
        // another tree, would not be found. Earlier kernels keep the rest of its slice.
        if self.rules.preemption == Preemption::SameGroup && old_kind != Some(self.queues[n].kind()) {
            self.groups[self.queues[n].group].save(None);
        }
        self.service_add(n, InsertPosition::Front);
        // The rest of its earlier slice is in its residual; this slice begins with its first completion.
        self.queues[n].slice.restart();
    }
}
