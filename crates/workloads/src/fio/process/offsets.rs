//! Where the next block lies.

use blksched::{Dir, PerDir, Sector};
use rand::{Rng, RngExt};
use rand_pcg::Pcg64Mcg;

use super::Script;
use super::permutation::Permutation;
use crate::fio::settings::Order;

/// A job's positions in its region.
#[derive(Clone, Debug)]
pub(super) struct Offsets {
    start: Sector,
    block_sectors: PerDir<u32>,
    blocks: PerDir<u64>,
    walk: Walk,
}

#[derive(Clone, Debug)]
enum Walk {
    /// The next block of each direction.
    Sequential(PerDir<u64>),
    /// Every block once, then again in the same order; reads and writes of equal blocks share one map.
    Covering { done: PerDir<u64>, map: PerDir<Permutation>, shared: bool },
    /// Any block at any time.
    Free(Pcg64Mcg),
}

impl Offsets {
    pub fn new(script: &Script, mut random: Pcg64Mcg) -> Offsets {
        let walk = match script.order {
            Order::Sequential => Walk::Sequential(PerDir::default()),
            Order::Random if script.norandommap => Walk::Free(random),
            Order::Random => Walk::Covering {
                done: PerDir::default(),
                map: PerDir::from_fn(|dir| Permutation::new(script.blocks[dir], random.next_u64())),
                shared: script.block_sectors.read == script.block_sectors.write,
            },
        };
        Offsets { start: script.start, block_sectors: script.block_sectors, blocks: script.blocks, walk }
    }

    /// The next block of this direction.
    pub fn next(&mut self, dir: Dir) -> Sector {
        let blocks = self.blocks[dir];
        let block = match &mut self.walk {
            Walk::Sequential(next) => advance(&mut next[dir], blocks),
            Walk::Covering { done, map, shared } => {
                let key = if *shared { Dir::Read } else { dir };
                map[key].at(advance(&mut done[key], blocks))
            }
            Walk::Free(random) => random.random_range(0..blocks),
        };
        Sector(self.start.0 + block * u64::from(self.block_sectors[dir]))
    }
}

/// Counts up, and from 0 again after `end`.
fn advance(counter: &mut u64, end: u64) -> u64 {
    let here = *counter;
    *counter = if here + 1 < end { here + 1 } else { 0 };
    here
}
