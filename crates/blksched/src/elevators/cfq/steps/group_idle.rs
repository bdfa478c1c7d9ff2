//! Idling for a group whose last queue has run empty.
//!
//! **What for** A group leaves the tree of groups as soon as it has nothing queued, and its received service is
//! forgotten. On a disk that is not idled for processes (a solid-state disk) a group that sends one request at a time
//! would never get its share.
//! **Rule** If the queue that ran empty is the only one of its group, and the group's think time does not exceed
//! `group_idle`: wait for `group_idle`. Also wait, without a timer, for the group's requests in flight; and if its
//! slice is over, extend it by `group_idle` in the hope of a request, which then begins a new slice.
//! **Origin** docs/behaviour/elevators-4.20.md#x.5, #x.9 and #x.13.
//! **Costs when wrong** 33.3 : 33.3 : 33.3 for weights 100 : 200 : 700.
//! **In the kernel** `group_idle`, `cfq_should_wait_busy`.

use crate::elevator::IdleFor;
use crate::elevators::cfq::data::Cfq;
use crate::elevators::cfq::ids::Qid;
use crate::elevators::cfq::rules::Idling;
use crate::explain::NotIdled;
use crate::time::Tick;

impl Cfq {
    /// Whether the disk idles for the group, and for how long.
    pub(super) fn worth_idling_for_group(&self, q: Qid) -> Result<(IdleFor, Tick), NotIdled> {
        let (queue, idle) = (&self.queues[q], self.ticks.group_idle);
        if self.service.in_group(queue.group) > 1 {
            return Err(NotIdled::NotAloneInGroup);
        }
        // The think time tested is the tree's, although the disk would idle for the group: as in the kernel, for no
        // known reason.
        if queue.served_in.is_some_and(|tree| self.groups.tree_ttime_is_big(tree, idle)) {
            return Err(NotIdled::NotWorthIt);
        }
        Ok((IdleFor::Group(self.groups[queue.group].id), idle))
    }

    /// Whether `q` is its group's only queue, and the group's requests in flight are expected to bring more soon.
    pub(in crate::elevators::cfq) fn group_waits(&self, q: Qid) -> bool {
        let (g, idle) = (self.queues[q].group, self.ticks.group_idle);
        self.rules.idling == Idling::TreeThinks
            && idle > 0
            && self.service.in_group(g) == 1
            && self.groups[g].in_flight() > 0
            && !self.groups[g].ttime.is_big(idle)
    }
}
