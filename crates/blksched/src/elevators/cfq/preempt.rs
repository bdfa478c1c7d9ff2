//! A request that goes first: when an arrival takes the disk from the queue being served.
//!
//! **Rule** the ladder in [`why`], which differs by era ([`Preemption`]).
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c8; docs/behaviour/elevators-4.20.md#x.19. **Costs when wrong** real
//! time waits for a slice of 100 ms, or slices end for nothing.
//! **In the kernel** `cfq_should_preempt`, `cfq_preempt_queue`.

#![doc(alias = "cfq_should_preempt")]
#![doc(alias = "cfq_preempt_queue")]

use super::Cfq;
use super::cooperator::ClosePurpose;
use super::qid::Qid;
use super::queue::CfqQueue;
use super::service_tree::{InsertPosition, Trees, kind};
use super::slice::{Progress, Rest};
use crate::elevator::Cx;
use crate::explain::{Preempt, ServiceType, SliceEnd};
use crate::request::{RequestId, Waiter};

/// Who may preempt, in which order that is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preemption {
    /// Whoever is close while the disk idles; a real-time queue takes over even if it has been waiting (2.6.31).
    Close,
    /// Whoever is close, once per cooperator (2.6.32).
    CloseOnce,
    /// Classes first; a seeky queue that shares its tree with one other (2.6.33).
    ClassFirst,
    /// The same, but only of the group being served or one above it, or over write-back that does not have to go. Any
    /// seeky queue over one that is empty; and anybody over one that is empty and not worth idling for (4.20).
    SameGroup,
}

/// What the ladder looks at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival<'a> {
    pub(super) active: &'a CfqQueue,
    pub(super) new: &'a CfqQueue,
    pub(super) waiter: Waiter,
    pub(super) meta: bool,
    /// The active queue's time is up.
    pub(super) slice_used: bool,
    /// The new queue's group is neither the active one's nor above it.
    pub(super) foreign: bool,
    /// Both queues seek (until 2.6.33: and share their tree with nobody), and the active one is empty.
    pub(super) fellow_seekers: bool,
    /// The active queue is empty and not worth idling for.
    pub(super) abandoned: bool,
    /// The disk idles, and the request is close by.
    pub(super) close: bool,
}

/// The first rung that says yes.
pub(super) fn why(rule: Preemption, arrival: &Arrival<'_>) -> Option<Preempt> {
    let Arrival { active, new, waiter, meta, slice_used, foreign, fellow_seekers, abandoned, close } = *arrival;
    let sync_over_async = waiter == Waiter::Sync && !active.is_sync();
    let metadata = (meta && active.meta == 0, Preempt::Metadata);
    let real_time = (new.is_real_time() && !active.is_real_time(), Preempt::RealTime);
    let first = |rungs: &[(bool, Preempt)]| rungs.iter().find(|(yes, _)| *yes).map(|&(_, why)| why);
    let idle_class = (active.is_idle_class(), Preempt::IdleClass);
    let sync = (sync_over_async, Preempt::SyncOverAsync);
    let used = (slice_used, Preempt::SliceUsed);
    let close = (close, Preempt::Close);
    match rule {
        Preemption::Close | Preemption::CloseOnce => {
            if slice_used {
                return Some(Preempt::SliceUsed);
            }
            if new.is_idle_class() {
                return None;
            }
            first(&[idle_class, sync, metadata, real_time, close])
        }
        Preemption::ClassFirst | Preemption::SameGroup => {
            if new.is_idle_class() {
                return None;
            }
            if active.is_idle_class() {
                return Some(Preempt::IdleClass);
            }
            if active.is_real_time() && !new.is_real_time() {
                return None;
            }
            let fellow = (fellow_seekers, Preempt::FellowSeeker);
            if rule == Preemption::ClassFirst {
                return first(&[sync, used, fellow, metadata, real_time, close]);
            }
            if sync_over_async && !active.slice.must_dispatch {
                return Some(Preempt::SyncOverAsync);
            }
            if foreign {
                return None;
            }
            first(&[used, real_time, fellow, metadata, (abandoned, Preempt::Abandoned), close])
        }
    }
}

impl Cfq {
    pub(super) fn should_preempt(&mut self, cx: &Cx<'_>, n: Qid, rq: RequestId) -> Option<Preempt> {
        let a = self.active?;
        let (active, new, request) = (&self.queues[a], &self.queues[n], cx.rq(rq));
        let idles = self.active_process.is_some() && active.slice.waits_for_request;
        let close = idles && self.is_close(request.start, ClosePurpose::Preemption);
        let once =
            self.rules.preemption != Preemption::CloseOnce || !new.sharing.cooperates || self.service.busy() == 1;
        let arrival = Arrival {
            active,
            new,
            waiter: request.waiter,
            meta: request.hints.meta,
            slice_used: active.slice.is_used(self.now(cx)),
            foreign: !self.groups.is_within(active.group, new.group),
            abandoned: active.is_empty() && !self.should_idle(cx, a),
            fellow_seekers: self.are_fellow_seekers(active, new),
            close: close && once,
        };
        let why = why(self.rules.preemption, &arrival);
        if why == Some(Preempt::Close) && self.rules.preemption == Preemption::CloseOnce {
            let sharing = &mut self.queues[n].sharing;
            (sharing.cooperates, sharing.preempted) = (true, true);
        }
        why
    }

    fn are_fellow_seekers(&self, active: &CfqQueue, new: &CfqQueue) -> bool {
        let pair = self.rules.preemption == Preemption::SameGroup
            || new.served_in.is_some_and(|tree| self.service.count(tree) == 2);
        self.rules.trees != Trees::Single
            && self.workload.kind == ServiceType::SyncNoIdle
            && kind(new) == ServiceType::SyncNoIdle
            && pair
            && active.is_empty()
    }

    /// The queue being served gives way to `n`.
    pub(super) fn preempt(&mut self, cx: &mut Cx<'_>, n: Qid, why: Preempt) {
        let old_kind = self.active.map(|a| kind(&self.queues[a]));
        self.expire(cx, Rest::Kept, SliceEnd::Preempted(why));
        if self.rules.preemption == Preemption::SameGroup && old_kind != Some(kind(&self.queues[n])) {
            self.groups[self.queues[n].group].saved = None;
        }
        self.service_add(cx, n, InsertPosition::Front);
        self.queues[n].slice.progress = Progress::Fresh;
    }
}
