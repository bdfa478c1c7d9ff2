//! Division by a number known at set-up: one multiplication and one correction instead of a 64-bit division.

/// Divides any `u64` by a constant, exactly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Divisor {
    by: u64,
    /// `(2^64 - 1) / by`; the quotient estimated with it is correct or one too small.
    reciprocal: u64,
}

impl Divisor {
    /// # Panics
    /// If `by` is 0.
    pub(super) fn new(by: u64) -> Divisor {
        Divisor { by, reciprocal: u64::MAX / by }
    }

    /// Quotient and remainder.
    #[inline]
    pub(super) fn div_rem(self, number: u64) -> (u64, u64) {
        let estimate = ((u128::from(number) * u128::from(self.reciprocal)) >> 64) as u64;
        let rest = number - estimate * self.by;
        let short = u64::from(rest >= self.by);
        (estimate + short, rest - short * self.by)
    }

    /// The divisor.
    pub(super) fn get(self) -> u64 {
        self.by
    }
}

#[cfg(test)]
mod tests {
    use super::Divisor;

    #[test]
    fn it_agrees_with_real_division_everywhere() {
        for by in [1, 2, 3, 63, 737, 8_333_333, 1 << 32, (1 << 63) + 1, u64::MAX] {
            let divisor = Divisor::new(by);
            let near = |n: u64| [n.wrapping_sub(1), n, n.wrapping_add(1)];
            let multiples = (0..64).map(|bit| (1u64 << bit).wrapping_mul(by)).flat_map(near);
            for number in multiples.chain((0..64).map(|bit| 1u64 << bit).flat_map(near)) {
                assert_eq!(divisor.div_rem(number), (number / by, number % by), "{number} / {by}");
            }
        }
    }
}
