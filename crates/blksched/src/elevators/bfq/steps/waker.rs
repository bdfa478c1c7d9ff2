//! Wakers: a process that sends a request whenever a certain other process's request has completed depends on that
//! process.
//!
//! **What for** Idling for the dependent process while the request it waits for is in the other queue would be useless,
//! so the waker's request is injected.
//! **Rule** Three times within 128 idle times, a request of the same queue has completed less than 4 ms before one of
//! this queue arrived, which otherwise has a long think time. The queues that a waker wakes are listed newest first.
//! **Origin** docs/behaviour/elevators-6.1.md#b8.
//! **In the kernel** `bfq_check_waker`, `waker_bfqq`, `tentative_waker_bfqq`.

#![doc(alias = "bfq_check_waker")]
#![doc(alias = "waker_bfqq")]
#![doc(alias = "tentative_waker_bfqq")]

use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::terms::Call;
use crate::explain::Reason;

const CLOSE_NS: u64 = 4_000_000;

const WITHIN_IDLE_TIMES: u64 = 128;

impl Bfq {
    /// A request of `q` has come: right behind a completion of which queue?
    pub(super) fn look_for_waker(&mut self, call: &mut Call<'_, '_>, q: Qid) {
        let Some(last) = self.last_completed.filter(|&last| last != q) else { return };
        let long_ago = self.device.rate.last_completion_ns.is_none_or(|at| call.ns - at >= CLOSE_NS);
        // A queue that sends its next request at once was not waiting for another process.
        if self.queues[q].habits.thinks_shortly || long_ago {
            return;
        }
        let serial = self.queues[last].serial;
        let within_ns = WITHIN_IDLE_TIMES * self.slice_idle();
        if self.queues[q].waking.suspect.again(serial, call.ns, within_ns) {
            self.set_waker(q, Some(last));
            let (owner, waker) = (self.queues[q].owner, self.queues[last].owner);
            call.explain(Reason::WakerFound { owner, waker });
        }
    }

    /// `q` is among those that its waker wakes, and only there.
    pub(super) fn set_waker(&mut self, q: Qid, waker: Option<Qid>) {
        if let Some(old) = core::mem::replace(&mut self.queues[q].waking.waker, waker) {
            self.woken_links.remove(&mut self.queues[old].waking.woken, q);
        }
        if let Some(waker) = waker {
            self.woken_links.push_front(&mut self.queues[waker].waking.woken, q);
        }
    }

    /// A merged queue goes on with the waker of one that joined it.
    pub(super) fn inherit_waker(&mut self, q: Qid, from: Qid) {
        let waker = self.queues[from].waking.waker;
        if waker.is_some() && waker != Some(q) && self.queues[q].waking.waker.is_none() {
            self.set_waker(q, waker);
            self.queues[q].waking.suspect.serial = None;
        }
    }

    /// `q` is busy: it is the one woken last.
    pub(super) fn was_woken(&mut self, q: Qid) {
        if let Some(waker) = self.queues[q].waking.waker {
            self.set_waker(q, Some(waker));
        }
    }

    /// The queue is gone: it wakes no other queue, and none wakes it.
    pub(super) fn forget_waking(&mut self, q: Qid) {
        self.set_waker(q, None);
        while let Some(woken) = self.queues[q].waking.woken.first() {
            self.set_waker(woken, None);
        }
    }
}
