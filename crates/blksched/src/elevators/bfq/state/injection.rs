//! How much may be injected while a queue is in service, according to measurements.
//!
//! **Rule** One more if a measured request took less than half as long again as alone, one less if more.
//! **Origin** docs/behaviour/elevators-6.1.md#b9.
//! **In the kernel** `inject_limit`, `last_serv_time_ns`, `decrease_time_jif`, `waited_rq`, `rqs_injected`.

use crate::elevators::bfq::timeouts::{Jiffy, LONG_AGO, Timeouts};
use crate::request::RequestId;

/// How much may be injected while a queue is in service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Injection {
    limit: u32,
    /// How long its requests take when nothing is injected; 0 if unknown.
    alone_ns: u64,
    /// When the limit was last decreased.
    decreased: Jiffy,
    /// Whether the next request served is to be measured.
    measures: bool,
    /// 4.19: what was served of others in this slice.
    beside: i64,
}

impl Default for Injection {
    fn default() -> Injection {
        Injection { limit: 0, alone_ns: 0, decreased: LONG_AGO, measures: false, beside: 0 }
    }
}

/// The current measurement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    /// When the request arrived.
    from_ns: u64,
    /// The request, once it is in the device.
    request: Option<RequestId>,
    /// Whether anything was injected meanwhile.
    injected: bool,
}

/// The arrival of a request that may be measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleStart {
    pub(crate) ns: u64,
    pub(crate) now: Jiffy,
    pub(crate) has_short_ttime: bool,
    /// Whether its queue is the one in service.
    pub(crate) in_service: bool,
    pub(crate) in_device: u32,
}

/// The completion of the measured request; the device still counts it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleEnd {
    pub(crate) ns: u64,
    pub(crate) now: Jiffy,
    pub(crate) in_device: u32,
    /// The greatest number of requests in the device recently.
    pub(crate) most_in_device: u32,
}

impl Sample {
    #[inline(always)]
    pub(crate) fn is_of(&self, rq: RequestId) -> bool {
        self.request == Some(rq)
    }

    /// Anything of another queue goes to the device.
    pub(crate) fn note_injected(&mut self) {
        self.injected = true;
    }

    /// A request of the queue in service goes to the device: the measured one, if one is to be measured.
    #[inline(always)]
    pub(crate) fn sent(&mut self, injection: &mut Injection, rq: RequestId) {
        if core::mem::take(&mut injection.measures) {
            self.request = Some(rq);
        }
    }

    /// Resets what was measured of a queue.
    pub(crate) fn reset(&mut self, injection: &mut Injection, now: Jiffy, has_short_ttime: bool) {
        self.request = None;
        // A queue with a long think time leaves the disk idle for long, so one injected request is tried at once; one
        // with a short think time is first measured alone.
        let limit = u32::from(!has_short_ttime);
        *injection = Injection { limit, alone_ns: 0, decreased: now, ..*injection };
    }

    /// Starts a measurement with a request of the queue in service, if it is suitable.
    pub(crate) fn prepare(&mut self, injection: &mut Injection, at: SampleStart, timeouts: &Timeouts) {
        if injection.has_settled(at.now, timeouts.injection_forgotten) {
            self.reset(injection, at.now, at.has_short_ttime);
        }
        let beside_injected = injection.is_known() && self.injected && at.in_device > 0;
        // Right after a decrease the device still has requests injected under the higher limit.
        let settled = injection.has_settled(at.now, timeouts.just_split);
        if at.in_service && (at.in_device == 0 || beside_injected) && settled {
            self.from_ns = at.ns;
            injection.measures = true;
            // Alone from the start: the reference for measurements beside injected requests.
            if at.in_device == 0 {
                self.injected = false;
            }
        }
    }

    /// The slice of the queue ends, and with it the measurement.
    pub(crate) fn forget(&mut self, injection: &mut Injection) {
        (self.injected, self.request) = (false, None);
        (injection.measures, injection.beside) = (false, 0);
    }

    /// Ends the measurement; returns the new limit if it changed.
    pub(crate) fn end(&mut self, injection: &mut Injection, at: SampleEnd) -> Option<u32> {
        let measured = InjectionMeasured {
            took_ns: at.ns - self.from_ns,
            injected: self.injected,
            // Not yet uncounted (`completed`), so 1 is this very request.
            was_alone: at.in_device == 1,
            most_in_device: at.most_in_device,
        };
        let old = injection.limit;
        if injection.learn(measured) {
            injection.decreased = at.now;
        }
        (self.request, self.injected) = (None, false);
        (injection.limit != old).then_some(injection.limit)
    }
}

/// The result of a measurement.
#[derive(Clone, Copy, Debug)]
struct InjectionMeasured {
    took_ns: u64,
    injected: bool,
    /// Whether the device had no other request.
    was_alone: bool,
    /// The greatest number of requests in the device recently.
    most_in_device: u32,
}

impl Injection {
    /// The limit of requests in the device.
    pub(crate) fn limit(&self) -> u32 {
        self.limit
    }

    /// Whether it is known how long its requests take when nothing is injected.
    pub(crate) fn is_known(&self) -> bool {
        self.alone_ns > 0
    }

    /// Whether the limit was last decreased at least so many ticks ago.
    pub(crate) fn has_settled(&self, now: Jiffy, ticks: Jiffy) -> bool {
        now >= self.decreased + ticks
    }

    /// Counts as just decreased, in a new queue.
    pub(crate) fn begin(&mut self, now: Jiffy) {
        self.decreased = now;
    }

    /// 4.19: what was served of others in this slice \[sectors\].
    pub(crate) fn beside(&self) -> i64 {
        self.beside
    }

    #[inline]
    pub(crate) fn serve_beside(&mut self, sectors: i64) {
        self.beside += sectors;
    }

    /// Restores the state that a process's queue had before it was merged.
    pub(crate) fn restore(&mut self, saved: &Injection) {
        *self = Injection { measures: self.measures, beside: self.beside, ..*saved };
    }

    /// Adjusts the limit by a measurement. True if it was decreased.
    fn learn(&mut self, at: InjectionMeasured) -> bool {
        let old = self.limit;
        let tolerable = (self.alone_ns * 3) >> 1;
        let knows = self.alone_ns > 0;
        let hurts = knows && at.injected && at.took_ns >= tolerable && old > 0;
        if hurts {
            self.limit -= 1;
        // A limit beyond what the device ever has would have no effect.
        } else if knows && at.injected && at.took_ns < tolerable && old <= at.most_in_device {
            self.limit += 1;
        }
        // The first measurement is the reference, and so is any faster one: alone, a request takes no longer.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn limit_after(alone_ns: u64, took_ns: u64, injected: bool) -> u32 {
        let mut injection = Injection { limit: 2, alone_ns, ..Injection::default() };
        injection.learn(InjectionMeasured { took_ns, injected, was_alone: false, most_in_device: 4 });
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
        injection.learn(InjectionMeasured { took_ns: 700, injected: false, was_alone: true, most_in_device: 1 });
        assert_eq!((injection.limit, injection.alone_ns), (1, 700));
    }
}
