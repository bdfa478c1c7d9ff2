//! Preemption: when an arrival takes the disk from the active queue.
//!
//! **Rule** the list of tests in [`why`], which differs by era ([`Preemption`]).
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c8; docs/behaviour/elevators-4.20.md#x.19.
//! **Costs when wrong** real time waits for a slice of 100 ms, or slices end for nothing.
//! **In the kernel** `cfq_should_preempt`, `cfq_preempt_queue`.

use crate::elevators::cfq::rules::Preemption;
use crate::elevators::cfq::state::queue::CfqQueue;
use crate::elevators::cfq::state::slice::{Duty, Idle};
use crate::explain::Preempt;
use crate::request::Waiter;
use crate::time::Tick;

/// The inputs of the tests, computed one by one: those after the deciding test are not needed.
pub(crate) trait Arrival {
    /// The active queue.
    fn active(&self) -> &CfqQueue;
    /// The queue of the arriving request.
    fn arriving(&self) -> &CfqQueue;
    fn waiter(&self) -> Waiter;
    fn meta(&self) -> bool;
    /// Whether the active queue's slice is used up.
    fn slice_used(&self) -> bool;
    /// Whether the arriving queue's group is neither the active queue's group nor an ancestor of it.
    fn foreign(&self) -> bool;
    /// Whether both queues are seeky (until 2.6.33 also alone in their tree) and the active one is empty.
    fn fellow_seekers(&self) -> bool;
    /// Whether the active queue is empty and not worth idling for.
    fn abandoned(&self) -> bool;
    /// Whether the disk idles and the request is close.
    fn close(&self) -> bool;
}

/// Whether it is obvious that no test succeeds, which is the usual case: the active queue is synchronous and has
/// requests and time left, and the arrival has no higher priority. Then the tests can be skipped.
#[inline(always)]
pub(crate) fn nothing_speaks_for_it(active: &CfqQueue, new: &CfqQueue, meta: bool, now: Tick) -> bool {
    active.is_sync()
        && !active.is_idle_class()
        && !active.is_empty()
        && active.slice.idle() == Idle::No
        && !new.is_real_time()
        && !meta
        && !active.slice.is_used(now)
}

/// The first test that succeeds.
#[inline(always)]
pub(crate) fn why(rule: Preemption, of: &impl Arrival) -> Option<Preempt> {
    match rule {
        Preemption::Close | Preemption::CloseOnce => by_closeness(of),
        Preemption::ClassFirst | Preemption::SameGroup => by_class(rule, of),
    }
}

fn by_closeness(of: &impl Arrival) -> Option<Preempt> {
    // Until 2.6.32 this test comes first, so even the idle class takes the disk from a queue whose slice is over.
    if of.slice_used() {
        return Some(Preempt::SliceUsed);
    }
    if of.arriving().is_idle_class() {
        return None;
    }
    if of.active().is_idle_class() {
        return Some(Preempt::IdleClass);
    }
    if is_sync_over_async(of) {
        return Some(Preempt::SyncOverAsync);
    }
    if has_more_metadata(of) {
        return Some(Preempt::Metadata);
    }
    if is_real_time_over_others(of) {
        return Some(Preempt::RealTime);
    }
    of.close().then_some(Preempt::Close)
}

#[inline(always)]
fn by_class(rule: Preemption, of: &impl Arrival) -> Option<Preempt> {
    let (active, new) = (of.active(), of.arriving());
    if new.is_idle_class() {
        return None;
    }
    if active.is_idle_class() {
        return Some(Preempt::IdleClass);
    }
    // Until 2.6.32 this test is missing, and any sync request takes the disk from real-time write-back.
    if active.is_real_time() && !new.is_real_time() {
        return None;
    }
    let own_group = rule == Preemption::SameGroup;
    // 4.20: unless the write-back must dispatch first (`must_dispatch`).
    if is_sync_over_async(of) && (!own_group || active.slice.duty() == Duty::None) {
        return Some(Preempt::SyncOverAsync);
    }
    // Between groups the shares decide: preemption across groups would let a process exceed its group's share.
    if own_group && of.foreign() {
        return None;
    }
    if of.slice_used() {
        return Some(Preempt::SliceUsed);
    }
    if own_group && is_real_time_over_others(of) {
        return Some(Preempt::RealTime);
    }
    // Among seeky queues the disk idles for the whole tree rather than for one queue (`steps/workload.rs`), so an
    // arrival from any of their processes ends the idling.
    if of.fellow_seekers() {
        return Some(Preempt::FellowSeeker);
    }
    if has_more_metadata(of) {
        return Some(Preempt::Metadata);
    }
    if !own_group && is_real_time_over_others(of) {
        return Some(Preempt::RealTime);
    }
    if own_group && of.abandoned() {
        return Some(Preempt::Abandoned);
    }
    of.close().then_some(Preempt::Close)
}

#[inline(always)]
fn is_sync_over_async(of: &impl Arrival) -> bool {
    of.waiter() == Waiter::Sync && !of.active().is_sync()
}

/// Whether the arrival is metadata and the active queue has none; of two queues with metadata neither takes precedence.
#[inline(always)]
fn has_more_metadata(of: &impl Arrival) -> bool {
    of.meta() && of.active().meta == 0
}

#[inline(always)]
fn is_real_time_over_others(of: &impl Arrival) -> bool {
    of.arriving().is_real_time() && !of.active().is_real_time()
}
