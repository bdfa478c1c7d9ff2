//! Do all compete as equals? Then fairness needs no idling.
//!
//! **Rule** Not if weights differ and the queue has not the lowest of them, if two classes are busy, or if groups
//! compete. Until 6.1 groups do as soon as any but the root was woken and is not yet at rest; since 6.6, if queues of
//! two or more, the root included, are busy or have requests in the device. So a group that is alone counts in 6.1, and
//! later not.
//! **Origin** docs/behaviour/elevators-6.1.md#b11, docs/behaviour/elevators-6.12-6.18.md#g9. **Costs when wrong**
//! idling for shares that nobody competes for, and write-back that costs three times its size where it should cost
//! once.
//! **In the kernel** `bfq_asymmetric_scenario`, `num_groups_with_pending_reqs`.

#![doc(alias = "bfq_asymmetric_scenario")]
#![doc(alias = "num_groups_with_pending_reqs")]

use super::Bfq;
use super::entity::Node;
use super::qid::Qid;

/// When do groups compete?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Competition {
    /// As soon as one is woken, until a queue below it comes to rest with nobody else active there (6.1).
    Woken,
    /// When two have queues with something to do (6.6 and later).
    TwoPending,
}

impl Competition {
    pub(super) fn of(variant: &str) -> Competition {
        if variant == "woken" { Competition::Woken } else { Competition::TwoPending }
    }
}

impl Bfq {
    /// Would a share come out wrong if nobody idled?
    pub(super) fn is_asymmetric(&self, q: Qid) -> bool {
        let groups = match self.scheduling.competition {
            Competition::Woken => self.woken_groups > 0,
            Competition::TwoPending => self.pending_groups > 1,
        };
        self.weights.favour_others(self.queues[q].held_by.counted)
            || self.busy.iter().filter(|&&busy| busy != 0).count() >= 2
            || groups
    }

    /// A queue has something to do, here or in the device.
    pub(super) fn begin_pending(&mut self, q: Qid) {
        if self.queues[q].pending_in.is_some() {
            return;
        }
        let level = self.entity(q).level;
        self.queues[q].pending_in = Some(level);
        self.levels[level].pending += 1;
        self.pending_groups += u32::from(self.levels[level].pending == 1);
    }

    /// It has nothing to do any more.
    pub(super) fn stop_pending(&mut self, q: Qid) {
        let Some(level) = self.queues[q].pending_in.take() else { return };
        self.levels[level].pending -= 1;
        self.pending_groups -= u32::from(self.levels[level].pending == 0);
    }

    /// An entity comes to a tree; a group counts from then on.
    pub(super) fn wake_group(&mut self, n: Node) {
        let Some(level) = n.as_group() else { return };
        let woken = core::mem::replace(&mut self.levels[level].woken, true);
        self.woken_groups += u32::from(!woken);
    }

    /// A queue has come to rest: so have the groups above it in which nobody is active.
    pub(super) fn come_to_rest(&mut self, q: Qid) {
        self.stop_pending(q);
        let mut at = self.entity(q).level;
        while let Some(n) = self.group_above(at) {
            if self.levels[at].next.is_some() || self.levels[at].in_service.is_some() {
                break;
            }
            let woken = core::mem::replace(&mut self.levels[at].woken, false);
            self.woken_groups -= u32::from(woken);
            at = self.entities[n].level;
        }
        self.stop_counting(q);
    }
}
