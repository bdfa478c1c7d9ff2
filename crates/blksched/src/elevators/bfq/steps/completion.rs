//! A request completes: it updates the statistics of the device and its queue, and the disk may be left idle.
//!
//! **Origin** docs/behaviour/elevators-6.1.md#b13.
//! **In the kernel** `bfq_completed_request`, `bfq_finish_requeue_request`.

use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::device::ncq::{Load, Ncq};
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::rules::SoftStart;
use crate::elevators::bfq::state::raising::RaisingKind;
use crate::elevators::bfq::state::slice_end::{Until, Why};
use crate::elevators::bfq::timeouts::Call;
use crate::explain::Reason;
use crate::request::RequestId;

impl Bfq {
    #[inline(always)]
    pub(in crate::elevators::bfq) fn completed(&mut self, call: &mut Call<'_>, rq: RequestId) {
        let q = self.rows[rq].queue;
        if self.sample.is_of(rq) {
            self.end_sample(&mut call.apart(), q);
        }
        self.watch_device(call);
        self.device.returned();
        if self.device.rate.completed(call.ns) {
            self.rate_changed(&mut call.apart());
        }
        let mut queue = &mut self.queues[q];
        queue.habits.completed(call.ns);
        if queue.returned(call.now) {
            self.come_to_rest(q);
            queue = &mut self.queues[q];
        }
        // A shared queue cannot be a waker: its request may be that of any of several processes.
        self.wakers.completed((!queue.sharing.is_shared()).then_some(q));
        // In the usual case it has more requests and time left, and nothing is to be decided.
        let goes_on = !queue.is_empty() && !queue.slice.is_out_of_time(call.now);
        let is_quiet = queue.in_device() == 0 && queue.is_empty();
        // When its slice ended the device still had requests of it, so its rate could not yet be determined. An
        // interactive queue is excluded: while it starts, its rate says nothing about later.
        let computes = queue.raising().kind() != RaisingKind::Interactive || self.rules.soft_start == SoftStart::Always;
        if queue.raising().soft_is_open() && is_quiet && computes {
            self.note_soft_real_time(call.now, q);
        }
        if self.hierarchy.in_service() == Some(q) && !goes_on {
            self.go_on_after(&mut call.apart(), q);
        }
    }

    #[inline(always)]
    fn watch_device(&mut self, call: &mut Call<'_>) {
        let too_few = |q: Qid| {
            let queue = &self.queues[q];
            let of_queue = queue.in_device() + queue.sorted.len();
            queue.habits.has_short_ttime() && Ncq::too_few(self.device.in_device(), of_queue)
        };
        let says_nothing = self.hierarchy.in_service().is_some_and(too_few);
        let load = Load { in_device: self.device.in_device(), queued: self.queued, says_nothing };
        if let Some(queues) = self.device.ncq.completed(load) {
            call.explain(Reason::DiskQueues { queues });
        }
    }

    /// Uncounts a request of `q` in the device.
    #[inline]
    pub(in crate::elevators::bfq) fn left_device(&mut self, call: &Call<'_>, q: Qid) {
        self.device.returned();
        if self.queues[q].returned(call.now) {
            self.come_to_rest(q);
        }
    }

    /// Decides whether to idle for the queue in service, or to end its slice, when one of its requests has completed.
    fn go_on_after(&mut self, call: &mut Call<'_>, q: Qid) {
        let nothing_in_device = self.queues[q].in_device() == 0;
        // Tested first: a slice that is out of time is not ended while its queue must be waited for; `idling_is_over`
        // ends it.
        if self.must_idle(q) {
            if nothing_in_device {
                self.begin_idling(call, q);
            }
        } else if self.may_expire(call, q) {
            self.expire(call, q, Why::OutOfTime, Until::Now);
        } else if self.queues[q].is_empty() && (nothing_in_device || !self.idling_is_better(q)) {
            self.say_not_idled(call, q);
            self.expire(call, q, Why::NothingQueued, Until::Now);
        }
    }
}
