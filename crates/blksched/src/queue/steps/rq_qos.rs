//! Bios on their way through the policies in front of the slots. The state is in `queue/rq_qos.rs`.
//!
//! **Rule** On the short path (`queue/steps/fast_path.rs`), policies are asked and told the same as on the long one,
//! in the same order, and the short path is open at most until the earliest deadline that they then have. A queue
//! without policies asks once a step whether it has any. **In the kernel** `rq_qos_throttle`.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::elevator::Cx;
use crate::explain::Reason;
use crate::queue::mq::Task;
use crate::queue::rq_qos::{Policies, Policy, QosCx, RqQos, Throttled};
use crate::queue::slot_pools::SlotPools;
use crate::queue::wbt::Kind;
use crate::queue::{BlockQueue, Listener, QueueState};
use crate::request::{Bio, RequestId};
use crate::time::Instant;

impl<L: Listener> BlockQueue<L> {
    /// Enables a policy. Only blk-mq's queues ask it.
    pub fn add_policy(&mut self, now: Instant, policy: Box<dyn RqQos>) {
        self.catch_up(now);
        let groups: Vec<_> = self.core.state.groups.iter().collect();
        let own = self.elevator.own_throttling();
        let (policies, mut cx) = self.core.state.qos(now);
        let policy = policies.add(policy);
        groups.into_iter().for_each(|(id, group)| policy.group(&mut cx, id, group));
        policy.elevator(&mut cx, own);
        self.core.state.woken();
    }

    /// Whether this policy is enabled.
    pub(in crate::queue) fn has_policy(&self, name: &str) -> bool {
        self.core.state.policies.has(name)
    }

    /// A writer slept because too much memory was dirty; a throttle uses this.
    pub fn waited_for_memory(&mut self, now: Instant) {
        self.catch_up(now);
        self.core.state.policies.all().for_each(|policy| policy.dirty_wait(now));
    }

    /// Whether a deadline other than the elevator's has come.
    #[inline]
    pub(in crate::queue) fn is_timer_due(&self, now: Instant) -> bool {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let policies = &self.core.state.policies;
        self.has_timers() && (due(self.plug.deadline()) || due(policies.deadline()) || due(self.gate.deadline()))
    }

    /// Whether there may be a deadline other than the elevator's.
    #[inline]
    pub(in crate::queue) fn has_timers(&self) -> bool {
        self.has_rare_timers() || !self.core.state.policies.is_empty()
    }

    /// Whether there may be a deadline other than the elevator's and the policies'. Usually there is none.
    #[inline]
    pub(in crate::queue) fn has_rare_timers(&self) -> bool {
        self.plug.is_closed() || self.plug.holds() || self.gate.has_limits()
    }

    /// Tells every policy.
    #[inline]
    pub(in crate::queue) fn tell_policies(
        &mut self,
        now: Instant,
        mut tell: impl FnMut(&mut dyn RqQos, &mut QosCx<'_>),
    ) {
        if self.core.state.policies.is_empty() {
            return;
        }
        let (policies, mut cx) = self.core.state.qos(now);
        policies.all().for_each(|policy| tell(policy, &mut cx));
        self.core.state.woken();
    }

    /// The first policy, from this one on, that holds the bio back.
    pub(in crate::queue) fn held_back(&mut self, now: Instant, from: usize, task: Task, bio: &Bio) -> Option<usize> {
        if self.core.state.policies.is_empty() {
            return None;
        }
        let (nth, by) = self.core.state.first_that_holds(now, from, task, bio)?;
        self.core.explain(now, |_| Reason::HeldByPolicy { submitter: bio.submitter, by });
        Some(nth)
    }

    /// A task that policy number `nth` had put to sleep continues.
    pub(in crate::queue) fn resume_from(&mut self, now: Instant, nth: usize, task: Task, bio: &Bio) {
        let (policies, mut cx) = self.core.state.qos(now);
        if let Some(policy) = policies.all().nth(nth) {
            policy.resumed(&mut cx, task, bio);
        }
        self.core.state.woken();
    }

    /// Handles windows and periods that have ended.
    pub(in crate::queue) fn elapse_policies(&mut self, now: Instant) {
        self.tell_policies(now, |policy, cx| {
            if policy.deadline().is_some_and(|due| due <= now) {
                policy.elapse(cx);
            }
        });
    }
}

/// The same on the short path.
impl QueueState {
    /// The policies, and their context.
    #[inline(always)]
    fn qos(&mut self, now: Instant) -> (&mut Policies, QosCx<'_>) {
        let QueueState { policies, requests, groups, woke, .. } = self;
        (policies, QosCx { now, requests, groups, woke })
    }

    /// The fast path is open until this moment at most.
    #[inline(always)]
    fn fast_until_policies(&mut self) {
        self.fast_path.until = self.fast_path.until.min(self.policies.changed());
    }

    /// The same after a step that moves no throttle's deadline: its window begins when a bio is admitted, or by time.
    #[inline(always)]
    fn fast_until_others(&mut self) {
        if !matches!(self.policies.as_mut_slice(), [Policy::Throttle(_)]) {
            self.fast_until_policies();
        }
    }

    /// A request was given a slot.
    #[inline(never)]
    pub(in crate::queue) fn track(&mut self, now: Instant, rq: RequestId, bio: &Bio) {
        let (policies, mut cx) = self.qos(now);
        for policy in policies.as_mut_slice() {
            match policy {
                Policy::Throttle(throttle) => throttle.track(rq, Kind::of(bio)),
                Policy::Other(policy) => policy.track(&mut cx, rq, bio),
            }
        }
        self.fast_until_others();
    }

    /// A request goes to the device.
    #[inline(never)]
    pub(in crate::queue) fn tell_issued(&mut self, now: Instant, rq: RequestId) {
        let (policies, mut cx) = self.qos(now);
        for policy in policies.as_mut_slice() {
            match policy {
                Policy::Throttle(throttle) => throttle.issued(now, rq),
                Policy::Other(policy) => policy.issued(&mut cx, rq),
            }
        }
        self.fast_until_others();
    }

    /// A request has ended, and still has its slot. Wake-ups are reported after its bios.
    #[inline(never)]
    pub(in crate::queue) fn tell_done(&mut self, now: Instant, rq: RequestId) {
        let (policies, mut cx) = self.qos(now);
        for policy in policies.as_mut_slice() {
            match policy {
                Policy::Throttle(throttle) => throttle.done(now, rq, cx.woke),
                Policy::Other(policy) => policy.done(&mut cx, rq),
            }
        }
        self.fast_until_others();
    }

    /// A bio joined a request.
    #[inline(never)]
    pub(in crate::queue) fn tell_merged(&mut self, now: Instant, into: RequestId, bio: &Bio) {
        let (policies, mut cx) = self.qos(now);
        for policy in policies.as_mut_slice() {
            if let Policy::Other(policy) = policy {
                policy.merged(&mut cx, into, bio);
            }
        }
        self.woken();
        self.fast_until_others();
    }

    /// The first policy, from this one on, that holds the bio back, and its name.
    #[inline(never)]
    fn first_that_holds(&mut self, now: Instant, from: usize, task: Task, bio: &Bio) -> Option<(usize, &'static str)> {
        let (policies, mut cx) = self.qos(now);
        let mut policies = policies.as_mut_slice().iter_mut().enumerate().skip(from);
        let held = policies.find_map(|(nth, policy)| {
            let became = match policy {
                Policy::Throttle(throttle) => throttle.throttle(now, task, Kind::of(bio)),
                Policy::Other(policy) => policy.throttle(&mut cx, task, bio),
            };
            (became == Throttled::Sleep).then(|| (nth, policy.get().name()))
        });
        self.woken();
        self.fast_until_policies();
        held
    }
}

impl Cx<'_> {
    /// The first policy that holds the bio back, where there are tags.
    #[inline(always)]
    pub(in crate::queue) fn held_back(&mut self, bio: &Bio) -> Option<usize> {
        let SlotPools::Tags(tasks) = &mut self.state.slots else { return None };
        let task = tasks.next();
        let (nth, by) = self.state.first_that_holds(self.now, 0, task, bio)?;
        self.tell(|_| Reason::HeldByPolicy { submitter: bio.submitter, by });
        Some(nth)
    }
}
