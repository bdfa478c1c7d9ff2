//! Injection: while the in-service queue is empty, requests of other queues are dispatched as far as they do not harm
//! it.
//!
//! **What for** Idling guarantees shares and costs throughput; a disk that queues commands can serve others meanwhile.
//! **Rule** In this order, if it fits into that queue's budget: the process's own write-back; this queue's waker; the
//! first of the queues that this one wakes; any other, as long as the device has fewer requests than the queue's limit.
//! The limit follows from measurements: it rises while a request served beside injected ones takes less than one and a
//! half times as long as alone, and falls otherwise.
//! 4.19 measures nothing: while a queue that seeks on flash is waited for, others get up to a tenth of its service.
//! **Origin** docs/behaviour/elevators-6.1.md#b8; docs/behaviour/elevators-4.19-5.15.md#y4. A rule that raises a limit
//! of 0 after the idle time compares different clocks in 6.1, so it has no effect there and is left out here.
//! **In the kernel** `bfq_choose_bfqq_for_injection`, `bfq_update_inject_limit`, `inject_limit`,
//! `bfq_reset_inject_limit`.

use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::rules::InjectionRule;
use crate::elevators::bfq::state::habits::LARGE;
use crate::elevators::bfq::state::injection::SampleEnd;
use crate::elevators::bfq::timeouts::Call;
use crate::explain::{Injected, Reason};
use crate::request::Waiter;

impl Bfq {
    /// Another queue that may dispatch a request while `q` is in service and empty.
    pub(super) fn injected(&mut self, call: &mut Call<'_>, q: Qid) -> Option<Qid> {
        if self.rules.injection == InjectionRule::BesideSeekers {
            return self.beside_seeker(call, q);
        }
        let queue = &self.queues[q];
        let may_go = |&other: &Qid| {
            let there = &self.queues[other];
            there.is_busy() && self.has_room(call, other, there)
        };
        let (found, why) = if let Some(own) = self.own_write_back(call, q).filter(may_go) {
            (own, Injected::OwnWriteBack)
        } else if let Some(waker) = self.wakers.waker(q).filter(may_go) {
            (waker, Injected::Waker)
        } else if let Some(woken) = self.wakers.first_woken(q).filter(may_go) {
            (woken, Injected::Woken)
        } else if !self.idling_is_faster(q)
            // A raised queue that is about to send its next request would wait behind the injected ones.
            && (!queue.is_raised() || self.busy.raised() > 1 || !queue.habits.has_short_ttime())
        {
            let found = self.any_to_inject(call, q)?;
            self.sample.note_injected();
            (found, Injected::Harmless)
        } else {
            return None;
        };
        self.say_injected(call, q, found, why);
        Some(found)
    }

    fn say_injected(&self, call: &mut Call<'_>, q: Qid, found: Qid, why: Injected) {
        let (into, from) = (self.queues[q].owner(), self.queues[found].owner());
        call.explain(Reason::Injected { into, from, why });
    }

    /// 4.19: another queue, as long as those served beside `q` got less than a tenth of its service.
    fn beside_seeker(&self, call: &mut Call<'_>, q: Qid) -> Option<Qid> {
        let queue = &self.queues[q];
        let on_flash = !self.device.rate.is_rotational() && self.device.ncq.queues();
        let counted = if queue.is_sync() { queue.injection.beside() } else { 0 };
        let little = counted < 10 * self.entity(q).service();
        if !queue.seeks.is_seeky() || queue.is_raised() || !on_flash || !little {
            return None;
        }
        let found = self.hierarchy.waiting().find(|&other| self.has_room(call, other, &self.queues[other]))?;
        self.say_injected(call, q, found, Injected::Harmless);
        Some(found)
    }

    /// The write-back queue of the process itself, if a request of this process is next in it.
    fn own_write_back(&self, call: &Call<'_>, q: Qid) -> Option<Qid> {
        let owner = self.queues[q].sharing.sole()?;
        let context = self.contexts.find(owner)?;
        let own = self.contexts[context].queue(Waiter::Async)?;
        let next = self.queues[own].next?;
        (call.rq(next).submitter == owner).then_some(own)
    }

    fn any_to_inject(&self, call: &Call<'_>, q: Qid) -> Option<Qid> {
        let queue = &self.queues[q];
        let limit = queue.injection.limit();
        // The kernel is meant to try a limit of 1 instead of 0 once `slice_idle` has passed, but it compares jiffies
        // with nanoseconds. The test never succeeds, so it is left out.
        if self.device.in_device() >= limit {
            return None;
        }
        self.hierarchy.waiting().find(|&other| {
            let there = &self.queues[other];
            let Some(next) = there.next else { return false };
            let harmless = !queue.is_raised() || !queue.habits.has_short_ttime() || there.is_raised();
            if !harmless || !self.has_room(call, other, there) {
                return false;
            }
            // A large request keeps flash busy for as long as several small ones.
            let large = !self.device.rate.is_rotational() && call.rq(next).sectors >= LARGE;
            self.device.in_device() < if large { limit.min(1) } else { limit }
        })
    }

    /// Ends the measurement when the measured request of `q` completes; the device still counts it.
    #[inline(never)]
    pub(super) fn end_sample(&mut self, call: &mut Call<'_>, q: Qid) {
        let (in_device, most_in_device) = (self.device.in_device(), self.device.ncq.most_in_device());
        let at = SampleEnd { ns: call.ns, now: call.now, in_device, most_in_device };
        if let Some(limit) = self.sample.end(&mut self.queues[q].injection, at) {
            call.explain(Reason::InjectionLimit { owner: self.queues[q].owner(), limit });
        }
    }
}
