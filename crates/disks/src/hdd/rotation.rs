//! **What for**: the platters rotate whether there are reads or not; the angle is a function of time only.
//!
//! **Rule**: `angle(t) = (t + phase) mod revolution`, in nanoseconds of a revolution. The seed determines only the
//! phase.
//!
//! **Costs when wrong**: half a revolution per random command, and a whole one for a sequential write that arrives a
//! moment late.

use blksched::{Instant, Span};

use super::divisor::Divisor;

/// The rotating platters.
#[derive(Clone, Debug)]
pub(super) struct Platters {
    revolution: Divisor,
    phase_ns: u64,
    revolution_ns: i32,
    revolutions_per_ns: f64,
}

impl Platters {
    pub(super) fn new(revolution: Span, seed: u64) -> Platters {
        let revolution = Divisor::new(revolution.as_ns());
        let revolution_ns = i32::try_from(revolution.get()).expect("slower than 30 rpm is refused when it is read");
        Platters {
            revolution,
            phase_ns: revolution.div_rem(scramble(seed)).1,
            revolution_ns,
            revolutions_per_ns: 1.0 / f64::from(revolution_ns),
        }
    }

    /// What is under the heads at `at` \[ns of a revolution\].
    #[inline]
    pub(super) fn angle(&self, at: Instant) -> i32 {
        self.revolution.div_rem(at.as_ns() + self.phase_ns).1 as i32
    }

    /// The time from `angle` until `target` arrives, but not before `busy_ns` have passed \[ns, including `busy_ns`\].
    ///
    /// The rounding of the estimated number of revolutions does not matter: the two corrections make it exact.
    #[inline]
    pub(super) fn until(&self, angle: i32, target: i32, busy_ns: i32) -> i32 {
        let ahead = target - angle;
        let ahead = ahead + if ahead < 0 { self.revolution_ns } else { 0 };
        let turns = (f64::from(busy_ns + (self.revolution_ns - 1) - ahead) * self.revolutions_per_ns) as i32;
        let there = ahead + turns * self.revolution_ns;
        let there = there + if there < busy_ns { self.revolution_ns } else { 0 };
        there - if there - self.revolution_ns >= busy_ns { self.revolution_ns } else { 0 }
    }

    /// [`Platters::until`] in single precision, for choosing.
    pub(super) fn estimate(&self) -> TurnEstimate {
        TurnEstimate {
            revolution: self.revolution_ns,
            revolution_ns: self.revolution_ns as f32,
            revolutions_per_ns: self.revolutions_per_ns as f32,
        }
    }

    /// One revolution.
    pub(super) fn revolution(&self) -> Span {
        Span::from_ns(self.revolution.get())
    }
}

/// The wait for an angle, in single precision.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnEstimate {
    revolution: i32,
    revolution_ns: f32,
    revolutions_per_ns: f32,
}

/// Added and subtracted again, it rounds a small float to a whole number, without the checks of a conversion.
const ROUNDER: f32 = 12_582_912.0; // 1.5 * 2^23

impl TurnEstimate {
    /// Like [`Platters::until`], to a few nanoseconds; exact if `busy_ns` is 0.
    #[inline(always)]
    pub(super) fn until(&self, angle: i32, target: i32, busy_ns: f32) -> f32 {
        let ahead = target - angle;
        let ahead = (ahead + if ahead < 0 { self.revolution } else { 0 }) as f32;
        let turns = ((busy_ns - ahead) * self.revolutions_per_ns + 0.5 + ROUNDER) - ROUNDER;
        let turns = if turns > 0.0 { turns } else { 0.0 };
        let there = ahead + turns * self.revolution_ns;
        let there = there + if there < busy_ns { self.revolution_ns } else { 0.0 };
        // One revolution too many only if there was one: `ahead` alone is less than a revolution.
        let before = there - self.revolution_ns;
        if before >= busy_ns { before } else { there }
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
        let revolution = REVOLUTION as i32;
        assert_eq!(platters.until(1000, 999, 0), revolution - 1);
        assert_eq!(platters.until(1000, 1500, 500), 500);
        assert_eq!(platters.until(1000, 1500, 501), 500 + revolution);
        assert_eq!(platters.until(1000, 1500, 20_000_000), 500 + 3 * revolution);
        for turns in 0..100 {
            let exact = turns * revolution;
            assert_eq!(platters.until(7, 7, exact), exact);
            assert_eq!(platters.until(7, 7, exact + 1), exact + revolution);
        }
    }

    #[test]
    fn the_angle_is_the_time_modulo_a_revolution() {
        let platters = platters();
        let start = platters.angle(Instant::ZERO) as u64;
        for ns in [1, REVOLUTION - 1, REVOLUTION, 1_000_000_007, 86_400_000_000_000] {
            assert_eq!(platters.angle(Instant::from_ns(ns)) as u64, (start + ns) % REVOLUTION);
        }
    }

    #[test]
    fn seeds_begin_at_different_angles() {
        let angles: std::collections::BTreeSet<i32> =
            (0..100).map(|seed| Platters::new(Span::from_ns(REVOLUTION), seed).angle(Instant::ZERO)).collect();
        assert_eq!(angles.len(), 100);
    }
}
