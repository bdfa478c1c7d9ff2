//! A decaying mean: each sample has a weight of 1/8, as in all estimates of CFQ and the anticipatory scheduler.
//!
//! **Rule** `samples = (7·samples + 256)/8`, `total = (7·total + 256·x)/8`; integers in units of 1/256, rounded down.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c5.
//! **Costs when wrong** every idle decision.
//! **In the kernel** `cfq_ttime`.

/// Fixed-point sums of samples, each worth 7/8 of the one after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decaying {
    samples: u64,
    total: u64,
}

impl Decaying {
    /// Adds a sample.
    pub fn add(&mut self, value: u64) {
        self.samples = (7 * self.samples + 256) / 8;
        self.total = (7 * self.total + 256 * value) / 8;
    }

    /// The weight of the samples, in units of 1/256: 0, 32, 60, 84, … 249.
    pub fn samples(self) -> u64 {
        self.samples
    }

    /// The mean, with `half` added before the division; 0 without a sample.
    pub fn mean(self, half: u64) -> u64 {
        (self.total + half).checked_div(self.samples).unwrap_or(0)
    }

    /// Whether there are enough samples for the mean to be valid: from the third on.
    pub fn is_valid(self) -> bool {
        self.samples > 80
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_valid_from_the_third_sample_on() {
        let mut mean = Decaying::default();
        let mut seen = Vec::new();
        for _ in 0..3 {
            mean.add(10);
            seen.push((mean.samples(), mean.is_valid()));
        }
        assert_eq!(seen, [(32, false), (60, false), (84, true)]);
        assert_eq!(mean.mean(0), 10);
    }

    #[test]
    fn it_forgets() {
        let mut mean = Decaying::default();
        (0..50).for_each(|_| mean.add(1000));
        (0..50).for_each(|_| mean.add(0));
        assert!(mean.mean(0) < 5, "{}", mean.mean(0));
    }
}
