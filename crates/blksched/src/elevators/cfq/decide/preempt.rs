//! A request that goes first: when an arrival takes the disk from the queue being served.
//!
//! **Rule** the ladder in [`why`], which differs by era ([`Preemption`]).
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c8; docs/behaviour/elevators-4.20.md#x.19. **Costs when wrong** real
//! time waits for a slice of 100 ms, or slices end for nothing.
//! **In the kernel** `cfq_should_preempt`, `cfq_preempt_queue`.

#![doc(alias = "cfq_should_preempt")]
#![doc(alias = "cfq_preempt_queue")]

use crate::elevators::cfq::rules::Preemption;
use crate::elevators::cfq::state::queue::CfqQueue;
use crate::elevators::cfq::state::slice::Duty;
use crate::explain::Preempt;
use crate::request::Waiter;

/// What the ladder looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<'a> {
    pub(crate) active: &'a CfqQueue,
    pub(crate) new: &'a CfqQueue,
    pub(crate) waiter: Waiter,
    pub(crate) meta: bool,
    /// The active queue's time is up.
    pub(crate) slice_used: bool,
    /// The new queue's group is neither the active one's nor above it.
    pub(crate) foreign: bool,
    /// Both queues seek (until 2.6.33: and no third queue shares their tree), and the active one is empty.
    pub(crate) fellow_seekers: bool,
    /// The active queue is empty and not worth idling for.
    pub(crate) abandoned: bool,
    /// The disk idles, and the request is close by.
    pub(crate) close: bool,
}

/// The first rung that says yes.
pub(crate) fn why(rule: Preemption, arrival: &Arrival<'_>) -> Option<Preempt> {
    let Arrival { active, new, waiter, meta, slice_used, foreign, fellow_seekers, abandoned, close } = *arrival;
    let sync_over_async = waiter == Waiter::Sync && !active.is_sync();
    // Of two queues with metadata neither has the better claim.
    let metadata = (meta && active.meta == 0, Preempt::Metadata);
    let real_time = (new.is_real_time() && !active.is_real_time(), Preempt::RealTime);
    let idle_class = (active.is_idle_class(), Preempt::IdleClass);
    let sync = (sync_over_async, Preempt::SyncOverAsync);
    let used = (slice_used, Preempt::SliceUsed);
    let close = (close, Preempt::Close);
    match rule {
        Preemption::Close | Preemption::CloseOnce => {
            // Until 2.6.32 this is asked first, so even the idle class takes the disk from a slice that is over.
            if slice_used {
                return Some(Preempt::SliceUsed);
            }
            if new.is_idle_class() {
                return None;
            }
            first([idle_class, sync, metadata, real_time, close])
        }
        Preemption::ClassFirst | Preemption::SameGroup => {
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
            // Where queues seek, the disk idles for the tree and not for one of them (`steps/workload.rs`): an arrival
            // ends that idling, whichever process sent it.
            let fellow = (fellow_seekers, Preempt::FellowSeeker);
            if rule == Preemption::ClassFirst {
                return first([sync, used, fellow, metadata, real_time, close]);
            }
            // 4.20: unless that write-back has to go (`must_dispatch`).
            if sync_over_async && active.slice.duty == Duty::None {
                return Some(Preempt::SyncOverAsync);
            }
            // Between groups shares decide: a process that could take the disk across groups would take its group's
            // share.
            if foreign {
                return None;
            }
            first([used, real_time, fellow, metadata, (abandoned, Preempt::Abandoned), close])
        }
    }
}

/// A row of branches, because the compiler knows how many rungs there are.
#[inline(always)]
fn first<const N: usize>(rungs: [(bool, Preempt); N]) -> Option<Preempt> {
    for (yes, why) in rungs {
        if yes {
            return Some(why);
        }
    }
    None
}
