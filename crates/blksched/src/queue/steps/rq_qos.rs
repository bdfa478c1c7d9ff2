//! Bios on their way through the policies in front of the slots. The state is in `queue/rq_qos.rs`.
//!
//! **Rule** A queue without policies asks once a step whether it has any. Whatever a policy is told may move its
//! deadline, so each time the queue is [woken by](QueueState::wake_by) the earliest that they then have.
//! **In the kernel** `rq_qos_throttle`.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::elevator::{Cx, Elevator};
use crate::explain::Reason;
use crate::queue::mq::Task;
use crate::queue::rq_qos::{Policies, Policy, QosCx, RqQos, Throttled};
use crate::queue::step::Step;
use crate::queue::wbt::Kind;
use crate::queue::{BlockQueue, Listener, QueueState};
use crate::request::{Bio, RequestId};
use crate::time::Instant;

impl<L: Listener> BlockQueue<L> {
    /// Enables a policy. Only blk-mq's queues ask it.
    pub fn add_policy(&mut self, now: Instant, policy: Box<dyn RqQos>) {
        self.at(now).add_policy(policy);
    }

    /// A writer slept because too much memory was dirty; a throttle uses this.
    pub fn waited_for_memory(&mut self, now: Instant) {
        self.at(now).tell_policies(|policy, cx| policy.dirty_wait(cx.now));
    }
}

impl Step<'_, dyn Elevator> {
    pub(in crate::queue) fn add_policy(&mut self, policy: Box<dyn RqQos>) {
        let groups: Vec<_> = self.cx.state.groups.iter().collect();
        let own = self.elevator.own_throttling();
        let (policies, mut cx) = self.cx.state.qos();
        let policy = policies.add(policy);
        groups.into_iter().for_each(|(id, group)| policy.group(&mut cx, id, group));
        policy.elevator(&mut cx, own);
        self.cx.state.woken();
        self.cx.state.wake_by_policies();
    }

    /// Tells every policy something that happens rarely.
    pub(in crate::queue) fn tell_policies(&mut self, mut tell: impl FnMut(&mut dyn RqQos, &mut QosCx<'_>)) {
        if self.cx.state.policies.is_empty() {
            return;
        }
        let (policies, mut cx) = self.cx.state.qos();
        policies.all().for_each(|policy| tell(policy, &mut cx));
        self.cx.state.woken();
        self.cx.state.wake_by_policies();
    }

    /// The first policy, from this one on, that holds the bio back.
    pub(in crate::queue) fn held_back(&mut self, from: usize, task: Task, bio: &Bio) -> Option<usize> {
        if self.cx.state.policies.is_empty() { None } else { self.cx.held_back_from(from, task, bio) }
    }

    /// A task that policy number `nth` had put to sleep continues.
    pub(in crate::queue) fn resume_from(&mut self, nth: usize, task: Task, bio: &Bio) {
        let (policies, mut cx) = self.cx.state.qos();
        if let Some(policy) = policies.all().nth(nth) {
            policy.resumed(&mut cx, task, bio);
        }
        self.cx.state.woken();
        self.cx.state.wake_by_policies();
    }

    /// Handles windows and periods that have ended.
    pub(in crate::queue) fn elapse_policies(&mut self) {
        let now = self.cx.now;
        self.tell_policies(|policy, cx| {
            if policy.deadline().is_some_and(|due| due <= now) {
                policy.elapse(cx);
            }
        });
    }
}

/// What policies are told of every request.
impl QueueState {
    /// The policies, and their context.
    #[inline(always)]
    fn qos(&mut self) -> (&mut Policies, QosCx<'_>) {
        let QueueState { clock, policies, requests, groups, woke, .. } = self;
        (policies, QosCx { now: *clock, requests, groups, woke })
    }

    /// A policy's deadline may have moved.
    #[inline(always)]
    fn wake_by_policies(&mut self) {
        let earliest = self.policies.changed();
        self.wake_by(earliest);
    }

    /// The same after a step that moves no throttle's deadline: its window begins when a bio is admitted, or by time.
    #[inline(always)]
    fn wake_by_others(&mut self) {
        if !matches!(self.policies.as_mut_slice(), [Policy::Throttle(_)]) {
            self.wake_by_policies();
        }
    }

    /// A request was given a slot.
    #[inline(never)]
    pub(in crate::queue) fn track(&mut self, rq: RequestId, bio: &Bio) {
        let (policies, mut cx) = self.qos();
        for policy in policies.as_mut_slice() {
            match policy {
                Policy::Throttle(throttle) => throttle.track(rq, Kind::of(bio)),
                Policy::Other(policy) => policy.track(&mut cx, rq, bio),
            }
        }
        self.wake_by_others();
    }

    /// A request goes to the device.
    #[inline(never)]
    pub(in crate::queue) fn tell_issued(&mut self, rq: RequestId) {
        let (policies, mut cx) = self.qos();
        for policy in policies.as_mut_slice() {
            match policy {
                Policy::Throttle(throttle) => throttle.issued(cx.now, rq),
                Policy::Other(policy) => policy.issued(&mut cx, rq),
            }
        }
        self.wake_by_others();
    }

    /// A request has ended, and still has its slot. Wake-ups are reported after its bios.
    #[inline(never)]
    pub(in crate::queue) fn tell_done(&mut self, rq: RequestId) {
        let (policies, mut cx) = self.qos();
        for policy in policies.as_mut_slice() {
            match policy {
                Policy::Throttle(throttle) => throttle.done(cx.now, rq, cx.woke),
                Policy::Other(policy) => policy.done(&mut cx, rq),
            }
        }
        self.wake_by_others();
    }

    /// A bio joined a request.
    #[inline(never)]
    pub(in crate::queue) fn tell_merged(&mut self, into: RequestId, bio: &Bio) {
        let (policies, mut cx) = self.qos();
        for policy in policies.as_mut_slice() {
            if let Policy::Other(policy) = policy {
                policy.merged(&mut cx, into, bio);
            }
        }
        self.woken();
        self.wake_by_others();
    }

    /// The first policy, from this one on, that holds the bio back, and its name.
    #[inline(never)]
    fn first_that_holds(&mut self, from: usize, task: Task, bio: &Bio) -> Option<(usize, &'static str)> {
        let (policies, mut cx) = self.qos();
        let mut policies = policies.as_mut_slice().iter_mut().enumerate().skip(from);
        let held = policies.find_map(|(nth, policy)| {
            let became = match policy {
                Policy::Throttle(throttle) => throttle.throttle(cx.now, task, Kind::of(bio)),
                Policy::Other(policy) => policy.throttle(&mut cx, task, bio),
            };
            (became == Throttled::Sleep).then(|| (nth, policy.get().name()))
        });
        self.woken();
        self.wake_by_policies();
        held
    }
}

impl Cx<'_> {
    /// The first policy that holds a new bio back.
    #[inline(always)]
    pub(in crate::queue) fn held_back(&mut self, bio: &Bio) -> Option<usize> {
        let task = self.state.slots.tasks().next();
        self.held_back_from(0, task, bio)
    }

    #[inline(always)]
    fn held_back_from(&mut self, from: usize, task: Task, bio: &Bio) -> Option<usize> {
        let (nth, by) = self.state.first_that_holds(from, task, bio)?;
        self.tell(|_| Reason::HeldByPolicy { submitter: bio.submitter, by });
        Some(nth)
    }
}
