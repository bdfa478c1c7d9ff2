//! **What for**: the rates over the disk, as written in its file.
//!
//! **Rule**: if the measured rates fall linearly over the arm's stroke, two rates are sufficient, and `[zones]` has
//! them. If they do not, `[[zone]]` has one zone for each interval between two measured places.

use core::fmt::Write;

use super::super::text::rate;
use super::super::value::Measured;
use super::TurningFindings;
use super::zones::Rates;

/// How far a rate may be from the straight line, as a part of it, beyond its own spread.
const MISSED: f64 = 0.05;

/// How many neighbouring places must be further away.
const IN_A_ROW: usize = 3;

/// What is needed to describe a zone's tracks.
pub(super) struct Tracks {
    pub(super) heads: u32,
    pub(super) track_skew: Measured,
    pub(super) cylinder_skew: Measured,
}

impl Tracks {
    /// The mean increase of a revolution's time \[parts of it\].
    fn skew(&self) -> f64 {
        let heads = f64::from(self.heads);
        (self.track_skew.value * (heads - 1.0) + self.cylinder_skew.value) / heads
    }
}

impl Rates {
    /// Whether the rate falls linearly from the outermost cylinder to the innermost.
    pub(super) fn are_straight(&self) -> bool {
        let (outer, inner) = (self.outer().value, self.inner().value);
        let misses = |((_, rate), part): (&(u64, Measured), &f64)| {
            let line = outer + (inner - outer) * part;
            (rate.value - line).abs() > MISSED * rate.value + rate.spread
        };
        let missed: Vec<bool> = self.at.iter().zip(self.strokes()).map(misses).collect();
        // A host that was busy for a moment makes one place slow, but not its neighbours.
        !missed.windows(IN_A_ROW).any(|places| places.iter().all(|missed| *missed))
    }

    /// First and last cylinder and sectors per track of the region between any two neighbouring places.
    fn stretches(&self, period: f64, tracks: &Tracks, sectors: u64) -> Vec<(u64, u64, u64)> {
        let (mut next, mut found) = (0, Vec::new());
        let last = self.at.len().saturating_sub(2);
        for (nth, pair) in self.at.windows(2).enumerate() {
            let rate = pair[0].1.value.midpoint(pair[1].1.value);
            let per_track = ((rate * period * (1.0 + tracks.skew()) / 512e9).round() as u64).max(1);
            let until = if nth == last { sectors } else { pair[1].0 };
            let cylinder = per_track * u64::from(tracks.heads);
            let cylinders = (until - pair[0].0).div_ceil(cylinder).max(1);
            found.push((next, next + cylinders - 1, per_track));
            next += cylinders;
        }
        found
    }
}

impl TurningFindings {
    /// Writes `[zones]`, or nothing if zone by zone says more.
    pub(super) fn zones(&self, out: &mut String) {
        if !self.rates.are_straight() {
            return;
        }
        let _ = writeln!(out, "\n[zones]\ncount = 20   # FIT: 16 to 30 make no difference");
        let _ = writeln!(out, "outer = {}", rate(self.rates.outer()));
        let _ = writeln!(out, "inner = {}", rate(self.rates.inner()));
    }

    /// Writes `[[zone]]` by `[[zone]]`, if the rates are not linear.
    pub(super) fn zone_by_zone(&self, out: &mut String, tracks: &Tracks, sectors: u64) {
        if self.rates.are_straight() {
            return;
        }
        let _ = writeln!(out, "\n# MEASURED: the rates miss a straight line by more than 5 %, so zone by zone");
        let stretches = self.rates.stretches(self.period.value, tracks, sectors);
        for ((first, last, per_track), (_, measured)) in stretches.into_iter().zip(&self.rates.at) {
            let _ = writeln!(out, "\n[[zone]]\nfirst_cylinder = {first}\nlast_cylinder = {last}");
            let rate = rate(*measured);
            let said = rate.split_once("# ").map_or("MEASURED", |(_, said)| said);
            let _ = writeln!(out, "sectors_per_track = {per_track}   # {said}, {:.1}MB/s", measured.value / 1e6);
            let _ = writeln!(out, "track_skew = \"{:.6}rev\"", tracks.track_skew.value);
            let _ = writeln!(out, "cylinder_skew = \"{:.6}rev\"", tracks.cylinder_skew.value);
        }
    }
}
