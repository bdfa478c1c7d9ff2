//! **What for**: how long a page takes to be read: pages of one cell differ, and some must be read again.
//!
//! **Rule**: the kind of a page (lower, middle, upper, top) follows from its position and the disk's seed and never
//! changes: it is where the flash translation layer happened to put it. A page is read again with the probability
//! `chance`, and each time after that with `again`, `most` times at most; each further reading takes `step`.
//!
//! **Origin**: a cell of n bits has 2^n - 1 reference voltages, shared unevenly by its pages, so that the reading times
//! of a TLC die's pages differ by up to a factor of two (data sheets give 45 to 110 us). Cai et al., "Error
//! characterization, mitigation and recovery in flash-memory-based solid-state drives" (Proc. IEEE 105, 2017):
//! read-retry.
//!
//! **Costs when wrong**: at depth 1 every read takes the same time to a microsecond, and p99 equals the median; SATA
//! SSDs that were measured (testdata/grids) have a deviation of a fifth of the mean.

use blksched::Span;

use crate::TailsSpec;
use crate::draw::{Draws, fixed_by};

/// The reading times of pages.
#[derive(Clone, Debug)]
pub(super) struct Senses {
    /// Without the mechanisms.
    usual: Span,
    tails: TailsSpec,
    page_sectors: u64,
    seed: u64,
    draws: Draws,
}

impl Senses {
    pub(super) fn new(usual: Span, tails: TailsSpec, page_sectors: u64, seed: u64) -> Senses {
        Senses { usual, tails, page_sectors, seed, draws: Draws::new(seed ^ 0x7365_6e73_6573) }
    }

    /// How long the page with this sector takes, this time.
    #[inline]
    pub(super) fn time(&mut self, sector: u64) -> Span {
        let mut time = self.usual;
        if let Some(pages) = &self.tails.pages {
            let times = pages.times();
            time = times[(fixed_by(self.seed, sector / self.page_sectors) % times.len() as u64) as usize];
        }
        if let Some(retry) = &self.tails.retry {
            let mut chance = retry.chance;
            for _ in 0..retry.most {
                if !self.draws.happens(chance) {
                    break;
                }
                (time, chance) = (time + retry.step, retry.again);
            }
        }
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Chance, PageTimes, RetrySpec};

    const US: fn(u64) -> Span = Span::from_us;

    #[test]
    fn pages_are_of_equally_many_kinds_and_stay_what_they_are() {
        let tails = TailsSpec { pages: PageTimes::new(&[US(50), US(70), US(90)]), ..TailsSpec::default() };
        let mut senses = Senses::new(US(70), tails, 32, 5);
        let times: Vec<Span> = (0..30_000).map(|page| senses.time(page * 32)).collect();
        for time in [50, 70, 90] {
            let count = times.iter().filter(|found| **found == US(time)).count();
            assert!((9_600..10_400).contains(&count), "{time} us: {count} of 30000");
        }
        let again: Vec<Span> = (0..30_000).map(|page| senses.time(page * 32 + 31)).collect();
        assert_eq!(times, again, "the last sector of a page is in the same page");
        let mut other = Senses::new(US(70), tails, 32, 6);
        assert_ne!(times[..50], (0..50).map(|page| other.time(page * 32)).collect::<Vec<_>>());
    }

    #[test]
    fn a_page_is_read_again_as_often_as_the_chances_say_and_no_more_than_most() {
        let chance = Chance::from_millionths;
        let retry = RetrySpec { chance: chance(100_000), again: chance(500_000), step: US(100), most: 2 };
        let tails = TailsSpec { retry: Some(retry), ..TailsSpec::default() };
        let mut senses = Senses::new(US(50), tails, 32, 5);
        let mut counts = [0_u32; 3];
        for _ in 0..100_000 {
            let steps = (senses.time(0).as_ns() - 50_000) / 100_000;
            counts[steps as usize] += 1;
        }
        assert!((89_500..90_500).contains(&counts[0]), "{counts:?}");
        assert!((4_700..5_300).contains(&counts[1]) && (4_700..5_300).contains(&counts[2]), "{counts:?}");
    }
}
