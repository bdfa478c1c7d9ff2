//! **What for**: the time of arm movements.
//!
//! **Rule**: with `d` cylinders to go of `C`, `t(d) = min + (average - min) * sqrt(d / (C/3))` up to a third of the
//! stroke (the mean distance of two random places), then linearly to `max` at full stroke. A switch to another head of
//! the same cylinder costs `head_switch`. A write after any such move waits `write_settle` more, because it may not
//! begin before the arm has settled.
//!
//! **Origin**: the usual shape (square root while accelerating and braking, straight when coasting).
//! **Costs when wrong**: least of all the mechanisms here; the experiments hardly change with it.

use blksched::Span;

use crate::SeekSpec;

/// The curve, ready to be evaluated.
#[derive(Clone, Debug)]
pub(super) struct SeekCurve {
    min_ns: f64,
    /// A third of the stroke \[cylinders\].
    knee: f64,
    /// \[ns per root of a cylinder\] up to the knee.
    root_ns: f64,
    /// \[ns per cylinder\] beyond the knee.
    slope_ns: f64,
    head_switch_ns: i32,
    write_settle_ns: i32,
    acquire_ns: i32,
    /// The measured times by distance \[ns\]; empty if the curve is not measured.
    measured: Vec<i32>,
}

impl SeekCurve {
    pub(super) fn new(spec: &SeekSpec, points: &[(u32, Span)], cylinders: u32) -> SeekCurve {
        let ns = |span: Span| span.as_ns() as f64;
        let stroke = f64::from(cylinders.max(2) - 1);
        let knee = stroke / 3.0;
        SeekCurve {
            min_ns: ns(spec.min),
            knee,
            root_ns: (ns(spec.average) - ns(spec.min)) / knee.sqrt(),
            slope_ns: (ns(spec.max) - ns(spec.average)) / (stroke - knee),
            head_switch_ns: spec.head_switch.as_ns() as i32,
            write_settle_ns: spec.write_settle.as_ns() as i32,
            acquire_ns: spec.acquire.as_ns() as i32,
            measured: if points.is_empty() { Vec::new() } else { between(points, cylinders) },
        }
    }

    /// From one track to another, `distance` cylinders away and on the same head or not \[ns\].
    ///
    /// `f64::sqrt` is IEEE 754's correctly rounded one, so this is the same on every platform.
    #[inline]
    pub(super) fn move_ns(&self, distance: i32, same_head: bool) -> i32 {
        if let Some(&measured) = self.measured.get(distance as usize).filter(|_| distance > 0) {
            return measured;
        }
        let arm = self.arm_ns(f64::from(distance)) as i32;
        let switch = if same_head { 0 } else { self.head_switch_ns };
        if distance > 0 { arm } else { switch }
    }

    /// The seek time over this many cylinders by the rule \[ns\].
    #[inline]
    pub(super) fn arm_ns(&self, cylinders: f64) -> f64 {
        let short = if cylinders < self.knee { cylinders } else { self.knee };
        self.min_ns + self.root_ns * short.sqrt() + self.slope_ns * (cylinders - short)
    }

    /// A third of the stroke \[cylinders\]: where the root ends.
    pub(super) fn knee(&self) -> f64 {
        self.knee
    }

    /// Whether [`SeekCurve::estimate`] is not usable, because the curve is measured.
    pub(super) fn is_measured(&self) -> bool {
        !self.measured.is_empty()
    }

    /// The wait of a read that needs no move \[ns\].
    pub(super) fn acquire_ns(&self) -> i32 {
        self.acquire_ns
    }

    /// The same in single precision.
    pub(super) fn estimate(&self) -> SeekEstimate {
        SeekEstimate {
            min_ns: self.min_ns as f32,
            knee: self.knee as f32,
            root_ns: self.root_ns as f32,
            slope_ns: self.slope_ns as f32,
            head_switch_ns: self.head_switch_ns as f32,
        }
    }

    /// The wait of a write after a move \[ns\].
    #[inline]
    pub(super) fn write_settle_ns(&self) -> i32 {
        self.write_settle_ns
    }
}

/// The curve in single precision, for choosing.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeekEstimate {
    min_ns: f32,
    knee: f32,
    root_ns: f32,
    slope_ns: f32,
    head_switch_ns: f32,
}

impl SeekEstimate {
    /// Like [`SeekCurve::move_ns`], to a few nanoseconds; `cylinders` is a whole number.
    #[inline(always)]
    pub(super) fn move_ns(&self, cylinders: f32, same_head: bool) -> f32 {
        let short = if cylinders < self.knee { cylinders } else { self.knee };
        let arm = self.min_ns + self.root_ns * short.sqrt() + self.slope_ns * (cylinders - short);
        let switch = if same_head { 0.0 } else { self.head_switch_ns };
        if cylinders > 0.0 { arm } else { switch }
    }
}

/// Interpolates linearly between measured points, for every distance; constant beyond the last.
fn between(points: &[(u32, Span)], cylinders: u32) -> Vec<i32> {
    let ns = |span: Span| span.as_ns() as i64;
    let at = |distance: u32| {
        let next = points.partition_point(|&(point, _)| point <= distance);
        let (Some(&(low, low_time)), Some(&(high, high_time))) = (points[..next].last(), points.get(next)) else {
            return ns(points[next.saturating_sub(1)].1) as i32;
        };
        let part = i64::from(distance - low) * (ns(high_time) - ns(low_time)) / i64::from(high - low);
        (ns(low_time) + part) as i32
    };
    (0..=cylinders).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hdd::tests_support::{TestRandom, hdd_spec};

    const CYLINDERS: i32 = 60_001;

    fn curve() -> SeekCurve {
        SeekCurve::new(&hdd_spec("ide-2002").seek, &[], CYLINDERS as u32)
    }

    #[test]
    fn a_seek_costs_more_than_none_and_a_longer_one_never_less() {
        let curve = curve();
        assert_eq!(curve.move_ns(0, true), 0);
        assert_eq!(curve.move_ns(0, false), 900_000, "a head switch");
        let times: Vec<i32> = (1..CYLINDERS).map(|distance| curve.move_ns(distance, true)).collect();
        assert!(times.is_sorted() && times[0] > 0);
    }

    #[test]
    fn a_measured_curve_passes_through_its_points_and_in_straight_lines_between_them() {
        let points = [(1, Span::from_ms(1)), (3, Span::from_ms(2)), (10, Span::from_ms(9))];
        let curve = SeekCurve::new(&hdd_spec("ide-2002").seek, &points, 20);
        let times: Vec<i32> = [1, 2, 3, 4, 10, 20].map(|distance| curve.move_ns(distance, false) / 1000).to_vec();
        assert_eq!(times, [1_000, 1_500, 2_000, 3_000, 9_000, 9_000]);
        assert_eq!((curve.move_ns(0, true), curve.move_ns(0, false)), (0, 900_000));
    }

    #[test]
    fn the_curve_passes_through_its_three_points() {
        let (curve, spec) = (curve(), hdd_spec("ide-2002").seek);
        let near = |ns: i32, span: Span, within_us: u64| (ns as u64).abs_diff(span.as_ns()) < within_us * 1000;
        assert!(near(curve.move_ns(1, true), spec.min, 60), "{}", curve.move_ns(1, true));
        assert!(near(curve.move_ns((CYLINDERS - 1) / 3, false), spec.average, 1));
        assert!(near(curve.move_ns(CYLINDERS - 1, false), spec.max, 1));
    }

    #[test]
    fn the_mean_over_random_pairs_is_near_the_configured_average() {
        let (curve, spec) = (curve(), hdd_spec("ide-2002").seek);
        let mut random = TestRandom(1);
        let mut place = || random.below(CYLINDERS as u64) as i32;
        let pairs = 200_000u64;
        let total: u64 = (0..pairs).map(|_| curve.move_ns((place() - place()).abs(), true) as u64).sum();
        let mean_ms = total as f64 / pairs as f64 / 1e6;
        // The integral of the curve over the triangular density of distances: 5/9 min + 0.35556 (average - min)
        // + 4/9 average + 0.14815 (max - average).
        let (min, average, max) = (spec.min.as_ms_f64(), spec.average.as_ms_f64(), spec.max.as_ms_f64());
        let exact = 5.0 / 9.0 * min + 0.355_56 * (average - min) + 4.0 / 9.0 * average + 0.148_15 * (max - average);
        assert!((mean_ms - exact).abs() < 0.03, "{mean_ms} {exact}");
        assert!((mean_ms / average - 1.0).abs() < 0.05, "{mean_ms}");
    }
}
