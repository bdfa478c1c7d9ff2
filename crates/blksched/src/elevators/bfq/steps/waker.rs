//! Wakers: a process that sends a request whenever a certain other process's request has completed depends on that
//! process.
//!
//! **What for** Idling for the dependent process while the request it waits for is in the other queue would be useless,
//! so the waker's request is injected.
//! **Rule** A queue is the waker of this one if, three times within 128 idle times, one of its requests completed less
//! than 4 ms before one of this queue arrived, and this queue has a long think time. The queues that a waker wakes are
//! listed newest first. In 5.15 the three times may be any time apart. 4.19 has no wakers, and in 5.10 they have no
//! effect, so none is detected.
//! **Origin** docs/behaviour/elevators-6.1.md#b8; docs/behaviour/elevators-4.19-5.15.md#v2 and #w7.
//! **In the kernel** `bfq_check_waker`, `waker_bfqq`, `tentative_waker_bfqq`.

use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::rules::Wakers;
use crate::elevators::bfq::timeouts::Call;
use crate::explain::Reason;

const CLOSE_NS: u64 = 4_000_000;

const WITHIN_IDLE_TIMES: u64 = 128;

impl Bfq {
    /// Counts the queue of the last completion as a possible waker of `q`, which has got a request.
    pub(super) fn check_waker(&mut self, call: &mut Call<'_>, q: Qid) {
        let Some(last) = self.wakers.last_completed().filter(|&last| last != q) else { return };
        let within_ns = match self.rules.wakers {
            Wakers::Off => return,
            Wakers::AnyTime => u64::MAX,
            Wakers::Window => WITHIN_IDLE_TIMES * self.slice_idle(),
        };
        let long_ago = self.device.rate.last_completion_ns.is_none_or(|at| call.ns - at >= CLOSE_NS);
        // A queue with a short think time was not waiting for another process.
        if self.queues[q].habits.has_short_ttime() || long_ago {
            return;
        }
        let serial = self.queues[last].serial();
        if self.wakers.suspect(q, (last, serial), call.ns, within_ns) {
            let (owner, waker) = (self.queues[q].owner(), self.queues[last].owner());
            call.explain(Reason::WakerFound { owner, waker });
        }
    }
}
