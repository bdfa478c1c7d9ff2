//! Ageing: a request of a lower class that has waited long enough goes ahead of the higher classes.
//!
//! **Rule** While two or more classes are busy, best effort and then idle are first asked for a request that was queued
//! at least `prio_aging_expire` ago. Each chooses as usual, with batches and directions; if the request chosen is too
//! young, the class yields nothing, however old another of its requests may be. Asking changes the batch even then.
//! Until 5.15 there is no ageing, and no request is too young.
//! **Origin** docs/behaviour/elevators-6.1.md#mq-deadline "Dispatch" 1 and "pick" e; kernel documentation of
//! `prio_aging_expire`; docs/behaviour/elevators-4.19-5.15.md#m1.
//! **Costs when wrong** If a refusal did not end the batch too, all later decisions would differ.
//! **In the kernel** `dd_dispatch_prio_aged_requests`, `prio_aging_expire`, `started_after`.

use crate::elevators::deadline::InTicks;
use crate::elevators::ioprio::IoprioClass;
use crate::mechanism;
use crate::time::{Jiffies, Span, Tick};

mechanism! {
    /// whether requests of lower classes that waited for `prio_aging_expire` go first
    pub(super) enum Ageing = "ageing" {
        /// no, and a request's age is never examined: 5.15 and earlier
        Off = "off",
        /// yes: 6.1 and later
        On = "on",
    }
}

/// The classes whose aged requests may go first, in this order.
pub(super) const MAY_AGE: [IoprioClass; 2] = [IoprioClass::BestEffort, IoprioClass::Idle];

/// How old a request must be to be dispatched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    /// Queued at this tick or earlier. (If the tick is before the first one, no request qualifies.)
    QueuedBy(i64),
}

impl Age {
    /// Any request queued by now. A request may seem to have been queued in the future: its expiry was set when it
    /// arrived, and if its direction's `expire` has been lowered since, it seems to have arrived that much later.
    pub(super) fn any(now: Tick) -> Age {
        Age::QueuedBy(now as i64)
    }

    /// Old enough to go ahead of higher classes at `now`.
    pub(super) fn aged(now: Tick, prio_aging_expire: Span, jiffies: Jiffies) -> Age {
        Age::QueuedBy(now as i64 - jiffies.ticks(prio_aging_expire) as i64)
    }

    /// Whether a request queued at this tick qualifies.
    pub(super) fn admits(self, queued: i64) -> bool {
        let Age::QueuedBy(latest) = self;
        queued <= latest
    }
}

/// The busy classes, one bit each, the highest first. Ageing applies only if several are busy.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BusyClasses(u32);

impl BusyClasses {
    #[inline(always)]
    pub(super) fn add(&mut self, class: IoprioClass) {
        self.0 |= 1 << class as u32;
    }

    #[inline(always)]
    pub(super) fn remove(&mut self, class: IoprioClass) {
        self.0 &= !(1 << class as u32);
    }

    pub(super) fn has(self, class: IoprioClass) -> bool {
        self.0 & (1 << class as u32) != 0
    }

    #[inline(always)]
    pub(super) fn are_several(self) -> bool {
        self.0 & self.0.wrapping_sub(1) != 0
    }

    #[inline(always)]
    pub(super) fn highest(self) -> Option<IoprioClass> {
        IoprioClass::ALL.get(self.0.trailing_zeros() as usize).copied()
    }
}

/// How long a direction's requests may wait, in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Expire {
    known: InTicks,
    told: Told,
}

/// Which expiries the requests so far were given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Told {
    #[default]
    Nothing,
    /// The same for all.
    Alike,
    /// The knob has changed since, and some of them may still wait.
    Mixed,
}

impl Expire {
    /// The time for a request that arrives now.
    #[inline(always)]
    pub(super) fn of(&mut self, span: Span, jiffies: Jiffies) -> Tick {
        match self.told {
            // Requests keep the time that they were given, and their age is computed from the knob of today.
            Told::Nothing => self.told = Told::Alike,
            _ if !self.known.is_of(span) => self.told = Told::Mixed,
            _ => {}
        }
        self.known.of(span, jiffies)
    }

    /// Whether every waiting request was given this time.
    #[inline(always)]
    pub(super) fn is_steady(&self, span: Span) -> bool {
        self.told != Told::Mixed && self.known.is_of(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_exactly_prio_aging_expire_a_request_is_old_enough() {
        let age = Age::aged(3000, Span::from_ms(10_000), Jiffies::new(250));
        assert!(age.admits(500) && !age.admits(501));
        assert!(Age::any(3000).admits(3000) && !Age::any(3000).admits(3001));
    }

    #[test]
    fn before_the_clock_has_run_that_long_nobody_is_old_enough() {
        assert!(!Age::aged(10, Span::from_ms(10_000), Jiffies::new(250)).admits(0));
    }

    #[test]
    fn a_time_that_changed_is_not_steady_even_when_it_is_what_it_was() {
        let (mut expire, jiffies) = (Expire::default(), Jiffies::new(250));
        let [long, short] = [500, 100].map(Span::from_ms);
        assert_eq!(expire.of(long, jiffies), 125);
        assert!(expire.is_steady(long) && !expire.is_steady(short));
        assert_eq!((expire.of(short, jiffies), expire.of(long, jiffies)), (25, 125));
        assert!(!expire.is_steady(short) && !expire.is_steady(long));
    }

    #[test]
    fn the_highest_busy_class_is_that_of_the_lowest_number() {
        let mut busy = BusyClasses::default();
        assert_eq!((busy.highest(), busy.are_several()), (None, false));
        busy.add(IoprioClass::Idle);
        busy.add(IoprioClass::BestEffort);
        assert_eq!((busy.highest(), busy.are_several()), (Some(IoprioClass::BestEffort), true));
        busy.remove(IoprioClass::BestEffort);
        assert_eq!((busy.highest(), busy.are_several()), (Some(IoprioClass::Idle), false));
    }
}
