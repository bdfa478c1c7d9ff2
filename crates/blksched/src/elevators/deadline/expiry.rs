//! The rule that says a request's time is up, and the order by age in which that is looked at.
//!
//! **Rule** A request expires this many ticks after it was queued. Only the oldest of its direction is looked at, and
//! only when a batch begins. When two requests merge, the survivor takes the place and the time of the one that
//! expires earlier.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#d25.5 (reads only), #d26.4, #d26.8;
//! docs/behaviour/elevators-4.20.md#d420.2 (one tick earlier).
//! **In the kernel** `deadline_check_fifo`, `fifo_expire`, `read_expire`, `write_expire`.

#![doc(alias = "deadline_check_fifo")]
#![doc(alias = "fifo_expire")]
#![doc(alias = "read_expire")]
#![doc(alias = "write_expire")]

use crate::mechanism;
use crate::request::{NONE, RequestId, Requests, Table};
use crate::time::{Instant, Jiffies, Span, Tick};

mechanism! {
    /// when exactly a request's time is up
    pub enum Expiry = "expiry" {
        /// after the tick: 2.6
        After = "after",
        /// at the tick: 4.20
        At = "at",
    }
}

/// One direction's requests by age (in other schedulers: one class's).
#[derive(Debug)]
pub(in crate::elevators) struct Fifo {
    rows: Table<Row>,
    head: u32,
    tail: u32,
    len: u32,
}

/// A request's place and time: one row, because each is asked for with the other.
#[derive(Clone, Copy, Debug)]
struct Row {
    expires: Tick,
    /// `OUT`: it has no place.
    before: u32,
    behind: u32,
}

/// No place.
const OUT: u32 = NONE - 1;

impl Default for Row {
    fn default() -> Row {
        Row { expires: 0, before: OUT, behind: NONE }
    }
}

impl Default for Fifo {
    fn default() -> Fifo {
        Fifo { rows: Table::new(), head: NONE, tail: NONE, len: 0 }
    }
}

impl Fifo {
    #[inline(always)]
    pub(in crate::elevators) fn push(&mut self, rq: RequestId, expires: Tick) {
        let before = self.tail;
        let row = self.rows.row(rq);
        assert!(row.before == OUT, "request {rq:?} already has a place");
        *row = Row { expires, before, behind: NONE };
        self.len += 1;
        self.tail = rq.0;
        match before {
            NONE => self.head = rq.0,
            before => self.rows[RequestId(before)].behind = rq.0,
        }
    }

    /// # Panics
    /// If `rq` has no place.
    #[inline(always)]
    pub(in crate::elevators) fn remove(&mut self, rq: RequestId) {
        let row = &mut self.rows[rq];
        let Row { before, behind, .. } = *row;
        assert!(before != OUT, "request {rq:?} has no place");
        row.before = OUT;
        self.len -= 1;
        match before {
            NONE => self.head = behind,
            before => self.rows[RequestId(before)].behind = behind,
        }
        match behind {
            NONE => self.tail = before,
            behind => self.rows[RequestId(behind)].before = before,
        }
    }

    /// Take `rq` out if it has a place.
    pub(in crate::elevators) fn discard(&mut self, rq: RequestId) {
        if self.contains(rq) {
            self.remove(rq);
        }
    }

    pub(in crate::elevators) fn contains(&self, rq: RequestId) -> bool {
        self.rows.get(rq).is_some_and(|row| row.before != OUT)
    }

    pub(in crate::elevators) fn len(&self) -> u32 {
        self.len
    }

    #[inline(always)]
    pub(in crate::elevators) fn head(&self) -> Option<RequestId> {
        (self.head != NONE).then_some(RequestId(self.head))
    }

    /// When the time of `rq` is up.
    #[inline(always)]
    pub(in crate::elevators) fn expires(&self, rq: RequestId) -> Tick {
        self.rows[rq].expires
    }

    /// By how much the oldest request is late, if its time is up.
    pub(in crate::elevators) fn late(&self, now: Instant, jiffies: Jiffies, expiry: Expiry) -> Option<Span> {
        let expires = self.expires(self.head()?);
        let tick = jiffies.tick(now);
        let is_up = match expiry {
            Expiry::After => tick > expires,
            Expiry::At => tick >= expires,
        };
        is_up.then(|| now.since(jiffies.instant(expires)))
    }

    /// `victim` is absorbed by `into`; both are here.
    pub(in crate::elevators) fn inherit(&mut self, into: RequestId, victim: RequestId) {
        let expires = self.expires(victim);
        if expires >= self.expires(into) {
            return;
        }
        self.remove(into);
        let behind = core::mem::replace(&mut self.rows[victim].behind, into.0);
        self.rows[into] = Row { expires, before: victim.0, behind };
        self.len += 1;
        match behind {
            NONE => self.tail = into.0,
            behind => self.rows[RequestId(behind)].before = into.0,
        }
    }

    /// Every row agrees with its neighbour, and every member is live.
    ///
    /// # Panics
    /// If not.
    pub(in crate::elevators) fn check(&self, requests: &Requests) {
        let (mut at, mut before, mut count) = (self.head, NONE, 0);
        while at != NONE {
            let rq = RequestId(at);
            assert_eq!(self.rows[rq].before, before, "broken place of {rq:?}");
            assert!(requests.is_live(rq), "request {rq:?} has a place but is not live");
            (before, at, count) = (at, self.rows[rq].behind, count + 1);
        }
        assert_eq!((self.tail, self.len), (before, count));
    }
}

/// A knob's time in ticks, converted when it changes: a division costs more than the rest of an insertion.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::elevators) struct InTicks {
    span: Span,
    ticks: Tick,
}

impl InTicks {
    /// Is this the time that was converted last?
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
    fn a_knobs_time_is_converted_anew_when_it_changes() {
        let (jiffies, mut known) = (Jiffies::new(250), InTicks::default());
        assert_eq!([5, 5, 4, 0].map(|ms| known.of(Span::from_ms(ms), jiffies)), [2, 2, 1, 0]);
    }
}
