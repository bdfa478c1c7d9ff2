//! Do all compete as equals? Then fairness needs no idling.
//!
//! **Rule** Not if weights differ and the queue has not the lowest of them, if two classes are busy, or if groups
//! compete. Until 6.1 groups do as soon as any but the root was woken and is not yet at rest; since 6.6, if queues of
//! two or more, the root included, are busy or have requests in the device. So a group that is alone counts in 6.1, and
//! later not.
//! **Origin** docs/behaviour/elevators-6.1.md#b11, docs/behaviour/elevators-6.12-6.18.md#g9. **Costs when wrong**
//! idling for shares for which no other queue competes, and write-back that costs three times its size where it should
//! cost once.
//! **In the kernel** `bfq_asymmetric_scenario`, `num_groups_with_pending_reqs`.

#![doc(alias = "bfq_asymmetric_scenario")]
#![doc(alias = "num_groups_with_pending_reqs")]

use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::rules::Competition;

impl Bfq {
    /// Would a share come out wrong without idling?
    pub(super) fn is_asymmetric(&self, q: Qid) -> bool {
        let groups = match self.rules.competition {
            Competition::Woken => self.hierarchy.woken_groups > 0,
            Competition::TwoPending => self.hierarchy.pending_groups > 1,
        };
        self.hierarchy.weights.favour_others(self.entity(q).counted)
            || self.busy.iter().filter(|&&busy| busy != 0).count() >= 2
            || groups
    }
}
