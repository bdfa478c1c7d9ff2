//! The rule that lets the oldest request go first.
//!
//! **Rule** A request expires a fixed number of ticks after it was queued. A batch checks the oldest of its class, at
//! most once per expire time, and takes it if it has expired (strictly). When two requests are merged, the survivor
//! takes the position and time of the one that expires earlier.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#a.3, #a.5.
//! **Costs when wrong** Checking each time would serve a long queue of late requests first in, first out: one seek
//! each.
//! **In the kernel** `as_fifo_expired`.

use crate::elevators::deadline::{Expiry, Fifo};
use crate::request::{RequestId, Requests};
use crate::time::{Instant, Jiffies, Span, Tick};

/// One class's requests by age.
#[derive(Debug, Default)]
pub(super) struct Aged {
    fifo: Fifo,
    /// When the oldest was last checked.
    looked: Option<Tick>,
}

impl Aged {
    pub(super) fn push(&mut self, rq: RequestId, expires: Tick) {
        self.fifo.push(rq, expires);
    }

    pub(super) fn remove(&mut self, rq: RequestId) {
        self.fifo.remove(rq);
    }

    pub(super) fn inherit(&mut self, into: RequestId, victim: RequestId) {
        self.fifo.inherit(into, victim);
    }

    pub(super) fn oldest(&self) -> Option<RequestId> {
        self.fifo.head()
    }

    pub(super) fn len(&self) -> u32 {
        self.fifo.len()
    }

    /// The oldest, with which a batch begins; this counts as a check.
    pub(super) fn begin_with_oldest(&mut self, now: Tick) -> Option<RequestId> {
        self.looked = Some(now);
        self.oldest()
    }

    /// The oldest request and its lateness, if it is late and the check is due.
    pub(super) fn late(&mut self, now: Instant, jiffies: Jiffies, expire: Tick) -> Option<(RequestId, Span)> {
        let tick = jiffies.tick(now);
        if self.looked.is_some_and(|looked| tick - looked < expire) {
            return None;
        }
        self.looked = Some(tick);
        let late = self.fifo.late(now, jiffies, Expiry::After)?;
        self.oldest().map(|oldest| (oldest, late))
    }

    pub(super) fn check(&self, requests: &Requests) {
        self.fifo.check(requests);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn the_oldest_is_looked_at_once_per_expire_time() {
        let (jiffies, old) = (Jiffies::new(1000), RequestId::from_index(0));
        let mut aged = Aged::default();
        aged.push(old, 125);
        assert_eq!(aged.late(at(100), jiffies, 125), None, "not late");
        assert_eq!(aged.late(at(224), jiffies, 125), None, "late, but just looked at");
        assert_eq!(aged.late(at(225), jiffies, 125), Some((old, Span::from_ms(100))));
        assert_eq!(aged.late(at(226), jiffies, 125), None);
    }

    #[test]
    fn a_batch_that_begins_with_the_oldest_does_not_look_again_soon() {
        let mut aged = Aged::default();
        aged.push(RequestId::from_index(0), 0);
        assert_eq!(aged.begin_with_oldest(10), Some(RequestId::from_index(0)));
        assert_eq!(aged.late(at(100), Jiffies::new(1000), 125), None);
    }
}
