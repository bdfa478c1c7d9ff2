//! The calls to the hierarchy: activation, deactivation, selection of the next queue; and the release of queues that
//! left it.
//!
//! **Rule** The hierarchy may have held the last reference to a queue that it forgets: other references decide
//! (`release`).
//! **Origin** docs/behaviour/elevators-6.1.md#b5.
//! **In the kernel** `bfq_activate_bfqq`, `bfq_deactivate_bfqq`, `bfq_requeue_bfqq`, `bfq_get_next_queue`,
//! `bfq_bfqq_served`.

use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::hierarchy::wf2q::{Afterwards, Return, Service};
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::timeouts::Call;

impl Bfq {
    /// Activates or requeues a queue that wants service or whose budget has changed.
    pub(super) fn activate_queue(&mut self, call: &Call<'_>, q: Qid, how: Return, service: Service) {
        self.hierarchy.activate_queue(call.now, q, how, service);
        self.release_left();
    }

    /// Deactivates a queue that no longer wants service.
    pub(super) fn deactivate_queue(&mut self, call: &Call<'_>, q: Qid, afterwards: Afterwards, service: Service) {
        self.hierarchy.deactivate_queue(call.now, q, afterwards, service);
        self.release_left();
    }

    /// Puts the next queue in service.
    pub(super) fn descend(&mut self, call: &Call<'_>) -> Option<Qid> {
        let next = self.hierarchy.descend(call.now);
        self.release_left();
        next
    }

    /// Notes that a queue has no pending requests, here or in the device.
    pub(super) fn come_to_rest(&mut self, q: Qid) {
        if self.hierarchy.come_to_rest(q) {
            self.release_if_unused(q);
        }
    }

    /// Releases the queues that the hierarchy has forgotten, unless other references hold them.
    #[inline]
    pub(super) fn release_left(&mut self) {
        if self.hierarchy.has_left() {
            self.release_all_left();
        }
    }

    #[inline(never)]
    fn release_all_left(&mut self) {
        let mut at = 0;
        while let Some(q) = self.hierarchy.next_departed(at) {
            self.release_if_unused(q);
            at += 1;
        }
    }
}
