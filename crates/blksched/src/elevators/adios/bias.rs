//! The bias between reads and the rest.
//!
//! **Rule** Reads are favoured while the bias is not negative. The favoured side goes first without charge as long as
//! its head is not due later than the other side's; each time it is taken out of order it is charged, reads by
//! `read_priority`'s weight (17 % of the prediction at the default of 8), the rest by all of it.
//! **Origin** docs/behaviour/adios-3.1.md#a6. Where the prediction is 0 the bias is *assigned* (#a13, trap 10).

use super::kind::Side;

/// The weights of `read_priority` -20 to 19, of 1024.
const WEIGHTS: [u64; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121, 2501,
    1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
];

/// The bias; negative if the others are favoured.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bias(i64);

impl Bias {
    pub(super) fn favoured(self) -> Side {
        if self.0 < 0 { Side::Others } else { Side::Reads }
    }

    /// Charges a request of `side` that is taken out of order.
    pub(super) fn charge(&mut self, side: Side, predicted: u64, read_priority: i32) {
        let (sign, weight) = match side {
            Side::Reads => (-1, WEIGHTS[usize::try_from(read_priority + 20).unwrap_or(0).min(39)]),
            Side::Others => (1, 1024),
        };
        match predicted {
            0 => self.0 = sign,
            _ => self.0 = self.0.wrapping_add(sign * (predicted.wrapping_mul(weight) / 1024) as i64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_read_out_of_turn_favours_the_others_until_they_have_paid() {
        let mut bias = Bias::default();
        assert_eq!(bias.favoured(), Side::Reads);
        bias.charge(Side::Reads, 100_000, 8);
        assert_eq!((bias.0, bias.favoured()), (-16_796, Side::Others));
        bias.charge(Side::Others, 16_796, 8);
        assert_eq!(bias.favoured(), Side::Reads);
        bias.charge(Side::Reads, 0, 8);
        assert_eq!(bias.0, -1);
    }
}
