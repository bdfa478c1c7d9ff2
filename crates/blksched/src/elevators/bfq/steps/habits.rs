//! Updates from an arrival: the queue's think time, seek distance and I/O intensity.
//!
//! **Origin** docs/behaviour/elevators-6.1.md#b2.
//! **In the kernel** `bfq_update_io_thinktime`, `bfq_update_has_short_ttime`, `bfq_update_io_seektime`,
//! `bfq_update_io_intensity`.

use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::timeouts::Call;

impl Bfq {
    /// Notes that a queue's think time has become short, or long, and resets injection.
    pub(super) fn changes_its_mind(&mut self, call: &Call<'_>, q: Qid, shortly: bool) {
        // The think time of the idle class counts as short from the beginning and stays so. No source says why; kept.
        if self.entity(q).is_idle_class() {
            return;
        }
        let queue = &mut self.queues[q];
        let settled = queue.injection.has_settled(call.now, self.timeouts.injection_settles);
        queue.habits.set_short_ttime(shortly);
        // The reset waits until the limit has settled if the think time has become short, but not if it has become
        // long. No source says why; kept.
        if !queue.injection.is_known() && (settled || !shortly) {
            self.sample.reset(&mut queue.injection, call.now, shortly);
        }
    }
}
