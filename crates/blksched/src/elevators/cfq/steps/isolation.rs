//! `group_isolation`: whether processes that seek stay in their own group.
//!
//! **What for** Processes that seek are served together (`workload`); with a tree of them in each group, the disk would
//! idle once per group. So unless the user requests isolation, they all count for the root.
//! **Rule** With `group_isolation` off, a queue that the disk does not idle for is put into the root's tree, and back
//! into its own group's when that changes. Like any change of tree, this happens when the queue is reinserted.
//! **Origin** the kernel's `Documentation/cgroups/blkio-controller.txt` of 2.6.33. No recording covers it: `+groups` on
//! 2.6.33 combines 4.20's groups with 2.6.33's other rules.
//! **In the kernel** `group_isolation`.

use crate::elevators::cfq::data::Cfq;
use crate::elevators::cfq::ids::{Gid, Qid, ROOT};
use crate::elevators::cfq::rules::Grouping;
use crate::elevators::cfq::tunables::V2_6_33;
use crate::explain::ServiceType;

impl Cfq {
    /// The group that a queue counts for from now on, if that changes.
    pub(super) fn next_group(&self, q: Qid) -> Option<Gid> {
        if self.rules.groups == Grouping::Off || self.knobs.kernel != V2_6_33 {
            return None;
        }
        let queue = &self.queues[q];
        let in_root = !self.knobs.group_isolation && queue.kind() == ServiceType::SyncNoIdle;
        let next = if in_root { ROOT } else { queue.own_group };
        (next != queue.group).then_some(next)
    }
}
