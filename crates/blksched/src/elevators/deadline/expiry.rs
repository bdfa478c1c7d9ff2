//! The rule that says that a request has expired, and the order by age in which this is checked.
//!
//! **Rule** A request expires a fixed number of ticks after it was queued. Only the oldest of its direction is checked,
//! and only when a batch begins. When two requests merge, the survivor takes the position and time of the one that
//! expires earlier.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#d25.5 (reads only), #d26.4, #d26.8;
//! docs/behaviour/elevators-4.20.md#d420.2 (one tick earlier).
//! **In the kernel** `deadline_check_fifo`, `fifo_expire`, `read_expire`, `write_expire`, `fifo_list`.

use crate::index::List;
use crate::mechanism;
use crate::request::{RequestId, Requests};
use crate::time::{Instant, Jiffies, Span, Tick};

mechanism! {
    /// when exactly a request expires
    pub enum Expiry = "expiry" {
        /// after the tick: 2.6
        After = "after",
        /// at the tick: 4.20
        At = "at",
    }
}

/// The requests of one direction (in other schedulers, of one class) by age, each with the tick at which it expires.
#[derive(Debug, Default)]
pub(in crate::elevators) struct Fifo {
    list: List<Tick>,
}

impl Fifo {
    #[inline(always)]
    pub(in crate::elevators) fn push(&mut self, rq: RequestId, expires: Tick) {
        self.list.push_back_with(rq, expires);
    }

    /// # Panics
    /// If `rq` is not here.
    #[inline(always)]
    pub(in crate::elevators) fn remove(&mut self, rq: RequestId) {
        self.list.remove(rq);
    }

    /// Removes `rq` if it is here.
    pub(in crate::elevators) fn discard(&mut self, rq: RequestId) {
        self.list.discard(rq);
    }

    pub(in crate::elevators) fn contains(&self, rq: RequestId) -> bool {
        self.list.contains(rq)
    }

    pub(in crate::elevators) fn len(&self) -> u32 {
        self.list.len()
    }

    #[inline(always)]
    pub(in crate::elevators) fn head(&self) -> Option<RequestId> {
        self.list.head()
    }

    /// When `rq` expires.
    #[inline(always)]
    pub(in crate::elevators) fn expires(&self, rq: RequestId) -> Tick {
        self.list.value(rq)
    }

    /// By how much the oldest request is late, if it has expired.
    pub(in crate::elevators) fn late(&self, now: Instant, jiffies: Jiffies, expiry: Expiry) -> Option<Span> {
        let expires = self.expires(self.head()?);
        let tick = jiffies.tick(now);
        // Recordings of 2.6.33 and of 4.20 differ by this one tick.
        let is_up = match expiry {
            Expiry::After => tick > expires,
            Expiry::At => tick >= expires,
        };
        is_up.then(|| now.since(jiffies.instant(expires)))
    }

    /// `into`, which absorbs `victim`, takes its place if it is older; both are here.
    pub(in crate::elevators) fn inherit(&mut self, into: RequestId, victim: RequestId) {
        let expires = self.expires(victim);
        // Whoever joins a younger request does not wait anew.
        if expires < self.expires(into) {
            self.list.remove(into);
            self.list.insert_after_with(victim, into, expires);
        }
    }

    pub(in crate::elevators) fn check(&self, requests: &Requests) {
        self.list.check(requests);
    }
}

/// A knob's time in ticks, converted when it changes: a division costs more than the rest of an insertion.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::elevators) struct InTicks {
    span: Span,
    ticks: Tick,
}

impl InTicks {
    /// Whether this is the time converted last.
    #[inline(always)]
    pub(in crate::elevators) fn is_of(self, span: Span) -> bool {
        self.span == span
    }

    #[inline(always)]
    pub(in crate::elevators) fn of(&mut self, span: Span, jiffies: Jiffies) -> Tick {
        if !self.is_of(span) {
            self.convert(span, jiffies);
        }
        self.ticks
    }

    #[cold]
    #[inline(never)]
    fn convert(&mut self, span: Span, jiffies: Jiffies) {
        *self = InTicks { span, ticks: jiffies.ticks(span) };
    }
}

/// The tick of the last call, cached: the next call is usually in the same tick, which saves a division.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::elevators) struct LastTick {
    /// The first nanosecond of the tick, and that of the next one.
    from: Instant,
    until: Instant,
    tick: Tick,
}

impl LastTick {
    /// As [`Jiffies::tick`].
    #[inline(always)]
    pub(in crate::elevators) fn of(&mut self, now: Instant, jiffies: Jiffies) -> Tick {
        if now < self.from || now >= self.until {
            self.move_to(now, jiffies);
        }
        self.tick
    }

    #[inline(never)]
    fn move_to(&mut self, now: Instant, jiffies: Jiffies) {
        let tick = jiffies.tick(now);
        *self = LastTick { from: jiffies.first(tick), until: jiffies.first(tick + 1), tick };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rq(index: u32) -> RequestId {
        RequestId::from_index(index)
    }

    #[test]
    fn time_is_up_after_the_tick_until_2_6_and_at_it_in_4_20() {
        let jiffies = Jiffies::new(1000);
        let mut fifo = Fifo::default();
        fifo.push(rq(0), 500);
        let at = |ms| Instant::ZERO + Span::from_ms(ms);
        assert_eq!(fifo.late(at(500), jiffies, Expiry::After), None);
        assert_eq!(fifo.late(at(500), jiffies, Expiry::At), Some(Span::ZERO));
        assert_eq!(fifo.late(at(501), jiffies, Expiry::After), Some(Span::from_ms(1)));
    }

    #[test]
    fn a_survivor_takes_the_place_of_an_older_victim_and_keeps_its_own_before_a_younger_one() {
        let mut fifo = Fifo::default();
        for (index, expires) in [(0, 10), (1, 20), (2, 30)] {
            fifo.push(rq(index), expires);
        }
        fifo.inherit(rq(2), rq(0));
        fifo.remove(rq(0));
        assert_eq!((fifo.head(), fifo.expires(rq(2))), (Some(rq(2)), 10));
        fifo.inherit(rq(2), rq(1));
        assert_eq!(fifo.head(), Some(rq(2)));
    }

    #[test]
    fn the_last_tick_is_that_of_every_moment() {
        for hz in [100, 250, 300, 1000] {
            let (jiffies, mut last) = (Jiffies::new(hz), LastTick::default());
            for ns in [0, 1, 3_333_333, 3_333_334, 3_999_999, 4_000_000, 4_000_001, 3_999_999, 9_999_999, 10_000_000, 5]
            {
                let now = Instant::from_ns(ns);
                assert_eq!(last.of(now, jiffies), jiffies.tick(now), "{ns} at {hz}");
            }
        }
    }

    #[test]
    fn a_knobs_time_is_converted_anew_when_it_changes() {
        let (jiffies, mut known) = (Jiffies::new(250), InTicks::default());
        assert_eq!([5, 5, 4, 0].map(|ms| known.of(Span::from_ms(ms), jiffies)), [2, 2, 1, 0]);
    }
}
