//! **What for**: the platters turn whether anybody reads or not; the angle is a function of the time alone.
//!
//! **Rule**: `angle(t) = (t + phase) mod revolution`, in nanoseconds of a revolution. The phase is the only thing the
//! seed decides.
//!
//! **Costs when wrong**: half a revolution per random command, and a whole one for a sequential write that comes a
//! moment late.

use blksched::{Instant, Span};

use super::divisor::Divisor;

/// The turning platters.
#[derive(Clone, Debug)]
pub(super) struct Platters {
    revolution: Divisor,
    phase_ns: u64,
}

impl Platters {
    pub(super) fn new(revolution: Span, seed: u64) -> Platters {
        let revolution = Divisor::new(revolution.as_ns());
        Platters { revolution, phase_ns: revolution.div_rem(scramble(seed)).1 }
    }

    /// What is under the heads at `at` \[ns of a revolution\].
    #[inline]
    pub(super) fn angle(&self, at: Instant) -> u32 {
        self.revolution.div_rem(at.as_ns() + self.phase_ns).1 as u32
    }

    /// How long from `angle` until `target` comes round, but not before `busy_ns` have passed \[ns, `busy_ns`
    /// included\].
    #[inline]
    pub(super) fn until(&self, angle: u32, target: u32, busy_ns: u32) -> u64 {
        let revolution = self.revolution.get();
        let ahead = if target >= angle { u64::from(target - angle) } else { u64::from(target) + revolution - u64::from(angle) };
        let (turns, _) = self.revolution.div_rem(u64::from(busy_ns) + (revolution - 1) - ahead);
        ahead + turns * revolution
    }

    /// One revolution.
    pub(super) fn revolution(&self) -> Span {
        Span::from_ns(self.revolution.get())
    }
}

/// Spreads neighbouring seeds over all angles (the finaliser of SplitMix64).
fn scramble(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REVOLUTION: u64 = 8_333_333;

    fn platters() -> Platters {
        Platters::new(Span::from_ns(REVOLUTION), 5)
    }

    #[test]
    fn a_sector_just_missed_costs_one_revolution() {
        let platters = platters();
        assert_eq!(platters.until(1000, 1000, 0), 0);
        assert_eq!(platters.until(1000, 999, 0), REVOLUTION - 1);
        assert_eq!(platters.until(1000, 1500, 500), 500);
        assert_eq!(platters.until(1000, 1500, 501), 500 + REVOLUTION);
        assert_eq!(platters.until(1000, 1500, 20_000_000), 500 + 3 * REVOLUTION);
    }

    #[test]
    fn the_angle_is_the_time_modulo_a_revolution() {
        let platters = platters();
        let start = u64::from(platters.angle(Instant::ZERO));
        for ns in [1, REVOLUTION - 1, REVOLUTION, 1_000_000_007, 86_400_000_000_000] {
            assert_eq!(u64::from(platters.angle(Instant::from_ns(ns))), (start + ns) % REVOLUTION);
        }
    }

    #[test]
    fn seeds_begin_at_different_angles() {
        let angles: std::collections::BTreeSet<u32> =
            (0..100).map(|seed| Platters::new(Span::from_ns(REVOLUTION), seed).angle(Instant::ZERO)).collect();
        assert_eq!(angles.len(), 100);
    }
}
