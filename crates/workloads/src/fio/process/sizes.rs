//! How long each I/O is.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use crate::fio::blocks::{Blocks, pick};

const SECTOR_BYTES: u64 = 512;
/// What does not fit so often is as short as can be.
const MOST_DRAWS: u32 = 256;

/// The lengths of one direction \[sectors\].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sizes {
    One(u32),
    /// Multiples of `unit`, from 1 to `most` of them.
    Range {
        unit: u32,
        most: u32,
    },
    /// Length and share \[%\].
    Split(Vec<(u32, u64)>),
}

impl Sizes {
    pub fn new(blocks: &Blocks) -> Sizes {
        // A direction that is not used may have any size.
        let sectors = |bytes: u64| u32::try_from(bytes / SECTOR_BYTES).unwrap_or(u32::MAX).max(1);
        match blocks {
            Blocks::One(bytes) => Sizes::One(sectors(*bytes)),
            Blocks::Range(from, to) => Sizes::Range { unit: sectors(*from), most: (to / from) as u32 },
            Blocks::Split(parts) => {
                Sizes::Split(parts.iter().map(|(bytes, share)| (sectors(*bytes), *share)).collect())
            }
        }
    }

    pub fn min(&self) -> u32 {
        match self {
            Sizes::One(sectors) | Sizes::Range { unit: sectors, .. } => *sectors,
            Sizes::Split(parts) => parts.iter().map(|part| part.0).min().expect("a mix of sizes has some"),
        }
    }

    pub fn max(&self) -> u32 {
        match self {
            Sizes::One(sectors) => *sectors,
            Sizes::Range { unit, most } => unit * most,
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
            Sizes::Range { unit, most } => unit * random.random_range(1..=*most),
            Sizes::Split(parts) => parts[pick(parts, random.random_range(0..100))].0,
        }
    }
}
