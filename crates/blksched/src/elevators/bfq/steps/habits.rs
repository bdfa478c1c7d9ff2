//! What an arrival says about its queue: how long it thought, how far it went, how much it does.
//!
//! **Origin** docs/behaviour/elevators-6.1.md#b2.
//! **In the kernel** `bfq_update_io_thinktime`, `bfq_update_has_short_ttime`, `bfq_update_io_seektime`,
//! `bfq_update_io_intensity`.

#![doc(alias = "bfq_update_io_thinktime")]
#![doc(alias = "bfq_update_has_short_ttime")]
#![doc(alias = "bfq_update_io_seektime")]
#![doc(alias = "bfq_update_io_intensity")]

use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::state::habits::seeks;
use crate::elevators::bfq::terms::Call;
use crate::explain::RaisingEnd;
use crate::request::RequestId;

impl Bfq {
    /// A request has come to a queue.
    pub(super) fn note_think_time(&mut self, call: &Call<'_, '_>, q: Qid) {
        let idle = self.slice_idle();
        let queue = &mut self.queues[q];
        if queue.in_device == 0 && !queue.busy {
            queue.habits.think.add(call.ns.wrapping_sub(queue.habits.last_end_ns), idle);
        }
    }

    /// Does it think shortly? Injection begins anew if that has changed.
    pub(super) fn judge_think_time(&mut self, call: &Call<'_, '_>, q: Qid, process_is_gone: bool) {
        let idle = self.slice_idle();
        let queue = &self.queues[q];
        let watched = call.now > queue.birth.split + self.terms.new_start;
        if !queue.is_sync() || self.is_idle_class(q) || idle == 0 || !watched {
            return;
        }
        let too_long = queue.habits.think.believed().is_some_and(|mean| mean > idle / 2);
        let shortly = !(process_is_gone || too_long);
        if shortly == queue.habits.thinks_shortly {
            return;
        }
        let settled = call.now >= queue.injection.decreased + self.terms.injection_settles;
        let unknown = queue.injection.alone_ns == 0;
        self.queues[q].habits.thinks_shortly = shortly;
        if unknown && (settled || !shortly) {
            self.reset_injection(call, q);
        }
    }

    /// Does it seek? A queue that only seeks is not a soft real-time stream.
    pub(super) fn note_seek(&mut self, call: &mut Call<'_, '_>, q: Qid, rq: RequestId) {
        let (start, sectors) = (call.rq(rq).start, call.rq(rq).sectors);
        let seek = seeks(self.queues[q].seeks.last_end, start, sectors, self.device.rate.is_rotational());
        let queue = &mut self.queues[q];
        queue.seeks.history = queue.seeks.history << 1 | u32::from(seek);
        if queue.raising.is_soft_real_time() && queue.seeks.is_totally_seeky() {
            self.end_soft_real_time(call, q, RaisingEnd::Seeks);
        }
    }

    pub(super) fn note_position(&mut self, call: &Call<'_, '_>, q: Qid, rq: RequestId) {
        self.queues[q].seeks.last_end = call.rq(rq).end();
    }

    pub(super) fn watch_intensity(&mut self, call: &Call<'_, '_>, q: Qid) {
        let queue = &mut self.queues[q];
        let ran_empty = queue.is_empty() && queue.in_device == 0;
        queue.habits.watch(call.ns, ran_empty, queue.birth.is_new);
    }
}
