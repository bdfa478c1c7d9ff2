//! The policies between merging and slots that may hold a bio back: writeback throttling, io.cost, io.latency (a
//! kernel's *rq-qos*).
//!
//! **Rule** A bio that did not merge passes every policy, the one enabled last first, and only then takes a slot; each
//! policy may put its task to sleep. A policy says which task wakes; a woken task continues after the policy that held
//! it. Policies are told of all events of the request, including its end, before its slot is returned. They exist since
//! blk-mq here; a kernel has had them since 4.10.
//! **Origin** docs/behaviour/blk-mq-6.x.md#p.3.
//! **In the kernel** `rq_qos`, `rq_qos_throttle`, `rq_qos_done`, `rq_qos_ops`.

#![doc(alias = "rq_qos_throttle")]
#![doc(alias = "rq_qos_done")]
#![doc(alias = "rq_qos_ops")]

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;
use core::cell::Cell;

use super::mq::Task;
use super::wbt;
use crate::cgroup::files::Written;
use crate::group::{Group, Groups};
use crate::request::{Bio, GroupId, Request, RequestId, Requests};
use crate::time::Instant;

/// Whether a bio may continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Throttled {
    /// It may.
    Go,
    /// Its task sleeps until the policy wakes it.
    Sleep,
}

/// What a policy may read during one call, and the tasks that it wakes.
pub struct QosCx<'a> {
    /// The time of this call.
    pub now: Instant,
    pub(super) requests: &'a Requests,
    pub(super) groups: &'a Groups,
    pub(super) woke: &'a mut Vec<Task>,
}

impl QosCx<'_> {
    /// A live request.
    pub fn rq(&self, rq: RequestId) -> &Request {
        &self.requests[rq]
    }

    /// The queue's groups.
    pub fn groups(&self) -> &Groups {
        self.groups
    }

    /// The tasks that the policy had put to sleep and now wakes; they run in this order.
    pub fn woke(&mut self) -> &mut Vec<Task> {
        self.woke
    }
}

/// A policy: a state machine that is told of events and decides which bios continue. Its only clock is `cx.now`.
///
/// A task sleeps for one bio at a time. A task's number is reused once the task has passed.
pub trait RqQos: Send + Any {
    /// The name that users know.
    fn name(&self) -> &'static str;

    /// A bio of `task` did not merge and needs a request.
    fn throttle(&mut self, cx: &mut QosCx<'_>, task: Task, bio: &Bio) -> Throttled;

    /// A task that the policy put to sleep and has woken continues with its bio.
    fn resumed(&mut self, _cx: &mut QosCx<'_>, _task: Task, _bio: &Bio) {}

    /// A bio joined a request; `throttle` was not called for it.
    fn merged(&mut self, _cx: &mut QosCx<'_>, _into: RequestId, _bio: &Bio) {}

    /// A bio that passed has a slot and became a request.
    fn track(&mut self, _cx: &mut QosCx<'_>, _rq: RequestId, _bio: &Bio) {}

    /// The driver has the request.
    fn issued(&mut self, _cx: &mut QosCx<'_>, _rq: RequestId) {}

    /// The driver returned it untried.
    fn requeued(&mut self, _cx: &mut QosCx<'_>, _rq: RequestId) {}

    /// It has ended; its slot is still taken.
    fn done(&mut self, _cx: &mut QosCx<'_>, _rq: RequestId) {}

    /// It was absorbed by another request.
    fn absorbed(&mut self, cx: &mut QosCx<'_>, _into: RequestId, victim: RequestId) {
        self.done(cx, victim);
    }

    /// A group is created, or its weights change; a policy that is enabled is told of all groups.
    fn group(&mut self, _cx: &mut QosCx<'_>, _id: GroupId, _group: Group) {}

    /// A group is removed.
    fn ungroup(&mut self, _cx: &mut QosCx<'_>, _id: GroupId) {}

    /// Something was written to a group's file; returns false if the file is another policy's.
    fn written(&mut self, _cx: &mut QosCx<'_>, _id: GroupId, _written: &Written) -> bool {
        false
    }

    /// The elevator changes. `own`: whether the new one schedules buffered writes itself (BFQ).
    fn elevator(&mut self, _cx: &mut QosCx<'_>, _own: OwnThrottling) {}

    /// How fast its clock has run since when, as parts of its full rate; `None` if it has no clock.
    fn clock_rates(&self) -> Option<Vec<(Instant, f64)>> {
        None
    }

    /// A writer slept because too much memory was dirty.
    fn dirty_wait(&mut self, _now: Instant) {}

    /// When it next must be called.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// [`RqQos::deadline`] has come.
    fn elapse(&mut self, _cx: &mut QosCx<'_>) {}
}

/// Whether an elevator schedules buffered writes itself, so that throttling them would only interfere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum OwnThrottling {
    /// It leaves them to the throttle.
    #[default]
    No,
    /// It does (BFQ).
    Yes,
}

/// One of the policies. Writeback throttling, which nearly every queue has, is known by its type: its answers are
/// compiled into the steps.
pub(super) enum Policy {
    Throttle(Box<wbt::Throttle>),
    Other(Box<dyn RqQos>),
}

impl Policy {
    pub(super) fn of(policy: Box<dyn RqQos>) -> Policy {
        if !(&*policy as &dyn Any).is::<wbt::Throttle>() {
            return Policy::Other(policy);
        }
        match (policy as Box<dyn Any>).downcast() {
            Ok(throttle) => Policy::Throttle(throttle),
            Err(_) => unreachable!("it is one"),
        }
    }

    pub(super) fn get(&self) -> &dyn RqQos {
        match self {
            Policy::Throttle(throttle) => &**throttle,
            Policy::Other(policy) => &**policy,
        }
    }

    pub(super) fn get_mut(&mut self) -> &mut dyn RqQos {
        match self {
            Policy::Throttle(throttle) => &mut **throttle,
            Policy::Other(policy) => &mut **policy,
        }
    }
}

/// The policies; the one enabled last comes first.
#[derive(Default)]
pub(crate) struct Policies {
    policies: Vec<Policy>,
    /// The earliest of their deadlines, which is read many times between two changes; `None`: something has changed.
    earliest: Cell<Option<Instant>>,
}

impl Policies {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.policies.is_empty()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.policies.iter().any(|policy| policy.get().name() == name)
    }

    #[inline]
    pub(super) fn deadline(&self) -> Option<Instant> {
        let earliest = self.earliest();
        (earliest != Instant::NEVER).then_some(earliest)
    }

    /// `Instant::NEVER` if no policy has a deadline.
    #[inline]
    pub(super) fn earliest(&self) -> Instant {
        self.earliest.get().unwrap_or_else(|| self.ask())
    }

    #[inline(never)]
    fn ask(&self) -> Instant {
        let earliest = self.policies.iter().filter_map(|policy| policy.get().deadline()).min();
        let earliest = earliest.unwrap_or(Instant::NEVER);
        self.earliest.set(Some(earliest));
        earliest
    }

    /// Whether the earliest deadline that is kept is not later than one of a policy's own.
    pub(super) fn agrees(&self) -> bool {
        self.policies.iter().filter_map(|policy| policy.get().deadline()).all(|own| self.earliest() <= own)
    }

    /// Adds a policy in front of the existing ones.
    pub(super) fn add(&mut self, policy: Box<dyn RqQos>) -> &mut dyn RqQos {
        self.earliest.set(None);
        self.policies.insert(0, Policy::of(policy));
        self.policies[0].get_mut()
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &dyn RqQos> {
        self.policies.iter().map(Policy::get)
    }

    /// A change to a policy also changes its deadline.
    #[inline]
    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut dyn RqQos> {
        self.earliest.set(None);
        self.policies.iter_mut().map(Policy::get_mut)
    }

    /// The policies, for a caller that reports when it has [changed](Policies::changed) them.
    #[inline(always)]
    pub(super) fn as_mut_slice(&mut self) -> &mut [Policy] {
        &mut self.policies
    }

    /// A policy's deadline may have moved: recompute the earliest of all.
    #[inline(always)]
    pub(super) fn changed(&mut self) -> Instant {
        match &*self.policies {
            [Policy::Throttle(throttle)] => {
                let at = throttle.due();
                self.earliest.set(Some(at));
                at
            }
            _ => self.ask(),
        }
    }
}
