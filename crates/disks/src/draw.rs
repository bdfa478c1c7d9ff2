//! Random draws of the models: integers only, so that a seed gives the same times on every machine.
//!
//! The sequence is splitmix64. An exponential time is drawn by von Neumann's comparison of uniform numbers ("Various
//! techniques used in connection with random digits", 1951), which needs no logarithm: those of two machines differ in
//! their last digits.

use blksched::Span;

/// How many means an exponential draw is at most; beyond are two of a thousand million.
pub(crate) const MOST_MEANS: u64 = 20;

/// A probability \[millionths\].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chance(u32);

impl Chance {
    /// A probability of so many millionths.
    ///
    /// # Panics
    /// If it is more than a million.
    pub fn from_millionths(millionths: u32) -> Chance {
        assert!(millionths <= 1_000_000, "{millionths} of a million");
        Chance(millionths)
    }

    /// The millionths.
    pub fn millionths(self) -> u32 {
        self.0
    }
}

/// A sequence of draws.
#[derive(Clone, Debug)]
pub(crate) struct Draws {
    state: u64,
}

impl Draws {
    pub(crate) fn new(seed: u64) -> Draws {
        Draws { state: seed }
    }

    /// The next number.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.state)
    }

    /// A time from zero to `limit` inclusive, all equally likely.
    pub(crate) fn up_to(&mut self, limit: Span) -> Span {
        Span::from_ns(scaled(self.next(), u128::from(limit.as_ns()) + 1))
    }

    /// Whether something of this probability happens.
    #[inline]
    pub(crate) fn happens(&mut self, chance: Chance) -> bool {
        scaled(self.next(), 1_000_000) < u64::from(chance.0)
    }

    /// A time that is exponentially distributed, [`MOST_MEANS`] times the mean at most.
    pub(crate) fn exponential(&mut self, mean: Span) -> Span {
        let mean = mean.as_ns();
        for whole in 0..MOST_MEANS {
            let first = self.next();
            // A run of falling numbers: of odd length with the probability that the fraction needs.
            let (mut last, mut length) = (first, 1);
            loop {
                let number = self.next();
                if number >= last {
                    break;
                }
                (last, length) = (number, length + 1);
            }
            if length % 2 == 1 {
                return Span::from_ns(mean.saturating_mul(whole).saturating_add(scaled(first, u128::from(mean))));
            }
        }
        Span::from_ns(mean.saturating_mul(MOST_MEANS))
    }
}

/// A number that depends on these two and on nothing else: what does not change while the disk is used.
#[inline]
pub(crate) fn fixed_by(seed: u64, number: u64) -> u64 {
    mixed(seed ^ mixed(number.wrapping_add(0x9e37_79b9_7f4a_7c15)))
}

/// The part of `whole` that `number` is of 2^64.
#[inline]
fn scaled(number: u64, whole: u128) -> u64 {
    ((u128::from(number) * whole) >> 64) as u64
}

/// The finaliser of splitmix64.
#[inline]
fn mixed(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exponential_time_has_its_mean_its_median_and_its_rare_tail() {
        let (mean, mut draws) = (Span::from_us(100), Draws::new(1));
        let mut times: Vec<u64> = (0..100_000).map(|_| draws.exponential(mean).as_ns()).collect();
        times.sort_unstable();
        let within = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 0.02, "{found} {expected}");
        within(times.iter().sum::<u64>() as f64 / 1e5, 1e5);
        within(times[50_000] as f64, 1e5 * 2_f64.ln());
        within(times[99_000] as f64, 1e5 * 100_f64.ln());
    }

    /// Recorded on x86-64.
    const DRAWN: [u64; 4] = [15_829, 11_035, 13_263, 7_573];

    #[test]
    fn draws_are_the_same_everywhere() {
        let mut draws = Draws::new(7);
        let drawn: Vec<u64> = (0..4).map(|_| draws.exponential(Span::from_us(10)).as_ns()).collect();
        assert_eq!(drawn, DRAWN);
        assert_eq!(fixed_by(1, 2), fixed_by(1, 2));
        assert_ne!(fixed_by(1, 2), fixed_by(2, 1));
    }

    #[test]
    fn a_chance_is_met_that_often_and_none_never() {
        let mut draws = Draws::new(3);
        let hits = (0..100_000).filter(|_| draws.happens(Chance::from_millionths(20_000))).count();
        assert!((1_850..2_150).contains(&hits), "{hits}");
        assert!((0..1_000).all(|_| !draws.happens(Chance::default())));
        assert!((0..1_000).all(|_| draws.happens(Chance::from_millionths(1_000_000))));
    }
}
