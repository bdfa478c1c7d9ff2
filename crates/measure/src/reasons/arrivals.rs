//! The state of the disk when reads arrive: the number of writes, and the time until these are done.
//!
//! Split by how long ago the last read was done, because elevators let write-back go deeper the longer readers stay
//! away.

use std::collections::VecDeque;

use blksched::author::RequestId;
use blksched::{Dir, Instant, Span};

use crate::moments::Moments;

/// How long ago the last read completed when the next arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Away {
    /// Less than 100 ms, one of CFQ's slices.
    Briefly,
    /// 100 to 200 ms.
    ForASlice,
    /// 200 ms or more, or there was no earlier read.
    Long,
}

impl Away {
    /// All of them.
    pub const ALL: [Away; 3] = [Away::Briefly, Away::ForASlice, Away::Long];

    fn since(last: Option<Instant>, now: Instant) -> Away {
        match last.map(|last| now.since(last)) {
            Some(away) if away < Span::from_ms(100) => Away::Briefly,
            Some(away) if away < Span::from_ms(200) => Away::ForASlice,
            _ => Away::Long,
        }
    }
}

/// What reads of one kind found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Writes in the disk \[requests\].
    pub writes: Moments,
    /// The time until the last of these completed \[ns\]; 0 for reads that found none.
    pub drained: Moments,
}

/// What reads found in the disk.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    found: [Found; 3],
    last_read_done: Option<Instant>,
    /// The number of each write in the disk, by its request.
    numbers: Vec<u64>,
    /// Whether each write in the disk is done, from number `first` on.
    flying: VecDeque<bool>,
    first: u64,
    in_flight: u64,
    /// Reads that arrived while writes were in the disk: when, and the number of the last write before them.
    open: VecDeque<(Instant, u64, Away)>,
}

impl Arrivals {
    /// What reads found that arrived this long after the last read completed.
    pub fn found(&self, away: Away) -> &Found {
        &self.found[away as usize]
    }

    pub(super) fn inserted(&mut self, now: Instant, dir: Dir) {
        if dir == Dir::Write {
            return;
        }
        let away = Away::since(self.last_read_done, now);
        let found = &mut self.found[away as usize];
        found.writes.record(self.in_flight);
        if self.in_flight == 0 {
            found.drained.record(0);
        } else {
            self.open.push_back((now, self.first + self.flying.len() as u64, away));
        }
    }

    pub(super) fn issued(&mut self, rq: RequestId, dir: Dir) {
        if dir == Dir::Read {
            return;
        }
        if self.numbers.len() <= rq.index() {
            self.numbers.resize(rq.index() + 1, 0);
        }
        self.numbers[rq.index()] = self.first + self.flying.len() as u64;
        self.flying.push_back(false);
        self.in_flight += 1;
    }

    /// A request completed or was handed back.
    pub(super) fn left(&mut self, now: Instant, rq: RequestId, dir: Dir) {
        if dir == Dir::Read {
            self.last_read_done = Some(now);
            return;
        }
        let number = self.numbers[rq.index()];
        self.flying[(number - self.first) as usize] = true;
        self.in_flight -= 1;
        while self.flying.front() == Some(&true) {
            self.flying.pop_front();
            self.first += 1;
        }
        while let Some(&(at, upto, away)) = self.open.front().filter(|open| open.1 <= self.first) {
            self.found[away as usize].drained.record(now.since(at).as_ns());
            debug_assert!(upto <= self.first);
            self.open.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn a_read_waits_for_the_writes_it_found_and_not_for_later_ones() {
        let (a, b, c) = (RequestId::from_index(0), RequestId::from_index(1), RequestId::from_index(2));
        let mut arrivals = Arrivals::default();
        arrivals.issued(a, Dir::Write);
        arrivals.issued(b, Dir::Write);
        arrivals.inserted(at(10), Dir::Read);
        arrivals.issued(c, Dir::Write);
        arrivals.left(at(15), b, Dir::Write);
        arrivals.left(at(17), a, Dir::Write);
        arrivals.left(at(99), c, Dir::Write);
        let found = arrivals.found(Away::Long);
        assert_eq!((found.writes.max(), found.drained.max(), found.drained.count()), (2, 7_000_000, 1));
    }

    #[test]
    fn reads_are_told_apart_by_how_long_the_last_one_is_done() {
        let read = RequestId::from_index(0);
        let mut arrivals = Arrivals::default();
        for now in [0, 99, 199, 399] {
            arrivals.inserted(at(now), Dir::Read);
            arrivals.left(at(now), read, Dir::Read);
        }
        let counts = Away::ALL.map(|away| arrivals.found(away).writes.count());
        assert_eq!(counts, [1, 1, 2]);
    }
}
