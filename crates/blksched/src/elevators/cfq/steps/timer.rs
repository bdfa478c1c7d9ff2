//! The idle timer: the disk has idled long enough, or no longer needs to.
//!
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c16.
//! **In the kernel** `cfq_idle_slice_timer`, `cfq_del_timer`, `cfq_kick_queue`.

use crate::elevator::{Cx, Run};
use crate::elevators::cfq::data::Cfq;
use crate::elevators::cfq::state::slice::{Duty, Rest};
use crate::explain::SliceEnd;

impl Cfq {
    /// Handles the expiry of the idle timer.
    pub(in crate::elevators::cfq) fn timer_fired(&mut self, cx: &mut Cx<'_>) -> Run {
        self.timer.fired(cx);
        let now = self.now;
        if let Some(a) = self.active.queue()
            // A small request that arrived meanwhile was left to grow (`arrival`); it is dispatched now, and its slice
            // continues.
            && self.queues[a].slice.duty() == Duty::None
        {
            let queue = &self.queues[a];
            if queue.slice.is_used(now) {
                self.expire(cx, Rest::Dropped, SliceEnd::Used);
            } else if self.service.busy() == 0 {
                // No queue is left to run. This one still counts as waiting, as in the kernel.
                return Run::No;
            } else if queue.is_empty() {
                self.queues[a].window.become_shallow();
                self.expire(cx, Rest::Dropped, SliceEnd::IdledInVain);
            }
        }
        self.run_later();
        self.take_run()
    }
}
