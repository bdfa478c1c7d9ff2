//! A small reproducible source of choices.

/// Knuth's linear congruential generator (MMIX).
pub struct Dice(pub u64);

impl Dice {
    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    /// An index into so many things.
    pub fn index(&mut self, count: usize) -> usize {
        self.below(count as u64) as usize
    }
}
