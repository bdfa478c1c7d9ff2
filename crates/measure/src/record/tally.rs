//! What a job has done by a moment: the difference of two says what it did between them.

use super::Direction;
use crate::histogram::Histogram;

/// One kind of a job's work, from its beginning to a moment, or between two moments.
///
/// ```
/// use blksched::Span;
/// use blksched_measure::{Direction, Tally};
/// let mut reads = Direction { ios: 1, bytes: 4096, ..Direction::default() };
/// reads.clat.record(Span::from_ms(8));
/// let before = Tally::of(&reads);
/// (reads.ios, reads.bytes) = (2, 8192);
/// reads.clat.record(Span::from_ms(2));
/// let between = Tally::of(&reads).since(&before);
/// assert_eq!((between.ios, between.clat.mean()), (1, 2e6));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Completion latencies.
    pub clat: Histogram,
}

impl Tally {
    /// Of all that was recorded.
    pub fn of(direction: &Direction) -> Tally {
        Tally { ios: direction.ios, bytes: direction.bytes, clat: direction.clat.clone() }
    }

    /// What came after an earlier one of the same work.
    pub fn since(&self, earlier: &Tally) -> Tally {
        Tally {
            ios: self.ios.saturating_sub(earlier.ios),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            clat: self.clat.since(&earlier.clat),
        }
    }

    /// Adds another's.
    pub fn merge(&mut self, other: &Tally) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.clat.merge(&other.clat);
    }
}
