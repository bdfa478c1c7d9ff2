//! The paths up and down: the effect of a queue's change on its groups, and the selection of the next queue from the
//! root.
//!
//! **Rule** *Up* An activated queue is inserted into its tree, and each group above it into its parent's, as long as
//! the level below has changed: there was no next entity before, or the next one's budget is smaller. A deactivated
//! queue also deactivates the groups that become empty; the groups above those are requeued. *Down* At each level the
//! next entity is served. A queue leaves its tree for that, and so does a group with a single waiting entity; a group
//! with more stays on its tree, and may be selected again.
//! **Origin** docs/behaviour/elevators-6.12-6.18.md#g4, #g5, #g7, #amendment-a3 and #amendment-a6.
//! **Costs when wrong** After the path down, the search for the next queue stops at the first level without a change. A
//! level's next entity may then be the very group that it serves, so nothing preempts it. Kept as in the kernel.
//! **In the kernel** `for_each_entity`, `bfq_update_next_in_service`, `bfq_update_parent_budget`, `bfq_get_next_queue`.

use crate::elevators::bfq::hierarchy::Hierarchy;
use crate::elevators::bfq::hierarchy::entity::Node;
use crate::elevators::bfq::hierarchy::wf2q::{Afterwards, News, Return, Service};
use crate::elevators::bfq::ids::{Qid, ROOT};
use crate::elevators::bfq::timeouts::Jiffy;

impl Hierarchy {
    /// Activates or requeues a queue that wants service or whose budget has changed, and its groups.
    pub(crate) fn activate_queue(&mut self, now: Jiffy, q: Qid, how: Return, service: Service) {
        let served = self.in_service == Some(q);
        let mut at = Some(Node::queue(q));
        while let Some(n) = at {
            self.activate(n, how);
            let level = self.entities[n].level;
            if self.update_next(now, level, Some(n), service) == News::None && !served {
                return;
            }
            at = self.group_above(level);
        }
    }

    /// Deactivates a queue that no longer wants service, and the groups that become empty.
    pub(crate) fn deactivate_queue(&mut self, now: Jiffy, q: Qid, afterwards: Afterwards, service: Service) {
        let (mut n, mut afterwards) = (Node::queue(q), afterwards);
        let survivor = loop {
            if !self.deactivate(n, afterwards) {
                return;
            }
            let level = self.entities[n].level;
            if self.levels[level].next == Some(n) {
                self.update_next(now, level, None, service);
            }
            let Some(above) = self.group_above(level) else { return };
            // The group still wants service, and is only requeued: even if all it has is in service
            // (docs/behaviour/elevators-6.12-6.18.md#amendment-a6).
            if self.levels[level].next.is_some() || self.levels[level].in_service.is_some() {
                break above;
            }
            (n, afterwards) = (above, Afterwards::Remembered);
        };
        let mut at = Some(survivor);
        while let Some(n) = at {
            self.requeue(n);
            let level = self.entities[n].level;
            if self.update_next(now, level, Some(n), service) == News::None && service != Service::Ends {
                return;
            }
            at = self.group_above(level);
        }
    }

    /// Puts each level's next entity in service, from the top down; returns the queue.
    pub(crate) fn descend(&mut self, now: Jiffy) -> Option<Qid> {
        let mut level = ROOT;
        let q = loop {
            let n = self.levels[level].next?;
            self.levels[level].in_service = Some(n);
            let below = n.as_group();
            // A group with more than one active entity stays on its tree, so that it may be next again meanwhile.
            if below.is_none_or(|below| self.levels[below].waiting() == 1) {
                self.extract(n);
            }
            match below {
                Some(below) => level = below,
                None => break n.as_queue(),
            }
        };
        let mut at = Some(level);
        while let Some(level) = at {
            if self.update_next(now, level, None, Service::GoesOn) == News::None {
                break;
            }
            at = self.group_above(level).map(|n| self.entities[n].level);
        }
        q
    }

    /// Clears the in-service entity of this level and those above it.
    pub(crate) fn clear_service(&mut self, level: usize) {
        let mut at = Some(level);
        while let Some(level) = at {
            self.levels[level].in_service = None;
            at = self.group_above(level).map(|n| self.entities[n].level);
        }
    }

    /// Clears the service that the groups above received in a slice that is over.
    pub(crate) fn clear_group_service(&mut self, level: usize) {
        let mut at = self.group_above(level);
        while let Some(n) = at {
            self.entities[n].service = 0;
            at = self.group_above(self.entities[n].level);
        }
    }
}
