//! Random blocks of a region by one of fio's distributions.
//!
//! **Rule** of *n* blocks: `zipf:theta` draws rank k in proportion to k^-theta; `pareto:h` draws n·u^(log h / log(1-h))
//! for uniform u (the self-similar distribution of Gray et al., "Quickly generating billion-record synthetic
//! databases", SIGMOD 1994). Ranks are scattered over the region by a random order, unless a centre is given: then they
//! follow it, and continue at the region's start. `normal` redraws values outside the region. Zones draw the zone by
//! its share, then any of its blocks.

use rand::{Rng, RngExt};
use rand_distr::{Distribution as _, Zipf};
use rand_pcg::Pcg64Mcg;

use super::permutation::Permutation;
use crate::fio::blocks::pick;
use crate::fio::distribution::Distribution;
use crate::fio::values::LengthOrShare;

/// After this many draws outside, the value is moved to the edge.
const MOST_DRAWS: u32 = 64;

/// A distribution over the blocks of one region.
#[derive(Clone, Debug)]
pub(super) enum Skew {
    Uniform {
        blocks: u64,
    },
    Ranked {
        draw: Ranks,
        blocks: u64,
        place: Placed,
    },
    Normal {
        blocks: u64,
        mean: f64,
        deviation: f64,
    },
    /// First block, number of blocks, share \[%\]; in `pick`'s form.
    Zones(Vec<((u64, u64), u64)>),
}

#[derive(Clone, Debug)]
pub(super) enum Ranks {
    Zipf(Zipf<f64>),
    /// The exponent.
    Pareto(f64),
}

#[derive(Clone, Debug)]
pub(super) enum Placed {
    Scattered(Permutation),
    From(u64),
}

impl Skew {
    /// A distribution over `blocks` places, one for each `unit_bytes`.
    pub fn new(kind: &Distribution, blocks: u64, unit_bytes: u64, random: &mut Pcg64Mcg) -> Skew {
        let place = |centre: Option<f64>, random: &mut Pcg64Mcg| match centre {
            Some(centre) => Placed::From((blocks as f64 * centre) as u64 % blocks),
            None => Placed::Scattered(Permutation::new(blocks, random.next_u64())),
        };
        match kind {
            Distribution::Random => Skew::Uniform { blocks },
            Distribution::Zipf { theta, centre } => {
                let zipf = Zipf::new(blocks as f64, *theta).expect("n is at least 1 and theta at least 0");
                Skew::Ranked { draw: Ranks::Zipf(zipf), blocks, place: place(*centre, random) }
            }
            Distribution::Pareto { h, centre } => {
                let exponent = libm::log(*h) / libm::log(1.0 - h);
                Skew::Ranked { draw: Ranks::Pareto(exponent), blocks, place: place(*centre, random) }
            }
            Distribution::Normal { deviation, centre } => {
                Skew::Normal { blocks, mean: blocks as f64 * centre, deviation: blocks as f64 * deviation }
            }
            Distribution::Zoned(zones) => Skew::Zones(resolve(zones, blocks, unit_bytes)),
        }
    }

    /// Draws a block.
    #[inline]
    pub fn draw(&self, random: &mut Pcg64Mcg) -> u64 {
        match self {
            Skew::Uniform { blocks } => random.random_range(0..*blocks),
            skewed => skewed.draw_skewed(random),
        }
    }

    fn draw_skewed(&self, random: &mut Pcg64Mcg) -> u64 {
        match self {
            Skew::Uniform { blocks } => random.random_range(0..*blocks),
            Skew::Ranked { draw, blocks, place } => {
                let rank = match draw {
                    Ranks::Zipf(zipf) => zipf.sample(random) as u64 - 1,
                    Ranks::Pareto(exponent) => (*blocks as f64 * libm::pow(random.random::<f64>(), *exponent)) as u64,
                };
                let rank = rank.min(blocks - 1);
                match place {
                    Placed::Scattered(order) => order.at(rank),
                    Placed::From(first) => (first + rank) % blocks,
                }
            }
            Skew::Normal { blocks, mean, deviation } => {
                let mut at = *mean;
                for _ in 0..MOST_DRAWS {
                    at = mean + deviation * standard_normal(random);
                    if (0.0..*blocks as f64).contains(&at) {
                        break;
                    }
                }
                (at.max(0.0) as u64).min(blocks - 1)
            }
            Skew::Zones(zones) => {
                let ((first, length), _) = zones[pick(zones, random.random_range(0..100))];
                first + random.random_range(0..length)
            }
        }
    }
}

/// By Box and Muller, with a logarithm and a cosine that are the same everywhere.
fn standard_normal(random: &mut Pcg64Mcg) -> f64 {
    let (u, v) = (1.0 - random.random::<f64>(), random.random::<f64>());
    libm::sqrt(-2.0 * libm::log(u)) * libm::cos(core::f64::consts::TAU * v)
}

/// Accesses to zones beyond the region's end go to its last block.
fn resolve(zones: &[(LengthOrShare, u64)], blocks: u64, unit_bytes: u64) -> Vec<((u64, u64), u64)> {
    let mut at = 0u64;
    let zone = |(length, share): &(LengthOrShare, u64)| {
        let length = match length {
            LengthOrShare::Percent(percent) => (u128::from(blocks) * u128::from(*percent) / 100) as u64,
            LengthOrShare::Bytes(bytes) => bytes / unit_bytes,
        };
        let first = at.min(blocks - 1);
        at = at.saturating_add(length).min(blocks);
        ((first, at.saturating_sub(first).max(1)), *share)
    };
    zones.iter().map(zone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// How often each of 100 blocks is drawn in 10 000 draws.
    fn counts(kind: &Distribution) -> Vec<u32> {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let skew = Skew::new(kind, 100, 4096, &mut random);
        let mut counts = vec![0; 100];
        (0..10_000).for_each(|_| counts[skew.draw(&mut random) as usize] += 1);
        counts
    }

    #[test]
    fn zipf_prefers_one_block_by_far() {
        let counts = counts(&Distribution::Zipf { theta: 1.2, centre: Some(0.25) });
        // 1 / (sum of k^-1.2 for k to 100) is 0.277.
        assert!((2600..2950).contains(&counts[25]) && counts[26] > counts[27] && counts[24] < 40, "{counts:?}");
    }

    #[test]
    fn pareto_gives_the_first_fifth_four_fifths() {
        let counts = counts(&Distribution::Pareto { h: 0.2, centre: Some(0.0) });
        assert!((7800..8200).contains(&counts[..20].iter().sum::<u32>()), "{counts:?}");
    }

    #[test]
    fn normal_lies_around_the_middle() {
        let counts = counts(&Distribution::Normal { deviation: 0.1, centre: 0.5 });
        assert!((6600..7000).contains(&counts[40..60].iter().sum::<u32>()), "{counts:?}");
    }

    #[test]
    fn zones_get_their_shares() {
        let zones = vec![
            (LengthOrShare::Percent(10), 60),
            (LengthOrShare::Bytes(20 * 4096), 30),
            (LengthOrShare::Percent(70), 10),
        ];
        let counts = counts(&Distribution::Zoned(zones));
        let sum = |range: core::ops::Range<usize>| counts[range].iter().sum::<u32>();
        assert!(sum(0..10).abs_diff(6000) < 200 && sum(10..30).abs_diff(3000) < 200, "{counts:?}");
    }
}
