//! The idle timer expires: no request arrived, and the slice ends.
//!
//! **Origin** docs/behaviour/elevators-6.1.md#b11.
//! **In the kernel** `bfq_idle_slice_timer`, `bfq_idle_slice_timer_body`.

use crate::elevator::Run;
use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::state::slice_end::{Until, Why};
use crate::elevators::bfq::timeouts::Call;

impl Bfq {
    /// Handles the expiry of the idle timer.
    pub(in crate::elevators::bfq) fn idling_is_over(&mut self, call: &mut Call<'_>) -> Run {
        self.idling.end();
        call.cx.wake_at(None);
        if let Some(q) = self.hierarchy.in_service() {
            self.queues[q].slice.set_waits(false);
            if self.queues[q].slice.is_out_of_time(call.now) {
                self.expire(call, q, Why::OutOfTime, Until::IdlingBegan);
            } else if self.queues[q].is_empty() {
                // The time that the disk was left idle is not counted; otherwise a fast queue would look slow (`pace`).
                self.expire(call, q, Why::IdledInVain, Until::IdlingBegan);
            }
        }
        self.run_if_queued()
    }
}
