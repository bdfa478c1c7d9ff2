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
use crate::elevators::bfq::rules::{Chains, LateMerge, Moved};
use crate::elevators::bfq::state::positions::CLOSE;
use crate::elevators::bfq::timeouts::Call;
use crate::request::{Bio, RequestId, Sector};

impl Bfq {
    fn are_compatible(&self, call: &Call<'_>, q: Qid, other: Qid) -> bool {
        let (a, b) = (&self.queues[q], &self.queues[other]);
        let entity = self.entity(q);
        !self.queues[other].slice.was_served_for(call.now, self.timeouts.merging)
            && entity.class() == self.entity(other).class()
            && !entity.is_idle_class()
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

    /// Whether no merge of a queue is planned, stable or not, and there is no queue to merge with.
    #[inline(always)]
    fn belongs_to_itself(&self, context: Cid, q: Qid) -> bool {
        (self.needs_no_positions() || self.busy.count() == 1)
            && self.queues[q].sharing.target().is_none()
            && !self.contexts[context].has_stable_target()
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
        if self.rules.late_merge == LateMerge::Dropped
            && (flash || self.queues[q].slice.was_served_for(call.now, self.timeouts.merging))
        {
            return None;
        }
        if let Some(next) = self.queues[q].sharing.target() {
            // A merge is already planned, and another search could plan a second one out of the same queue.
            return Some(if self.rules.chains == Chains::OneStep { next } else { self.end_of_chain(q) });
        }
        if !flash
            && self.is_time_for_stable_merge(call, q)
            && let Some(target) = self.contexts[context].take_stable_target()
        {
            return self.merge_stably(call, context, q, target);
        }
        // With a single busy queue there is nothing to merge with.
        if flash || self.queues[q].slice.was_served_for(call.now, self.timeouts.merging) || self.busy.count() == 1 {
            return None;
        }
        let close_to_served = at.distance(self.in_service.position()) <= CLOSE;
        if let Some(served) = self.hierarchy.in_service().filter(|&served| served != q && close_to_served)
            && self.are_compatible(call, q, served)
            && let Some(planned) = self.plan_merge(call, q, served)
        {
            return Some(planned);
        }
        let found = self.positions.closest(self.entity(q).level(), at)?;
        if found == q || !self.are_compatible(call, q, found) {
            return None;
        }
        self.plan_merge(call, q, found)
    }

    /// Moves a request from its queue to the cooperator's; returns the queue that it is now in.
    pub(super) fn move_request(&mut self, call: &mut Call<'_>, rq: RequestId, from: Qid, planned: Qid) -> Qid {
        let (context, waiter) = (self.rows[rq].context, call.rq(rq).waiter);
        let into = match (self.rules.moved, self.contexts[context].queue(waiter)) {
            (Moved::ToItsProcess, Some(present)) if present != from => present,
            _ => planned,
        };
        self.hold_request(into);
        // Its first request goes elsewhere, so it no longer counts as new when the next one arrives.
        self.queues[from].birth.mark_used();
        if self.contexts[context].queue(waiter) == Some(from) {
            self.redirect(call, context, from, into);
        }
        self.drop_request(from);
        self.rows[rq].queue = into;
        into
    }
}
