//! A queue's place among the positions where queues are found to merge with.
//!
//! **Origin** docs/behaviour/elevators-6.1.md#b10.
//! **In the kernel** `bfq_pos_tree_add_move`, `bfq_too_late_for_merging`.

use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::rules::Cooperators;
use crate::elevators::bfq::timeouts::Call;

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
        let (level, idle_class) = (entity.level(), entity.is_idle_class());
        match self.queues[q].next {
            Some(next) if !idle_class && !self.queues[q].slice.was_served_for(call.now, self.timeouts.merging) => {
                self.positions.put(level, q, call.rq(next).start);
            }
            _ => self.positions.remove(level, q),
        }
    }

    pub(super) fn position_remove(&mut self, q: Qid) {
        let level = self.entity(q).level();
        self.positions.remove(level, q);
    }

    /// Whether queues do not merge because of their positions: on flash that queues, since 5.10.
    #[inline(always)]
    pub(super) fn needs_no_positions(&self) -> bool {
        self.device.ncq.is_flash_that_queues() && self.rules.cooperators == Cooperators::NotOnFlash
    }
}
