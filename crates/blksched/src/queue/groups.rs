//! The queue's groups: created, changed and removed while it runs.
//!
//! **Rule** An elevator is told of a group before its first bio. A bio of a group that was not announced creates it,
//! with the default weight, below the root. A new elevator is told of all groups, parents first, right after `attach`.
//! **In the kernel** `blkcg_gq`, `blkg_create`.

use alloc::vec::Vec;

use super::step::Step;
use super::{BlockQueue, Listener};
use crate::elevator::Elevator;
use crate::group::{Group, GroupError, Groups};
use crate::request::{Bio, GroupId};
use crate::time::Instant;

impl<L: Listener> BlockQueue<L> {
    /// Creates a group, or changes its weights. An elevator without groups takes them and serves all alike:
    /// [`BlockQueue::shares_by_weight`] says so.
    ///
    /// # Errors
    /// If a weight is out of range, its parent does not exist, or it has another parent already; nothing has changed
    /// then.
    pub fn set_group(&mut self, now: Instant, id: GroupId, group: Group) -> Result<(), GroupError> {
        let mut step = self.at(now);
        step.announce(id, group)?;
        step.changed();
        Ok(())
    }

    /// Removes a group: no further bio of it arrives; its queued bios are still served.
    ///
    /// # Errors
    /// If the group does not exist, has child groups, or is the root.
    pub fn remove_group(&mut self, now: Instant, id: GroupId) -> Result<(), GroupError> {
        let mut step = self.at(now);
        step.cx.state.groups.remove(id)?;
        step.ungate(id);
        step.elevator.ungroup(&mut step.cx, id);
        step.tell_policies(|policy, cx| policy.ungroup(cx, id));
        step.changed();
        step.unplug_if_asked();
        Ok(())
    }

    /// Whether the elevator shares the disk by the groups' weights, as BFQ does, and CFQ of 4.20 with `+groups=on`. If
    /// not, weights change nothing (the controllers' files, such as `io.max`, have an effect under every elevator).
    pub fn shares_by_weight(&self) -> bool {
        self.elevator.shares_by_weight()
    }

    /// The existing groups.
    pub fn groups(&self) -> &Groups {
        &self.state.groups
    }
}

impl Step<'_, dyn Elevator> {
    /// A bio has arrived: its group exists from now on.
    ///
    /// # Panics
    /// If its number is beyond [`crate::group::MOST_GROUPS`].
    pub(super) fn meet_group(&mut self, bio: &Bio) {
        if self.cx.state.groups.get(bio.group).is_none() {
            // That alone changes no answer; the bio itself may.
            self.announce(bio.group, Group::default()).expect("a bio's group number is small");
        }
    }

    pub(super) fn announce(&mut self, id: GroupId, group: Group) -> Result<(), GroupError> {
        self.cx.state.groups.set(id, group)?;
        self.cx.state.gate.group(id, group.parent);
        self.elevator.group(&mut self.cx, id, group);
        self.tell_policies(|policy, cx| policy.group(cx, id, group));
        Ok(())
    }

    /// Announces every group to a new elevator.
    pub(super) fn introduce_groups(&mut self) {
        let groups: Vec<_> = self.cx.state.groups.iter().collect();
        for (id, group) in groups {
            self.elevator.group(&mut self.cx, id, group);
        }
    }
}
