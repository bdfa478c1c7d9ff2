//! Numbers that depend on nothing but their seed.

/// Knuth's linear congruential generator of 64 bits (MMIX): numbers that are the same on any machine, for tests that
/// need many different cases and no quality.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next state; its lower bits repeat soon.
    #[allow(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0
    }

    /// A number below `limit`, from the upper bits.
    ///
    /// # Panics
    /// If `limit` is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 33) % limit
    }

    /// One of these.
    ///
    /// # Panics
    /// If there are none.
    pub fn one_of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_these_for_ever() {
        let mut random = Random(1);
        let first = [(); 3].map(|()| random.next());
        assert_eq!(first, [7_806_831_264_735_756_412, 9_396_908_728_118_811_419, 11_960_119_808_228_829_710]);
    }

    #[test]
    fn every_number_below_the_limit_comes_and_no_other() {
        let mut random = Random(7);
        let mut seen = [0; 10];
        (0..1000).for_each(|_| seen[random.below(10) as usize] += 1);
        assert!(seen.iter().all(|&times| times > 50), "{seen:?}");
        assert!([1, 2, 3].contains(random.one_of(&[1, 2, 3])));
    }
}
