//! The blocks that a random job has visited, if its I/Os have several sizes.
//!
//! **Rule** (tried: offsets that fio 3.33 logged) Each direction numbers its blocks in units of its least size, and all
//! directions share one map of these *numbers*, whose length is the number of smallest blocks in the region. An I/O
//! draws a number, advances to the next free one, wrapping at the map's end, and is cut short at the first that is
//! taken. If the number found is beyond its own direction's last block, the pass over the file is over, however much is
//! left: so a job of 4 KiB reads and 8 KiB writes ends early, and overlaps itself.

use std::collections::BTreeMap;

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// The map, and the random generator for it.
#[derive(Clone, Debug)]
pub(super) struct BlockMap {
    /// How many numbers there are.
    numbers: u64,
    /// A bit for each of 64 numbers; a word without bits is left out.
    words: BTreeMap<u64, u64>,
    random: Pcg64Mcg,
    /// The initial state of `random`: every pass has the same order.
    first: Pcg64Mcg,
}

impl BlockMap {
    pub fn new(numbers: u64, random: Pcg64Mcg) -> BlockMap {
        BlockMap { numbers: numbers.max(1), words: BTreeMap::new(), first: random.clone(), random }
    }

    /// Clears the map and restarts the same random numbers.
    pub fn start_over(&mut self) {
        self.words.clear();
        self.random = self.first.clone();
    }

    /// A free block of a direction that has `blocks` of them; `None` if there is none for it.
    pub fn find(&mut self, blocks: u64) -> Option<u64> {
        let drawn = self.random.random_range(0..blocks.max(1));
        self.free_from(drawn).or_else(|| self.free_from(0)).filter(|first| *first < blocks)
    }

    /// Takes up to `want` from `first` on, until one is already taken; returns how many.
    pub fn take(&mut self, first: u64, want: u64) -> u64 {
        let mut taken = 0;
        while taken < want && !self.is_taken(first + taken) {
            *self.words.entry((first + taken) / 64).or_default() |= 1 << ((first + taken) % 64);
            taken += 1;
        }
        taken
    }

    fn word(&self, word: u64) -> u64 {
        self.words.get(&word).copied().unwrap_or(0)
    }

    fn is_taken(&self, number: u64) -> bool {
        self.word(number / 64) >> (number % 64) & 1 == 1
    }

    /// The first free number from this one on.
    fn free_from(&self, number: u64) -> Option<u64> {
        let mut word = number / 64;
        let mut bits = self.word(word) | ((1 << (number % 64)) - 1);
        while bits == u64::MAX {
            word += 1;
            bits = self.word(word);
        }
        Some(word * 64 + u64::from(bits.trailing_ones())).filter(|free| *free < self.numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn map(numbers: u64) -> BlockMap {
        BlockMap::new(numbers, Pcg64Mcg::seed_from_u64(7))
    }

    fn claims(map: &mut BlockMap, blocks: u64, want: u64) -> Vec<(u64, u64)> {
        let claim = || map.find(blocks).map(|first| (first, map.take(first, want.min(blocks - first))));
        std::iter::from_fn(claim).collect()
    }

    #[test]
    fn every_number_is_taken_once_and_then_none_is_left() {
        let mut map = map(1000);
        let claims = claims(&mut map, 1000, 5);
        assert_eq!(claims.iter().map(|claim| claim.1).sum::<u64>(), 1000);
        let mut seen: Vec<u64> = claims.iter().flat_map(|&(first, count)| first..first + count).collect();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..1000));
    }

    #[test]
    fn a_direction_of_larger_blocks_finds_nothing_behind_its_own_last() {
        let mut map = map(1000);
        let large = claims(&mut map, 500, 1).len();
        assert!((20..500).contains(&large), "{large}");
        map.start_over();
        assert_eq!(claims(&mut map, 500, 1).len(), large, "the same again");
    }
}
