//! Injection: while the disk is the queue's that was served last, and that is empty, requests of others go as far as
//! they do it no harm.
//!
//! **What for** Idling guarantees shares and costs throughput; a disk that queues can do something else meanwhile.
//! **Rule** In this order, if it fits into that queue's budget: the process's own write-back; the queue that wakes this
//! one; the first of those that this one wakes; any other, as long as the device has fewer requests than the queue's
//! limit. The limit follows from measuring: it goes up while a request served beside injected ones takes less than
//! one and a half times as long as alone, and down otherwise.
//! **Origin** docs/behaviour/elevators-6.1.md#b8. A rule that raises a limit of 0 after the idle time compares
//! different clocks in 6.1 and has no effect there, nor here.
//! **In the kernel** `bfq_choose_bfqq_for_injection`, `bfq_update_inject_limit`, `inject_limit`,
//! `bfq_reset_inject_limit`.

#![doc(alias = "bfq_choose_bfqq_for_injection")]
#![doc(alias = "bfq_update_inject_limit")]
#![doc(alias = "inject_limit")]
#![doc(alias = "bfq_reset_inject_limit")]

use super::Bfq;
use super::habits::LARGE;
use super::qid::Qid;
use super::terms::{Call, Jiffy, LONG_AGO};
use crate::explain::{Injected, Reason};
use crate::request::{RequestId, Waiter};

/// How much may be injected while a queue has the disk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Injection {
    /// Requests in the device.
    pub(super) limit: u32,
    /// How long its requests take when nothing is injected, if known; else 0.
    pub(super) alone_ns: u64,
    /// When the limit last went down.
    pub(super) decreased: Jiffy,
    /// The next request served is to be measured.
    measures: bool,
}

impl Default for Injection {
    fn default() -> Injection {
        Injection { limit: 0, alone_ns: 0, decreased: LONG_AGO, measures: false }
    }
}

/// The measurement that is on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    /// When the request came.
    from_ns: u64,
    /// The request, once it is with the device.
    request: Option<RequestId>,
    /// Something was injected meanwhile.
    injected: bool,
}

/// What a measurement says.
#[derive(Clone, Copy, Debug)]
struct Measured {
    took_ns: u64,
    injected: bool,
    /// The device had nothing else.
    was_alone: bool,
    /// The most requests that the device has had of late.
    most_in_device: u32,
}

impl Injection {
    /// What was known of a process before it shared a queue.
    pub(super) fn restore(&mut self, saved: &Injection) {
        *self = Injection { measures: self.measures, ..*saved };
    }

    /// True if the limit went down.
    fn learn(&mut self, at: Measured) -> bool {
        let old = self.limit;
        let tolerable = (self.alone_ns * 3) >> 1;
        let knows = self.alone_ns > 0;
        let hurts = knows && at.injected && at.took_ns >= tolerable && old > 0;
        if hurts {
            self.limit -= 1;
        } else if knows && at.injected && at.took_ns < tolerable && old <= at.most_in_device {
            self.limit += 1;
        }
        if (!knows && at.was_alone) || at.took_ns < self.alone_ns {
            if !knows {
                self.limit = old.max(1);
            }
            self.alone_ns = at.took_ns;
        } else if !at.injected && at.was_alone {
            self.alone_ns = at.took_ns;
        }
        hurts
    }
}

impl Bfq {
    /// Somebody else's queue that may send a request while `q` has the disk and is empty.
    pub(super) fn injected(&mut self, call: &mut Call<'_, '_>, q: Qid) -> Option<Qid> {
        let queue = &self.queues[q];
        let may_go = |other: &Qid| self.queues[*other].busy && self.has_room(call, *other);
        let (found, why) = if let Some(own) = self.own_write_back(call, q).filter(may_go) {
            (own, Injected::OwnWriteBack)
        } else if let Some(waker) = queue.waking.waker.filter(may_go) {
            (waker, Injected::Waker)
        } else if let Some(woken) = queue.waking.woken.first().filter(may_go) {
            (woken, Injected::Woken)
        } else if !self.idling_is_faster(q)
            && (!queue.is_raised() || self.raised_busy > 1 || !queue.habits.thinks_shortly)
        {
            let found = self.any_to_inject(call, q)?;
            self.sample.injected = true;
            (found, Injected::Harmless)
        } else {
            return None;
        };
        let (into, from) = (self.queues[q].owner, self.queues[found].owner);
        call.explain(Reason::Injected { into, from, why });
        Some(found)
    }

    /// Write-back of the process itself, if that is next in its queue.
    fn own_write_back(&self, call: &Call<'_, '_>, q: Qid) -> Option<Qid> {
        let owner = self.queues[q].sharing.sole?;
        let context = self.contexts.find(owner)?;
        let own = self.contexts[context].queues[Waiter::Async]?;
        let next = self.queues[own].next?;
        (call.rq(next).submitter == owner).then_some(own)
    }

    fn any_to_inject(&self, call: &Call<'_, '_>, q: Qid) -> Option<Qid> {
        let queue = &self.queues[q];
        let limit = queue.injection.limit;
        if self.in_device >= limit {
            return None;
        }
        self.active_links.iter(self.active).find(|&other| {
            let there = &self.queues[other];
            let Some(next) = there.next else { return false };
            let harmless = !queue.is_raised() || !queue.habits.thinks_shortly || there.is_raised();
            if !harmless || !self.has_room(call, other) {
                return false;
            }
            let large = !self.rate.is_rotational() && call.rq(next).sectors >= LARGE;
            self.in_device < if large { limit.min(1) } else { limit }
        })
    }

    /// What was learnt is forgotten.
    pub(super) fn reset_injection(&mut self, call: &Call<'_, '_>, q: Qid) {
        self.sample.request = None;
        let limit = u32::from(!self.queues[q].habits.thinks_shortly);
        let measures = self.queues[q].injection.measures;
        self.queues[q].injection = Injection { limit, alone_ns: 0, decreased: call.now, measures };
    }

    /// A request has come for the queue in service: does it make a measurement?
    pub(super) fn prepare_sample(&mut self, call: &Call<'_, '_>, q: Qid) {
        if call.now >= self.queues[q].injection.decreased + self.terms.injection_forgotten {
            self.reset_injection(call, q);
        }
        let injection = self.queues[q].injection;
        let beside_injected = injection.alone_ns > 0 && self.sample.injected && self.in_device > 0;
        let settled = call.now >= injection.decreased + self.terms.just_split;
        if self.in_service == Some(q) && (self.in_device == 0 || beside_injected) && settled {
            self.sample.from_ns = call.ns;
            self.queues[q].injection.measures = true;
            if self.in_device == 0 {
                self.sample.injected = false;
            }
        }
    }

    /// The request to be measured goes to the device.
    pub(super) fn begin_sample(&mut self, q: Qid, rq: RequestId) {
        if core::mem::take(&mut self.queues[q].injection.measures) {
            self.sample.request = Some(rq);
        }
    }

    pub(super) fn forget_sample(&mut self, q: Qid) {
        self.sample.injected = false;
        self.queues[q].injection.measures = false;
        self.sample.request = None;
    }

    /// A request of `q` has come back; the device still counts it.
    pub(super) fn end_sample(&mut self, call: &mut Call<'_, '_>, q: Qid, rq: RequestId) {
        if self.sample.request != Some(rq) {
            return;
        }
        let at = Measured {
            took_ns: call.ns - self.sample.from_ns,
            injected: self.sample.injected,
            was_alone: self.in_device == 1,
            most_in_device: self.ncq.most_in_device(),
        };
        let injection = &mut self.queues[q].injection;
        let old = injection.limit;
        if injection.learn(at) {
            injection.decreased = call.now;
        }
        let limit = injection.limit;
        self.sample.request = None;
        self.sample.injected = false;
        if limit != old {
            call.explain(Reason::InjectionLimit { owner: self.queues[q].owner, limit });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit_after(alone_ns: u64, took_ns: u64, injected: bool) -> u32 {
        let mut injection = Injection { limit: 2, alone_ns, ..Injection::default() };
        injection.learn(Measured { took_ns, injected, was_alone: false, most_in_device: 4 });
        injection.limit
    }

    #[test]
    fn what_hurts_is_done_less_and_what_does_not_more() {
        assert_eq!(limit_after(1000, 1500, true), 1);
        assert_eq!(limit_after(1000, 1499, true), 3);
        assert_eq!(limit_after(1000, 9000, false), 2);
    }

    #[test]
    fn the_first_measurement_alone_allows_one_request() {
        let mut injection = Injection::default();
        injection.learn(Measured { took_ns: 700, injected: false, was_alone: true, most_in_device: 1 });
        assert_eq!((injection.limit, injection.alone_ns), (1, 700));
    }
}
