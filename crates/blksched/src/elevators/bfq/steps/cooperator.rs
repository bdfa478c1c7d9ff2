//! Close cooperators: queues that continue near each other are merged.
//!
//! **What for** Readers of one file from several processes (QEMU's I/O threads, dump, NFS servers) are one stream.
//! **Rule** A queue is merged into the one in service if its request begins within 8192 sectors of that queue's
//! position, or else into one whose next request begins within 8192 sectors of its own. Both must be of one class and
//! group and synchronous, neither may seek, and neither may have been served for more than 100 ms since it became busy.
//! Not on a non-rotational disk that queues.
//! **Origin** docs/behaviour/elevators-6.1.md#b9.
//! **Costs when wrong** which of two close queues is found depends on the shape of the position tree. It compares the
//! *current* positions of queues, although a queue is moved only when it is reinserted.
//! **In the kernel** `bfq_setup_cooperator`, `bfq_find_close_cooperator`, `bfq_rq_close_to_sector`, `rq_pos_tree`,
//! `bfq_pos_tree_add_move`, `bfq_may_be_close_cooperator`, `bfq_setup_stable_merge`.

use crate::elevators::bfq::data::{Bfq, Met};
use crate::elevators::bfq::ids::{Cid, Qid};
use crate::elevators::bfq::rules::{Chains, Cooperators, LateMerge, Moved};
use crate::elevators::bfq::state::positions::CLOSE;
use crate::elevators::bfq::timeouts::Call;
use crate::elevators::ioprio::IoprioClass;
use crate::explain::Reason;
use crate::request::{Bio, RequestId, Sector};

impl Bfq {
    /// Inserts a queue at the position of its next request, if it may be merged at all; if another queue is there, it
    /// is left out.
    #[inline(never)]
    pub(super) fn position_add(&mut self, call: &Call<'_>, q: Qid) {
        self.position_put(call, q);
    }

    /// The same, inlined for the path of each request.
    #[inline(always)]
    pub(super) fn position_put(&mut self, call: &Call<'_>, q: Qid) {
        if self.needs_no_positions() {
            return;
        }
        let entity = self.entity(q);
        let (level, idle_class) = (entity.level, entity.class == IoprioClass::Idle);
        match self.queues[q].next {
            Some(next) if !idle_class && !self.was_served_for_long(call, q) => {
                self.positions.put(level, q, call.rq(next).start);
            }
            _ => self.positions.remove(level, q),
        }
    }

    pub(super) fn position_remove(&mut self, q: Qid) {
        let level = self.entity(q).level;
        self.positions.remove(level, q);
    }

    /// Updates a queue's position without moving it in its tree.
    pub(super) fn position_moved(&mut self, q: Qid, to: Sector) {
        if self.positions.forest.contains(q) {
            self.positions.forest.rekey_anyhow(q, to);
        }
    }

    /// Whether it is too late to merge: the queue has been served for too long since it became busy.
    #[inline]
    fn was_served_for_long(&self, call: &Call<'_>, q: Qid) -> bool {
        let slice = &self.queues[q].slice;
        slice.served > 0 && call.now > slice.first_served + self.timeouts.merging
    }

    fn are_compatible(&self, call: &Call<'_>, q: Qid, other: Qid) -> bool {
        let (a, b) = (&self.queues[q], &self.queues[other]);
        let class = self.entity(q).class;
        !self.was_served_for_long(call, other)
            && class == self.entity(other).class
            && class != IoprioClass::Idle
            && self.hierarchy.same_group(q, other)
            && !a.seeks.is_seeky()
            && !b.seeks.is_seeky()
            && a.is_sync()
            && b.is_sync()
    }

    /// The queue that a process's next request, at `at`, belongs to instead of `q`.
    #[inline]
    pub(in crate::elevators::bfq) fn cooperator(
        &mut self,
        call: &mut Call<'_>,
        context: Cid,
        q: Qid,
        at: Sector,
    ) -> Option<Qid> {
        // The usual case.
        if self.belongs_to_itself(context, q) {
            None
        } else {
            self.look_for_cooperator(&mut call.apart(), context, q, at)
        }
    }

    /// Whether queues do not merge because of their positions: on flash that queues, since 5.10.
    #[inline(always)]
    pub(super) fn needs_no_positions(&self) -> bool {
        self.device.ncq.is_flash_that_queues() && self.rules.cooperators == Cooperators::NotOnFlash
    }

    /// Whether no merge of a queue is planned, stable or not, and there is no queue to merge with.
    #[inline(always)]
    fn belongs_to_itself(&self, context: Cid, q: Qid) -> bool {
        (self.needs_no_positions() || self.busy_queues() == 1)
            && self.queues[q].sharing.target.is_none()
            && self.contexts[context].stable_target.is_none()
    }

    /// Whether testing if a bio may merge could merge two queues.
    #[inline(always)]
    pub(in crate::elevators::bfq) fn may_redirect(&mut self, bio: &Bio) -> bool {
        let Some((context, q)) = self.queue_of(bio.submitter, bio.waiter) else { return false };
        let belongs = self.belongs_to_itself(context, q);
        if belongs {
            self.met = Met::Alone;
        }
        !belongs
    }

    #[inline(never)]
    fn look_for_cooperator(&mut self, call: &mut Call<'_>, context: Cid, q: Qid, at: Sector) -> Option<Qid> {
        let flash = self.needs_no_positions();
        if self.rules.late_merge == LateMerge::Dropped && (flash || self.was_served_for_long(call, q)) {
            return None;
        }
        if let Some(next) = self.queues[q].sharing.target {
            // A merge is already planned, and another search could plan a second one out of the same queue.
            return Some(if self.rules.chains == Chains::OneStep { next } else { self.end_of_chain(q) });
        }
        if !flash
            && self.is_time_for_stable_merge(call, q)
            && let Some(target) = self.contexts[context].stable_target.take()
        {
            return self.merge_stably(call, context, q, target);
        }
        // With a single busy queue there is nothing to merge with.
        if flash || self.was_served_for_long(call, q) || self.busy_queues() == 1 {
            return None;
        }
        let close_to_served = at.distance(self.served_position) <= CLOSE;
        if let Some(served) = self.hierarchy.in_service.filter(|&served| served != q && close_to_served)
            && self.are_compatible(call, q, served)
            && let Some(planned) = self.plan_merge(call, q, served)
        {
            return Some(planned);
        }
        let found = self.positions.closest(self.entity(q).level, at)?;
        if found == q || !self.are_compatible(call, q, found) {
            return None;
        }
        self.plan_merge(call, q, found)
    }

    /// Moves a request from its queue to the cooperator's; returns the queue that it is now in.
    pub(super) fn move_request(&mut self, call: &mut Call<'_>, rq: RequestId, from: Qid, planned: Qid) -> Qid {
        let (context, waiter) = (self.rows[rq].context, call.rq(rq).waiter);
        let into = match (self.rules.moved, self.contexts[context].queues[waiter]) {
            (Moved::ToItsProcess, Some(present)) if present != from => present,
            _ => planned,
        };
        self.hold_request(into);
        // Its first request goes elsewhere, so it no longer counts as new when the next one arrives.
        self.queues[from].birth.is_new = false;
        if self.contexts[context].queues[waiter] == Some(from) {
            self.redirect(call, context, from, into);
        }
        self.drop_request(from);
        self.rows[rq].queue = into;
        into
    }

    fn end_of_chain(&self, q: Qid) -> Qid {
        let mut at = q;
        while let Some(target) = self.queues[at].sharing.target {
            at = target;
        }
        at
    }

    /// Plans that the processes of `q` change to `other`, or to the end of the chain of plans from there.
    pub(super) fn plan_merge(&mut self, call: &mut Call<'_>, q: Qid, other: Qid) -> Option<Qid> {
        if self.queues[other].held_by.processes == 0 {
            return None;
        }
        let into = self.end_of_chain(other);
        let (leaving, there) = (self.queues[q].held_by.processes, self.queues[into].held_by.processes);
        // Their groups may differ by now. (MEMORY of a change of 2022, "bfq: Avoid merging queues with different
        // parents"; no recording shows it.)
        if into == q || leaving == 0 || there == 0 || !self.hierarchy.same_group(q, into) {
            return None;
        }
        self.queues[q].sharing.target = Some(into);
        self.queues[into].held_by.processes += leaving;
        call.explain(Reason::MergePlanned { from: self.queues[q].owner, into: self.queues[into].owner });
        Some(into)
    }
}
