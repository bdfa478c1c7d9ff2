//! Ageing: a request of a lower class that has waited long enough goes ahead of the higher classes.
//!
//! **Rule** While two or more classes are busy, best effort and then idle are asked first for a request that was
//! queued `prio_aging_expire` ago or earlier. They are asked as always, with batches and directions: what they answer
//! first is looked at, and if that one is too young the answer is no, however old another may be. Asking changes the
//! batch even when the answer is no.
//! **Origin** docs/behaviour/elevators-6.1.md#mq-deadline "Dispatch" 1 and "pick" e; kernel documentation of
//! `prio_aging_expire`. **Costs when wrong** An ageing that forgets to end the batch when it refuses decides
//! differently from then on.
//! **In the kernel** `dd_dispatch_prio_aged_requests`, `prio_aging_expire`.

#![doc(alias = "dd_dispatch_prio_aged_requests")]
#![doc(alias = "prio_aging_expire")]
#![doc(alias = "started_after")]

use super::class::{ClassQueue, PerClass};
use crate::elevators::ioprio::IoprioClass;
use crate::time::{Jiffies, Span, Tick};

/// The classes that may go ahead by age, in this order.
pub(super) const MAY_AGE: [IoprioClass; 2] = [IoprioClass::BestEffort, IoprioClass::Idle];

/// Which requests a class may answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    /// Those queued at this tick or earlier. (It may lie before the first tick: then none.)
    QueuedBy(i64),
}

impl Age {
    /// Any that has been queued. One may seem to have been queued in the future: it expires as its direction's
    /// `expire` said when it came, and when that was lowered since, it seems to have come this much later.
    pub(super) fn any(now: Tick) -> Age {
        Age::QueuedBy(now as i64)
    }

    /// Old enough to go ahead of higher classes at `now`.
    pub(super) fn aged(now: Tick, prio_aging_expire: Span, jiffies: Jiffies) -> Age {
        Age::QueuedBy(now as i64 - jiffies.ticks(prio_aging_expire) as i64)
    }

    /// Does a request that was queued then qualify?
    pub(super) fn admits(self, queued: i64) -> bool {
        let Age::QueuedBy(latest) = self;
        queued <= latest
    }
}

/// Is there a lower class that a higher one could keep waiting?
pub(super) fn is_looked_at(classes: &PerClass<ClassQueue>) -> bool {
    classes.iter().filter(|class| class.is_busy()).count() > 1
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
}
