//! Whether a queue seeks, by its last 32 requests: one bit each.
//!
//! **Rule** The bit is set by a start more than 800 sectors from the end before it; on a non-rotational disk by a
//! request of fewer than 64 sectors, wherever it is. Seeky means more than four set bits of 32. The first request does
//! not count as a seek.
//! **Origin** CFQ of 4.20, which no longer has a mean distance; docs/behaviour/elevators-4.20.md#x.1.
//! **In the kernel** `seek_history`, `CFQQ_SEEKY`, `BFQQ_SEEKY`, `CFQQ_SEEK_THR`, `CFQQ_SECT_THR_NONROT`,
//! `BFQQ_SECT_THR_NONROT`.

use crate::request::Sector;

/// A start farther than this \[sectors\] from the last end counts as a seek.
const FAR: u64 = 800;
/// On a non-rotational disk, a request shorter than this \[sectors\] counts as a seek.
const SHORT: u32 = 64;
/// A queue with more seeks than this among 32 requests is seeky.
const FEW: u32 = 4;

/// The recent seeks of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeekHistory {
    /// One bit per request; the newest is the lowest bit.
    bits: u32,
    /// The number of bits that are set.
    seeks: u32,
    /// The sector after its last request; `None` at first (a kernel has 0 for that, and so forgets a request that ended
    /// there).
    last: Option<Sector>,
}

impl SeekHistory {
    /// Adds a request that starts here and has this many sectors.
    pub fn add(&mut self, start: Sector, sectors: u32, rotational: bool) {
        let far = self.last.is_some_and(|last| start.distance(last) > FAR);
        let seek = if rotational { far } else { sectors < SHORT };
        self.seeks = self.seeks + u32::from(seek) - (self.bits >> 31);
        self.bits = self.bits << 1 | u32::from(seek);
    }

    /// Records the sector at which the next request would not be a seek.
    pub fn ended(&mut self, end: Sector) {
        self.last = Some(end).filter(|&end| end != Sector(0));
    }

    /// Whether too many of its last 32 requests were seeks.
    pub fn is_seeky(self) -> bool {
        debug_assert_eq!(self.seeks, self.bits.count_ones());
        self.seeks > FEW
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeky_after(starts: impl Iterator<Item = u64>, sectors: u32, rotational: bool) -> bool {
        let mut history = SeekHistory::default();
        for start in starts {
            history.add(Sector(start), sectors, rotational);
            history.ended(Sector(start) + sectors);
        }
        history.is_seeky()
    }

    #[test]
    fn the_fifth_seek_among_32_requests_makes_a_queue_seeky() {
        let jumps = |n: u64| (0..n).map(|n| 1 << 20 << n);
        assert!(!seeky_after(jumps(5), 8, true) && seeky_after(jumps(6), 8, true));
    }

    #[test]
    fn thirty_two_requests_in_order_make_up_for_any_past() {
        let jumps = (0..10).map(|n| 1 << 20 << n);
        let in_order = (0..32).map(|n| (1 << 40) + 8 * n);
        assert!(!seeky_after(jumps.chain(in_order), 8, true));
    }

    #[test]
    fn a_gap_of_800_sectors_is_no_seek_and_without_an_arm_only_length_counts() {
        let with_gap = |gap: u64| (0..40).map(move |n| 8 + n * (64 + gap));
        assert!(!seeky_after(with_gap(800), 64, true) && seeky_after(with_gap(801), 64, true));
        assert!(!seeky_after(with_gap(801), 64, false) && seeky_after(with_gap(0), 63, false));
    }
}
