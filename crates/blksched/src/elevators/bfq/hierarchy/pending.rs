//! Which groups have pending requests, by either of the two ways of counting them.
//!
//! **Rule** Until 6.1 a group counts from its activation until it is idle; since 6.6 while its queues are busy or have
//! requests in the device.
//! **Origin** docs/behaviour/elevators-6.12-6.18.md#g9.
//! **In the kernel** `num_groups_with_pending_reqs`, `bfq_add_bfqq_in_groups_with_pending_reqs`.

use crate::elevators::bfq::hierarchy::Hierarchy;
use crate::elevators::bfq::hierarchy::entity::Node;
use crate::elevators::bfq::ids::Qid;

impl Hierarchy {
    /// Counts a queue that has pending requests, here or in the device.
    pub(crate) fn begin_pending(&mut self, q: Qid) {
        if self.entity(q).pending_in.is_some() {
            return;
        }
        let level = self.entity(q).level;
        self.entities[Node::queue(q)].pending_in = Some(level);
        self.levels[level].pending += 1;
        self.pending_groups += u32::from(self.levels[level].pending == 1);
    }

    /// Uncounts a queue without pending requests.
    pub(crate) fn stop_pending(&mut self, q: Qid) {
        let Some(level) = self.entities[Node::queue(q)].pending_in.take() else { return };
        self.levels[level].pending -= 1;
        self.pending_groups -= u32::from(self.levels[level].pending == 0);
    }

    /// Counts a group that is activated.
    pub(crate) fn wake_group(&mut self, n: Node) {
        let Some(level) = n.as_group() else { return };
        let woken = core::mem::replace(&mut self.levels[level].woken, true);
        self.woken_groups += u32::from(!woken);
    }

    /// Uncounts a queue that has become idle, and the groups above it in which no queue is active. True if its weight
    /// was counted until now.
    pub(crate) fn come_to_rest(&mut self, q: Qid) -> bool {
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
        self.stop_counting(q)
    }

    pub(crate) fn count_weight(&mut self, q: Qid) {
        let entity = &mut self.entities[Node::queue(q)];
        if entity.counted.is_none() {
            entity.counted = Some(entity.weight);
            self.weights.add(entity.weight);
        }
    }

    /// True if it was counted.
    pub(crate) fn stop_counting(&mut self, q: Qid) -> bool {
        let counted = self.entities[Node::queue(q)].counted.take();
        if let Some(weight) = counted {
            self.weights.remove(weight);
        }
        counted.is_some()
    }
}
