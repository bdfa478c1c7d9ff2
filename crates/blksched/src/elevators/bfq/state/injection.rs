//! How much may be injected while a queue is in service, according to measurements.
//!
//! **Rule** One more if a measured request took less than half as long again as alone, one less if more.
//! **Origin** docs/behaviour/elevators-6.1.md#b9.
//! **In the kernel** `inject_limit`, `last_serv_time_ns`, `decrease_time_jif`, `waited_rq`, `rqs_injected`.

use crate::elevators::bfq::timeouts::{Jiffy, LONG_AGO};
use crate::request::RequestId;

/// How much may be injected while a queue is in service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Injection {
    /// The limit of requests in the device.
    pub(crate) limit: u32,
    /// How long its requests take when nothing is injected; 0 if unknown.
    pub(crate) alone_ns: u64,
    /// When the limit was last decreased.
    pub(crate) decreased: Jiffy,
    /// Whether the next request served is to be measured.
    pub(crate) measures: bool,
    /// 4.19: what was served of others in this slice.
    pub(crate) beside: i64,
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
    pub(crate) from_ns: u64,
    /// The request, once it is in the device.
    pub(crate) request: Option<RequestId>,
    /// Whether anything was injected meanwhile.
    pub(crate) injected: bool,
}

/// The result of a measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InjectionMeasured {
    pub(crate) took_ns: u64,
    pub(crate) injected: bool,
    /// Whether the device had no other request.
    pub(crate) was_alone: bool,
    /// The greatest number of requests in the device recently.
    pub(crate) most_in_device: u32,
}

impl Injection {
    /// Restores the state that a process's queue had before it was merged.
    pub(crate) fn restore(&mut self, saved: &Injection) {
        *self = Injection { measures: self.measures, beside: self.beside, ..*saved };
    }

    /// Adjusts the limit by a measurement. True if it was decreased.
    pub(crate) fn learn(&mut self, at: InjectionMeasured) -> bool {
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
