//! Whether all queues compete as equals; if so, fairness needs no idling.
//!
//! **Rule** They do not if weights differ and the queue does not have the lowest one, if two classes are busy, or if
//! groups compete. Until 6.1 groups compete as soon as any group except the root is active; since 6.6, if queues of two
//! or more groups, including the root, are busy or have requests in the device. So a single group counts in 6.1, but
//! not later. In 4.19 two weights are enough, whatever the queue's own, and classes do not count.
//! **Origin** docs/behaviour/elevators-6.1.md#b11, docs/behaviour/elevators-6.12-6.18.md#g9,
//! docs/behaviour/elevators-4.19-5.15.md#y1.
//! **Costs when wrong** idling for shares for which no other queue competes, and write-back charged three times its
//! size where it should be charged once.
//! **In the kernel** `bfq_asymmetric_scenario`, `num_groups_with_pending_reqs`.

use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::rules::{Asymmetry, Competition};

impl Bfq {
    /// Whether the queue's share would be wrong without idling.
    pub(super) fn is_asymmetric(&self, q: Qid) -> bool {
        let groups = match self.rules.competition {
            Competition::Woken => self.hierarchy.a_group_is_woken(),
            Competition::TwoPending => self.hierarchy.several_groups_are_pending(),
        };
        if self.rules.asymmetry == Asymmetry::Weights {
            return self.hierarchy.weights().differ() || groups;
        }
        self.hierarchy.weights().favour_others(self.entity(q).counted()) || self.busy.several_classes() || groups
    }
}
