//! Processes that change their group, and groups that are removed.
//!
//! **Rule** The group of a process is that of its last bio. When that changes, its own queue moves with all its queued
//! requests; a shared one is left behind, as is the write-back of the other group. The queues of a removed group move
//! to the root, whatever its parent was.
//! **Origin** docs/behaviour/elevators-6.12-6.18.md#g2, #g3, #g11, #amendment-a9 and, counts per queue or per device do
//! not change, #amendment-a10.
//! **In the kernel** `bfq_bic_update_cgroup`, `bfq_bfqq_move`, `bfq_pd_offline`, `bfq_reparent_active_queues`.

use crate::elevator::Run;
use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::hierarchy::entity::{EntityPlace, Node};
use crate::elevators::bfq::hierarchy::wf2q::{Afterwards, Return, Service};
use crate::elevators::bfq::ids::{Cid, Qid, ROOT};
use crate::elevators::bfq::state::slice_end::{Until, Why};
use crate::elevators::bfq::timeouts::Call;
use crate::elevators::ioprio::IoprioClass;
use crate::explain::Preempt;
use crate::request::{GroupId, Waiter};

impl Bfq {
    /// Handles a process's change of group, noticed at its next bio.
    #[inline]
    pub(in crate::elevators::bfq) fn notice_group(&mut self, call: &mut Call<'_>, context: Cid, level: usize) -> Run {
        let serial = self.hierarchy.serial_of(level);
        if self.contexts[context].was_in_group(serial) {
            return Run::No;
        }
        self.change_group(call, context, level, serial)
    }

    #[inline(never)]
    fn change_group(&mut self, call: &mut Call<'_>, context: Cid, level: usize, serial: u64) -> Run {
        let [sync, write_back] = [Waiter::Sync, Waiter::Async].map(|waiter| self.contexts[context].queue(waiter));
        if let Some(q) = write_back.filter(|&q| self.entity(q).level() != level) {
            self.contexts[context].use_queue(Waiter::Async, None);
            self.drop_process(call, q);
        }
        let run = sync.map_or(Run::No, |q| self.follow(call, context, q, level));
        self.contexts[context].join_group(serial);
        run
    }

    /// Moves a process's own queue to the new group; a shared one stays behind.
    fn follow(&mut self, call: &mut Call<'_>, context: Cid, q: Qid, level: usize) -> Run {
        let sharing = self.queues[q].sharing;
        // If it moved, a shared queue would take the other processes' requests into a group that is not theirs.
        if sharing.target().is_none() && !sharing.is_shared() {
            return self.move_queue(call, q, level);
        }
        let chain = core::iter::successors(Some(q), |&at| self.queues[at].sharing.target());
        if chain.into_iter().all(|at| self.entity(at).level() == level) {
            return Run::No;
        }
        self.contexts[context].use_queue(Waiter::Sync, None);
        self.drop_plans(q);
        self.drop_process(call, q);
        Run::No
    }

    /// Moves a queue to another group.
    fn move_queue(&mut self, call: &mut Call<'_>, q: Qid, to: usize) -> Run {
        if self.entity(q).level() == to {
            return Run::No;
        }
        // Held, so that it is not released in between.
        self.queues[q].sharing.hold_stable();
        if self.hierarchy.in_service() == Some(q) {
            self.expire(call, q, Why::Preempted(Preempt::Moved), Until::Now);
        }
        if self.queues[q].is_busy() {
            self.deactivate_queue(call, q, Afterwards::Forgotten, Service::GoesOn);
        } else if self.entity(q).place() == EntityPlace::Idle {
            self.hierarchy.forget_idle_entity(Node::queue(q));
            self.release_left();
        }
        self.hierarchy.forget_last_made(q);
        self.position_remove(q);
        let pending = self.entity(q).is_pending();
        self.hierarchy.stop_pending(q);
        self.entity_mut(q).move_to(to);
        if pending {
            self.hierarchy.begin_pending(q);
        }
        if self.queues[q].is_busy() {
            self.position_add(call, q);
            self.activate_queue(call, q, Return::Now, Service::GoesOn);
        }
        self.drop_stable(q);
        if self.hierarchy.in_service().is_none() && self.device.in_device() == 0 { Run::Soon } else { Run::No }
    }

    /// Removes a group: its queues with pending requests move to the root.
    pub(in crate::elevators::bfq) fn group_gone(&mut self, call: &mut Call<'_>, id: GroupId) -> Run {
        let Some(level) = self.hierarchy.take_level(id) else { return Run::No };
        let mut run = Run::No;
        for class in IoprioClass::ALL {
            while let Some(q) = self.hierarchy.active_queue(level, class) {
                run = run.max(self.move_queue(call, q, ROOT));
            }
            while let Some(q) = self.hierarchy.served_queue(level) {
                run = run.max(self.move_queue(call, q, ROOT));
            }
            while self.hierarchy.forget_one_idle(level, class) {
                self.release_left();
            }
        }
        self.hierarchy.deactivate_group(level);
        self.release_left();
        // New write-back uses other queues; requests already queued are dispatched from these.
        while let Some(q) = self.write_back.take_one_of(level) {
            self.drop_process(call, q);
        }
        self.hierarchy.remove_level(level);
        run
    }
}
