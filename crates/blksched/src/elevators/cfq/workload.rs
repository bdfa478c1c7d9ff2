//! Kinds of load take turns: write-back, processes that are idled for, and processes that are not, class by class.
//!
//! **What for** Processes that seek would cost an idle time each; served together they keep the disk's queue full, and
//! the disk idles for all of them at once.
//! **Rule** Real time, then best effort, then the idle class. Within the class the kind whose first queue has the
//! smallest key, for `300 ms · queues of this kind / queues of the class`, write-back scaled down by
//! `slice_async/slice_sync`; what a turn leaves is kept when a queue's turn ends.
//! **Origin** note C33.3 (2.6.33).

use super::Cfq;
use super::priority::Rank;
use super::queue::Qid;
use super::service_tree::TreeAt;
use crate::elevator::Cx;
use crate::explain::{Reason, ServiceType};
use crate::time::Tick;

/// What is left of a kind's turn.
#[derive(Clone, Copy, Debug)]
struct Saved {
    left: Tick,
    rank: Rank,
    kind: ServiceType,
}

/// The kind of load being served.
#[derive(Clone, Copy, Debug)]
pub(super) struct Workload {
    pub(super) rank: Rank,
    pub(super) kind: ServiceType,
    expires: Tick,
    saved: Option<Saved>,
    /// How many queues wait, in the mean: real time and best effort.
    average: [u64; 2],
    /// Somebody in this turn sent a request after which more is to come.
    pub(super) idled_for_all: bool,
}

impl Default for Workload {
    fn default() -> Workload {
        Workload {
            rank: Rank::BestEffort,
            kind: ServiceType::Async,
            expires: 0,
            saved: None,
            average: [0; 2],
            idled_for_all: false,
        }
    }
}

impl Workload {
    fn average(&mut self, rank: Rank) -> &mut u64 {
        &mut self.average[usize::from(rank == Rank::RealTime)]
    }

    /// The mean of the queues of a class, with `busy` of them now: it rises fast and falls slowly.
    pub(super) fn averaged(&mut self, rank: Rank, busy: u64) -> u64 {
        let average = self.average(rank);
        *average = (3 * (*average).max(busy) + (*average).min(busy) + 2) / 4;
        *average
    }

    pub(super) fn nobody_waits(&mut self) {
        self.saved = None;
    }

    /// A queue's turn ends: its kind may go on later.
    pub(super) fn save(&mut self, now: Tick) {
        let left = self.expires.wrapping_sub(now);
        let Workload { rank, kind, .. } = *self;
        self.saved = ((left as i64) > 0).then_some(Saved { left, rank, kind });
    }

    fn resume(&mut self, now: Tick) {
        match self.saved {
            Some(Saved { left, rank, kind }) => {
                (self.expires, self.rank, self.kind) = (now.wrapping_add(left), rank, kind);
            }
            None => self.expires = now.wrapping_sub(1),
        }
    }

    fn is_over(&self, now: Tick) -> bool {
        (now.wrapping_sub(self.expires) as i64) > 0
    }
}

impl Cfq {
    /// All processes of a class should have a turn within so many ticks.
    pub(super) fn target(&self) -> Tick {
        u64::from(self.jiffies.hz()) * 3 / 10
    }

    /// Whose turn is it, kind by kind?
    pub(super) fn first_of_workload(&mut self, cx: &mut Cx<'_>) -> Option<Qid> {
        let now = self.now(cx);
        self.workload.resume(now);
        let ranks = [Rank::RealTime, Rank::BestEffort].into_iter();
        self.workload.rank = ranks.into_iter().find(|&rank| self.service.busy_of(rank) > 0).unwrap_or(Rank::Idle);
        let rank = self.workload.rank;
        let tree = TreeAt::of(rank, self.workload.kind);
        if rank == Rank::Idle {
            self.workload.expires = now.wrapping_add(1);
        } else if self.service.count(tree) == 0 || self.workload.is_over(now) {
            self.next_kind(cx, now);
        }
        if self.queued == 0 {
            return None;
        }
        self.service.first_of(TreeAt::of(rank, self.workload.kind))
    }

    fn next_kind(&mut self, cx: &mut Cx<'_>, now: Tick) {
        let rank = self.workload.rank;
        let mut best: Option<(i64, ServiceType)> = None;
        for kind in [ServiceType::Async, ServiceType::SyncNoIdle, ServiceType::Sync] {
            let first = self.service.first_of(TreeAt::of(rank, kind)).map(|first| self.service.key(first));
            if let Some(key) = first.filter(|&key| best.is_none_or(|(least, _)| key < least)) {
                best = Some((key, kind));
            }
        }
        let kind = best.map_or(ServiceType::SyncNoIdle, |(_, kind)| kind);
        let length = self.kind_length(rank, kind);
        self.workload.kind = kind;
        self.workload.expires = now.wrapping_add(length);
        self.workload.idled_for_all = false;
        let length = self.jiffies.span(length);
        cx.explain(Reason::WorkloadBegan { class: rank.class(), kind, length });
    }

    /// How long a kind of load has the disk \[ticks\].
    fn kind_length(&mut self, rank: Rank, kind: ServiceType) -> Tick {
        let (target, ticks) = (self.target(), self.ticks());
        let count = |rank, kind| u64::from(self.service.count(TreeAt::of(rank, kind)));
        let class = (*self.workload.average(rank)).max(u64::from(self.service.busy_of(rank)));
        let share = target * count(rank, kind) / class.max(1);
        let length = match kind {
            ServiceType::Async => {
                let writers = count(Rank::RealTime, kind) + count(Rank::BestEffort, kind);
                let of_all = target * writers / u64::from(self.service.busy()).max(1);
                share.min(of_all) * ticks.slice_async / ticks.slice_sync.max(1)
            }
            ServiceType::SyncNoIdle | ServiceType::Sync => share.max(2 * ticks.slice_idle),
        };
        length.max(2)
    }
}
