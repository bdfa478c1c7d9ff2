//! The length of each I/O.
//!
//! **Rule** (tried: lengths that fio 3.33 logged) For a range, a number below its end is drawn uniformly, rounded down
//! to a multiple of the range's beginning, and the beginning is added to it, up to the end: `4k-9k` is 4k and 8k in
//! four of nine each and 9k in one. The sizes of a mix are rounded down to multiples of its least. With `bs_unaligned`
//! nothing is rounded: `4k-9k` is 9k in four of nine, and anything between otherwise, here in whole sectors.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use crate::fio::blocks::{Blocks, pick};

const SECTOR_BYTES: u64 = 512;
/// After this many draws that do not fit, the least length is used.
const MOST_DRAWS: u32 = 256;

/// The lengths of one direction \[sectors\].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sizes {
    One(u32),
    /// From the least to the most, in these steps except for the last.
    Range {
        least: u32,
        most: u32,
        step: u32,
    },
    /// Length and share \[%\].
    Split(Vec<(u32, u64)>),
}

impl Sizes {
    pub fn new(blocks: &Blocks, unaligned: bool) -> Sizes {
        // A direction that is not used may have any size.
        let sectors = |bytes: u64| u32::try_from(bytes / SECTOR_BYTES).unwrap_or(u32::MAX).max(1);
        match blocks {
            Blocks::One(bytes) => Sizes::One(sectors(*bytes)),
            Blocks::Range(from, to) => {
                let least = sectors(*from);
                Sizes::Range { least, most: sectors(*to), step: if unaligned { 1 } else { least } }
            }
            Blocks::Split(parts) => {
                let step = if unaligned { 1 } else { sectors(blocks.min()) };
                let whole = |bytes| sectors(bytes) - sectors(bytes) % step;
                Sizes::Split(parts.iter().map(|(bytes, share)| (whole(*bytes), *share)).collect())
            }
        }
    }

    pub fn min(&self) -> u32 {
        match self {
            Sizes::One(sectors) | Sizes::Range { least: sectors, .. } => *sectors,
            Sizes::Split(parts) => parts.iter().map(|part| part.0).min().expect("a mix of sizes has some"),
        }
    }

    pub fn max(&self) -> u32 {
        match self {
            Sizes::One(sectors) | Sizes::Range { most: sectors, .. } => *sectors,
            Sizes::Split(parts) => parts.iter().map(|part| part.0).max().expect("a mix of sizes has some"),
        }
    }

    /// A length of at most `left` sectors: drawn again until it fits (tried).
    pub fn draw_within(&self, left: u64, random: &mut Pcg64Mcg) -> Option<u32> {
        let fits = |length: &u32| u64::from(*length) <= left;
        Some(self.min()).filter(fits)?;
        (0..MOST_DRAWS).map(|_| self.draw(random)).find(fits).or(Some(self.min()))
    }

    pub fn draw(&self, random: &mut Pcg64Mcg) -> u32 {
        match self {
            Sizes::One(sectors) => *sectors,
            Sizes::Range { least, most, step } => {
                // As few numbers as there are lengths, if they are evenly spaced.
                let of = if most % step == 0 { *step } else { 1 };
                let drawn = random.random_range(0..most / of) * of;
                (least + drawn - drawn % step).min(*most)
            }
            Sizes::Split(parts) => parts[pick(parts, random.random_range(0..100))].0,
        }
    }
}
