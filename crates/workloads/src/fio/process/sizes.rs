//! How long each I/O is.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use crate::fio::blocks::{Blocks, pick};

const SECTOR_BYTES: u64 = 512;

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

    pub fn draw(&self, random: &mut Pcg64Mcg) -> u32 {
        match self {
            Sizes::One(sectors) => *sectors,
            Sizes::Range { unit, most } => unit * random.random_range(1..=*most),
            Sizes::Split(parts) => parts[pick(parts, random.random_range(0..100))].0,
        }
    }
}
