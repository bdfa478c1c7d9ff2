//! Kinds of load are served in rotation: write-back, processes that are idled for, and processes that are not, class by
//! class.
//!
//! **What for** Processes that seek would cost an idle time each; served together they keep the disk's queue full, and
//! the disk idles for all of them at once.
//! **Rule** Of the group that is due: real time, then best effort, then the idle class. Within the class the kind whose
//! first queue has the smallest key, for `target · queues of this kind / queues of the class`, write-back scaled down
//! by `slice_async/slice_sync`; the rest of a slice is saved, per group, when a queue's slice ends. `target` is 300 ms,
//! in 4.20 the group's part of `target_latency`.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c33.3 (2.6.33); docs/behaviour/elevators-4.20.md#x.14 and #g.5.
//! **In the kernel** `choose_service_tree`, in 4.20 `choose_wl_class_and_type`, `cfq_choose_wl`, `workload_expires`,
//! `serving_type`, `cfq_group_slice`, `cfq_choose_wl_type`.

use crate::elevator::Cx;
use crate::elevators::cfq::data::Cfq;
use crate::elevators::cfq::ids::{Gid, Qid};
use crate::elevators::cfq::rules::Trees;
use crate::elevators::cfq::state::service_trees::TreeAt;
use crate::elevators::cfq::state::vdisktime::WHOLE;
use crate::elevators::ioprio::IoprioClass;
use crate::explain::{Reason, ServiceType};
use crate::time::Tick;

impl Cfq {
    /// The time within which each process of a class should have a slice.
    fn target(&self) -> Tick {
        match self.rules.trees {
            Trees::InGroups => self.ticks.target_latency,
            _ => self.second() * 3 / 10,
        }
    }

    /// One group's part of that time.
    pub(super) fn group_target(&self, g: Gid) -> Tick {
        match self.rules.trees {
            Trees::InGroups => self.target().saturating_mul(self.groups[g].share.fraction()) / WHOLE,
            _ => self.target(),
        }
    }

    /// Saves the rest of the kind's slice when a queue's slice ends.
    pub(super) fn save_workload(&mut self, q: Qid) {
        let rest = self.workload.rest(self.now);
        self.groups[self.queues[q].group].save(rest);
    }

    /// The queue to be served next: the first of the kind of load that is due in the group that is due.
    pub(super) fn first_of_workload(&mut self, cx: &mut Cx<'_>) -> Option<Qid> {
        let (now, g) = (self.now, self.due_group());
        if self.workload.move_to(g) {
            cx.explain(Reason::GroupServed { group: self.groups[g].id });
        }
        self.workload.resume(now, self.groups[g].saved());
        let before = self.workload.class();
        let classes = [IoprioClass::RealTime, IoprioClass::BestEffort].into_iter();
        let class = classes.into_iter().find(|&class| self.service.busy_of(g, class) > 0).unwrap_or(IoprioClass::Idle);
        self.workload.set_class(class);
        let tree = TreeAt::of(g, class, self.workload.kind());
        // 2.6.33 does not test whether this time was given to the same class, so a class that has just become busy may
        // use what another one left. 4.20 does.
        let goes_on = (class == before || self.rules.trees == Trees::ByWorkload)
            && self.service.count(tree) > 0
            && !self.workload.is_over(now);
        if class == IoprioClass::Idle {
            // The idle class has one tree, and one jiffy at a time, so that any other class that arrives is served at
            // once.
            self.workload.set_expires(now.wrapping_add(self.jiffy));
        } else if !goes_on {
            self.next_kind(cx, now);
        }
        // Queues may be on trees without queued requests (since 2.6.33). The kind of load has been chosen nevertheless,
        // as in the kernel, and its time runs.
        if self.queued == 0 {
            return None;
        }
        self.service.first_of(TreeAt::of(g, class, self.workload.kind()))
    }

    fn next_kind(&mut self, cx: &mut Cx<'_>, now: Tick) {
        let (group, class) = (self.workload.group(), self.workload.class());
        let mut best: Option<(i64, ServiceType)> = None;
        for kind in [ServiceType::Async, ServiceType::SyncNoIdle, ServiceType::Sync] {
            let first = self.service.first_of(TreeAt::of(group, class, kind)).map(|first| self.service.key(first));
            if let Some(key) = first.filter(|&key| best.is_none_or(|(least, _)| key < least)) {
                best = Some((key, kind));
            }
        }
        let kind = best.map_or(ServiceType::SyncNoIdle, |(_, kind)| kind);
        let length = self.kind_length(group, class, kind);
        self.workload.begin(kind, now.wrapping_add(length));
        let length = self.unit.span(length);
        cx.explain(Reason::WorkloadBegan { class: class.class(), kind, length });
    }

    /// The slice of a kind of load.
    fn kind_length(&self, g: Gid, class: IoprioClass, kind: ServiceType) -> Tick {
        let (target, ticks) = (self.group_target(g), self.ticks);
        let count = |class, kind| u64::from(self.service.count(TreeAt::of(g, class, kind)));
        let average = self.groups[g].average(class);
        let of_class = average.max(u64::from(self.service.busy_of(g, class)));
        let share = target.saturating_mul(count(class, kind)) / of_class.max(1);
        let length = match kind {
            ServiceType::Async => {
                let writers = count(IoprioClass::RealTime, kind) + count(IoprioClass::BestEffort, kind);
                // Write-back queues are weighed against all queues of the disk, not only against those of their group;
                // otherwise the write-back of a group with little else would hold the disk for most of the group's
                // slice.
                let of_all = self.target().saturating_mul(writers) / u64::from(self.service.busy()).max(1);
                share.min(of_all).saturating_mul(ticks.slice_async) / ticks.slice_sync.max(1)
            }
            // A single wait for the next request would use up anything shorter.
            ServiceType::SyncNoIdle | ServiceType::Sync => share.max(2 * ticks.slice_idle),
        };
        // At least two jiffies, even where time is counted in nanoseconds; no source says why. Kept.
        length.max(2 * self.jiffy)
    }
}
