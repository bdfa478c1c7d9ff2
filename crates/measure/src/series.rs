//! How much was done, and how long it took, in equal stretches of a run.
//!
//! A run's length is not known beforehand, so the stretches become longer as it goes on: when there are too many, each
//! two become one.

use core::ops::Range;

use blksched::{Instant, Span};

/// The most stretches that are kept.
const MOST: usize = 512;
/// The length of a stretch at first.
const SHORTEST: Span = Span::from_us(250);
/// No stretch.
const NOTHING: Range<Instant> = Instant::ZERO..Instant::ZERO;

/// What was completed in one stretch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// I/Os.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The sum of their latencies, from submission to completion \[ns\].
    pub latency: u64,
}

impl Stretch {
    /// The mean latency \[ns\]; NaN if nothing was completed.
    pub fn mean(&self) -> f64 {
        if self.ios == 0 { f64::NAN } else { self.latency as f64 / self.ios as f64 }
    }

    fn add(&mut self, other: Stretch) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.latency = self.latency.saturating_add(other.latency);
    }
}

/// A job's completions by time, from the beginning of the run.
///
/// ```
/// use blksched::{Instant, Span};
/// let mut series = blksched_measure::Series::default();
/// for ms in 1..=2000 {
///     series.completed(Instant::ZERO + Span::from_ms(ms), 4096, Span::from_us(if ms < 1000 { 100 } else { 300 }));
/// }
/// let half = Instant::ZERO + Span::from_ms(1000);
/// assert_eq!(series.between(half, Instant::NEVER).mean().round(), 300_000.0);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    length: Span,
    stretches: Vec<Stretch>,
    /// When the first I/O was complete.
    first: Option<Instant>,
    /// The last stretch, in which most I/Os are completed; empty if that is not known.
    last: Range<Instant>,
}

impl Default for Series {
    fn default() -> Series {
        Series { length: SHORTEST, stretches: Vec::new(), first: None, last: NOTHING }
    }
}

impl Series {
    /// An I/O is complete.
    pub fn completed(&mut self, at: Instant, bytes: u64, latency: Span) {
        let nth = if self.last.contains(&at) { self.stretches.len() - 1 } else { self.enter(at) };
        self.stretches[nth].add(Stretch { ios: 1, bytes, latency: latency.as_ns() });
    }

    /// The number of this moment's stretch, and where the last one is.
    #[cold]
    fn enter(&mut self, at: Instant) -> usize {
        self.first.get_or_insert(at);
        let nth = self.place(at);
        if nth + 1 == self.stretches.len() {
            let begins = Instant::ZERO + self.length * nth as u64;
            self.last = begins..begins + self.length;
        }
        nth
    }

    /// The number of this moment's stretch, which exists afterwards.
    fn place(&mut self, at: Instant) -> usize {
        loop {
            let nth = (at.as_ns() / self.length.as_ns()) as usize;
            if nth < self.stretches.len() {
                return nth;
            }
            if nth < MOST {
                self.stretches.resize(nth + 1, Stretch::default());
                return nth;
            }
            self.halve();
        }
    }

    fn halve(&mut self) {
        let pair = |pair: &[Stretch]| {
            let mut sum = pair[0];
            pair[1..].iter().for_each(|other| sum.add(*other));
            sum
        };
        self.stretches = self.stretches.chunks(2).map(pair).collect();
        self.length = self.length * 2;
        self.last = NOTHING;
    }

    /// When the first I/O was complete.
    pub fn first(&self) -> Option<Instant> {
        self.first
    }

    /// The length of each stretch.
    pub fn length(&self) -> Span {
        self.length
    }

    /// Everything.
    pub fn total(&self) -> Stretch {
        let mut sum = Stretch::default();
        self.stretches.iter().for_each(|stretch| sum.add(*stretch));
        sum
    }

    /// Everything from one moment to before another, in whole stretches: one belongs to the moment in which it begins.
    pub fn between(&self, from: Instant, until: Instant) -> Stretch {
        let mut sum = Stretch::default();
        self.stretches(from, until).iter().for_each(|stretch| sum.add(*stretch));
        sum
    }

    /// The stretches that begin from one moment to before another. Behind the last completion there are none.
    pub fn stretches(&self, from: Instant, until: Instant) -> &[Stretch] {
        let number = |at: Instant| at.as_ns().div_ceil(self.length.as_ns()).min(self.stretches.len() as u64) as usize;
        let (from, until) = (number(from), number(until));
        &self.stretches[from.min(until)..until]
    }

    /// Adds another job's completions.
    pub fn merge(&mut self, other: &Series) {
        let mut other = other.clone();
        while self.length < other.length {
            self.halve();
        }
        while other.length < self.length {
            other.halve();
        }
        self.last = NOTHING;
        if self.stretches.len() < other.stretches.len() {
            self.stretches.resize(other.stretches.len(), Stretch::default());
        }
        self.stretches.iter_mut().zip(&other.stretches).for_each(|(own, other)| own.add(*other));
        self.first = self.first.into_iter().chain(other.first).min();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Span::from_us(us)
    }

    fn each(us: impl Iterator<Item = u64>) -> Series {
        let mut series = Series::default();
        us.for_each(|us| series.completed(at(us), 512, Span::from_us(us % 7)));
        series
    }

    #[test]
    fn nothing_is_lost_when_stretches_become_longer() {
        for last in [1, 250, 127_999, 128_000, 128_001, 1_000_000, 3_600_000_000] {
            let series = each([0, last / 3, last / 2, last].into_iter());
            let all = series.total();
            assert_eq!(all, series.between(Instant::ZERO, Instant::NEVER), "{last}");
            assert_eq!((all.ios, all.bytes), (4, 2048), "{last}");
            assert!(series.stretches.len() <= MOST, "{last}");
        }
    }

    #[test]
    fn a_part_has_what_was_completed_in_it() {
        let series = each((0..1000).map(|ms| ms * 1000));
        let half = series.between(at(500_000), Instant::NEVER);
        assert_eq!(half.ios, 500);
        assert_eq!(series.between(at(0), at(500_000)).ios + half.ios, 1000);
        assert_eq!(series.between(at(2_000_000), Instant::NEVER), Stretch::default());
    }

    #[test]
    fn merging_is_recording_together_whatever_the_lengths() {
        let (short, long) = (0..100, 0..5000);
        let mut merged = each(short.clone().map(|ms| ms * 1000));
        merged.merge(&each(long.clone().map(|ms| ms * 1000 + 1)));
        let both = each(long.map(|ms| ms * 1000 + 1).chain(short.map(|ms| ms * 1000)));
        assert_eq!((merged.length, merged.stretches, merged.first), (both.length, both.stretches, Some(at(0))));
    }
}
