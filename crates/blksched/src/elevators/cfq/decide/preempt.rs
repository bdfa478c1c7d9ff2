//! Preemption: when an arrival takes the disk from the active queue.
//!
//! **Rule** the list of tests in [`why`], which differs by era ([`Preemption`]).
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c8; docs/behaviour/elevators-4.20.md#x.19.
//! **Costs when wrong** real time waits for a slice of 100 ms, or slices end for nothing.
//! **In the kernel** `cfq_should_preempt`, `cfq_preempt_queue`.

#![doc(alias = "cfq_should_preempt")]
#![doc(alias = "cfq_preempt_queue")]

use crate::elevators::cfq::rules::Preemption;
use crate::elevators::cfq::state::queue::CfqQueue;
use crate::elevators::cfq::state::slice::{Duty, Idle};
use crate::explain::Preempt;
use crate::request::Waiter;
use crate::time::Tick;

/// What the ladder looks at, rung by rung: what stands behind the one that decides is not asked.
pub(crate) trait Arrival {
    /// The queue being served.
    fn active(&self) -> &CfqQueue;
    /// The queue of the request that came.
    fn arriving(&self) -> &CfqQueue;
    fn waiter(&self) -> Waiter;
    fn meta(&self) -> bool;
    /// The active queue's time is up.
    fn slice_used(&self) -> bool;
    /// The arriving queue's group is neither the active one's nor above it.
    fn foreign(&self) -> bool;
    /// Both queues seek (until 2.6.33: and no third queue shares their tree), and the active one is empty.
    fn fellow_seekers(&self) -> bool;
    /// The active queue is empty and not worth idling for.
    fn abandoned(&self) -> bool;
    /// The disk idles, and the request is close by.
    fn close(&self) -> bool;
}

/// Does no rung say yes, as mostly? A queue of a process that reads on is served, with requests and time left, and
/// nothing of higher rank has come: then the ladder need not be asked.
#[inline(always)]
pub(crate) fn nothing_speaks_for_it(active: &CfqQueue, new: &CfqQueue, meta: bool, now: Tick) -> bool {
    active.is_sync()
        && !active.is_idle_class()
        && !active.is_empty()
        && active.slice.idle == Idle::No
        && !new.is_real_time()
        && !meta
        && !active.slice.is_used(now)
}

/// The first rung that says yes.
#[inline(always)]
pub(crate) fn why(rule: Preemption, of: &impl Arrival) -> Option<Preempt> {
    match rule {
        Preemption::Close | Preemption::CloseOnce => by_closeness(of),
        Preemption::ClassFirst | Preemption::SameGroup => by_class(rule, of),
    }
}

fn by_closeness(of: &impl Arrival) -> Option<Preempt> {
    // Until 2.6.32 this is asked first, so even the idle class takes the disk from a slice that is over.
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
    // Until 2.6.32 this is not asked, and any sync request took the disk from real-time write-back.
    if active.is_real_time() && !new.is_real_time() {
        return None;
    }
    let own_group = rule == Preemption::SameGroup;
    // 4.20: unless that write-back has to go (`must_dispatch`).
    if is_sync_over_async(of) && (!own_group || active.slice.duty == Duty::None) {
        return Some(Preempt::SyncOverAsync);
    }
    // Between groups shares decide: a process that could take the disk across groups would take its group's share.
    if own_group && of.foreign() {
        return None;
    }
    if of.slice_used() {
        return Some(Preempt::SliceUsed);
    }
    if own_group && is_real_time_over_others(of) {
        return Some(Preempt::RealTime);
    }
    // Where queues seek, the disk idles for the tree and not for one of them (`steps/workload.rs`): an arrival ends
    // that idling, whichever process sent it.
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

/// Of two queues with metadata neither has the better claim.
#[inline(always)]
fn has_more_metadata(of: &impl Arrival) -> bool {
    of.meta() && of.active().meta == 0
}

#[inline(always)]
fn is_real_time_over_others(of: &impl Arrival) -> bool {
    of.arriving().is_real_time() && !of.active().is_real_time()
}
