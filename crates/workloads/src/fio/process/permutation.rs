//! Every block once, in random order, without a map.
//!
//! **Rule** a keyed permutation of the numbers below 2^b, the least power of two that holds all blocks: the number is
//! split into two halves of bits, and in four rounds one half is XORed with a mix of the other and a round key (a
//! Feistel network). A result that is no block is permuted again until it is one ("cycle walking"; fewer than two
//! rounds on average). So it needs no memory, and block *i* of the order is found in constant time.

const ROUNDS: usize = 4;

/// A random order of the blocks `0..blocks`.
#[derive(Clone, Debug)]
pub(super) struct Permutation {
    blocks: u64,
    low_bits: u32,
    low_mask: u64,
    high_mask: u64,
    keys: [u64; ROUNDS],
}

impl Permutation {
    pub fn new(blocks: u64, key: u64) -> Permutation {
        let bits = (u64::BITS - blocks.saturating_sub(1).leading_zeros()).max(2);
        let low_bits = bits / 2;
        let mut state = key;
        let keys = core::array::from_fn(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            mix(state)
        });
        Permutation { blocks, low_bits, low_mask: (1 << low_bits) - 1, high_mask: (1 << (bits - low_bits)) - 1, keys }
    }

    /// The number of blocks.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The block at `position`, which is below the number of blocks.
    pub fn at(&self, position: u64) -> u64 {
        let mut block = self.permute(position);
        while block >= self.blocks {
            block = self.permute(block);
        }
        block
    }

    fn permute(&self, number: u64) -> u64 {
        let (mut low, mut high) = (number & self.low_mask, number >> self.low_bits);
        for pair in self.keys.chunks_exact(2) {
            high ^= mix(low ^ pair[0]) & self.high_mask;
            low ^= mix(high ^ pair[1]) & self.low_mask;
        }
        high << self.low_bits | low
    }
}

/// Mixes bits, so that every bit of the result depends on every bit of `x` (the finaliser of splitmix64).
pub(in crate::fio) fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_comes_once_for_any_number_of_blocks() {
        for blocks in [1, 2, 3, 4, 5, 7, 8, 9, 100, 255, 256, 257, 1000] {
            let permutation = Permutation::new(blocks, blocks ^ 77);
            let mut seen: Vec<u64> = (0..blocks).map(|i| permutation.at(i)).collect();
            seen.sort_unstable();
            assert!(seen.iter().copied().eq(0..blocks), "{blocks}");
        }
    }

    #[test]
    fn neighbours_in_the_order_lie_far_apart_and_every_key_has_its_own_order() {
        let order = |key| (0..1000).map(|i| Permutation::new(1000, key).at(i)).collect::<Vec<u64>>();
        let distance: u64 = order(1).windows(2).map(|w| w[0].abs_diff(w[1])).sum();
        // Uniform offsets are a third of the region apart on average.
        assert!((300..370).contains(&(distance / 999)), "{}", distance / 999);
        assert_ne!(order(1), order(2));
    }
}
