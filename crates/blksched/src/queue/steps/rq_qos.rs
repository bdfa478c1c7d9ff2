//! Bios on their way through the policies in front of the slots. The state is in `queue/rq_qos.rs`.
//!
//! **In the kernel** `rq_qos_throttle`.

#![doc(alias = "rq_qos_throttle")]

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::explain::Reason;
use crate::queue::mq::Task;
use crate::queue::rq_qos::{QosCx, RqQos, Throttled};
use crate::queue::{BlockQueue, Listener};
use crate::request::Bio;
use crate::time::Instant;

impl<L: Listener> BlockQueue<L> {
    /// Switch a policy on. Only blk-mq's queues ask it.
    pub fn add_policy(&mut self, now: Instant, policy: Box<dyn RqQos>) {
        self.catch_up(now);
        self.policies.all().insert(0, policy);
        let groups: Vec<_> = self.groups.iter().collect();
        let own = self.elevator.own_throttling();
        let mut woke = core::mem::take(&mut self.woke);
        let mut cx = QosCx { now, requests: &self.core.state.requests, groups: &self.groups, woke: &mut woke };
        let policy = &mut self.policies.all()[0];
        groups.into_iter().for_each(|(id, group)| policy.group(&mut cx, id, group));
        policy.elevator(&mut cx, own);
        self.woken(woke);
    }

    /// Is this policy on?
    pub(in crate::queue) fn has_policy(&self, name: &str) -> bool {
        self.policies.policies.iter().any(|policy| policy.name() == name)
    }

    /// A writer slept because too much memory was dirty; a throttle wants to know.
    pub fn waited_for_memory(&mut self, now: Instant) {
        self.catch_up(now);
        self.policies.all().iter_mut().for_each(|policy| policy.dirty_wait(now));
    }

    /// Has a deadline of anything but the elevator come?
    #[inline]
    pub(in crate::queue) fn is_timer_due(&self, now: Instant) -> bool {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        self.has_timers() && (due(self.plug.deadline()) || due(self.policies.deadline()) || due(self.gate.deadline()))
    }

    /// Tell every policy.
    #[inline]
    pub(in crate::queue) fn tell_policies(
        &mut self,
        now: Instant,
        mut tell: impl FnMut(&mut dyn RqQos, &mut QosCx<'_>),
    ) {
        if self.policies.policies.is_empty() {
            return;
        }
        let mut woke = core::mem::take(&mut self.woke);
        let mut cx = QosCx { now, requests: &self.core.state.requests, groups: &self.groups, woke: &mut woke };
        self.policies.all().iter_mut().for_each(|policy| tell(&mut **policy, &mut cx));
        self.woken(woke);
    }

    /// The first policy, from this one on, that holds the bio back.
    pub(in crate::queue) fn held_back(&mut self, now: Instant, from: usize, task: Task, bio: &Bio) -> Option<usize> {
        if self.policies.is_empty() {
            return None;
        }
        let mut woke = core::mem::take(&mut self.woke);
        let mut cx = QosCx { now, requests: &self.core.state.requests, groups: &self.groups, woke: &mut woke };
        let policies = self.policies.all().iter_mut().enumerate().skip(from);
        let mut held = policies.filter_map(|(nth, policy)| {
            (policy.throttle(&mut cx, task, bio) == Throttled::Sleep).then(|| (nth, policy.name()))
        });
        let held = held.next();
        self.woken(woke);
        let (nth, by) = held?;
        self.core.explain(now, |_| Reason::HeldByPolicy { submitter: bio.submitter, by });
        Some(nth)
    }

    /// A task that policy number `nth` had put to sleep runs on.
    pub(in crate::queue) fn resume_from(&mut self, now: Instant, nth: usize, task: Task, bio: &Bio) {
        let mut woke = core::mem::take(&mut self.woke);
        let mut cx = QosCx { now, requests: &self.core.state.requests, groups: &self.groups, woke: &mut woke };
        self.policies.all()[nth].resumed(&mut cx, task, bio);
        self.woken(woke);
    }

    /// Windows and periods that have ended.
    pub(in crate::queue) fn elapse_policies(&mut self, now: Instant) {
        self.tell_policies(now, |policy, cx| {
            if policy.deadline().is_some_and(|due| due <= now) {
                policy.elapse(cx);
            }
        });
    }
}
