//! Groups are announced and removed.
//!
//! **Rule** A removed group's queues live until their last request; its processes' next requests create new queues in
//! the root.
//! **Origin** docs/behaviour/elevators-4.20.md#g.6 to #g.9.
//! **In the kernel** `cfq_pd_init`, `cfq_pd_offline`, `cfq_link_cfqq_cfqg`.

use crate::elevator::Cx;
use crate::elevators::cfq::data::Cfq;
use crate::elevators::cfq::ids::{Gid, ROOT};
use crate::elevators::cfq::rules::Grouping;
use crate::group::Group;
use crate::request::GroupId;

impl Cfq {
    /// The group that a bio counts for; the root if the bio's group has been removed meanwhile.
    pub(super) fn group_of(&self, id: GroupId) -> Gid {
        match self.rules.groups {
            Grouping::Off => ROOT,
            Grouping::On => self.groups.of(id).unwrap_or(ROOT),
        }
    }

    pub(in crate::elevators::cfq) fn announce(&mut self, id: GroupId, group: Group) {
        if self.rules.groups == Grouping::On {
            let now = self.now;
            self.groups.announce(id, group, now);
            self.service.make_room(self.groups.places());
        }
    }

    /// Removes a group: its write-back queues and its processes' queues live until their last request completes.
    pub(in crate::elevators::cfq) fn group_gone(&mut self, cx: &mut Cx<'_>, id: GroupId) {
        let Some(g) = self.groups.of(id).filter(|_| self.rules.groups == Grouping::On) else { return };
        self.leave_queues_of(cx, g);
        let mut dropped = self.groups[g].take_write_back();
        // Two levels may share a queue (`steps/prepare`).
        dropped.sort_unstable();
        let mut last = None;
        for q in dropped.into_iter().flatten() {
            if last.replace(q) != Some(q) {
                self.drop_process(cx, q);
            }
        }
        self.groups.remove(id, g);
    }

    /// Detaches the processes of a removed group from their queues.
    fn leave_queues_of(&mut self, cx: &mut Cx<'_>, group: Gid) {
        for pid in self.processes.places() {
            let process = &mut self.processes[pid];
            // A free slot has no queues.
            if process.group() == group
                && let Some(sync) = process.take_queues().sync
            {
                self.drop_process(cx, sync);
            }
        }
    }
}
