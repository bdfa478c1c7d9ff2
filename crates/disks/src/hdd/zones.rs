//! **What for**: outer tracks hold more sectors than inner ones, so the same disk is fast at its start and slow at its
//! end.
//!
//! **Rule**: the configured rates are *sustained* rates, as a benchmark or a data sheet gives them: track switches
//! included. Zone `i` of `n` sustains `outer - (outer - inner) * i / (n - 1)`; its sectors per track are that rate
//! times (one revolution + the mean skew), rounded. All zones have the same number of cylinders. LBAs fill a cylinder
//! head by head, then the next cylinder, outermost first.
//!
//! **Shown by**: eight jobs spread over a disk get +12 % to -14 % of the mean although each gets the same time.
//! **Costs when wrong**: a scheduler that is fair in time looks unfair in bytes, or the reverse.

use super::divisor::Divisor;
use crate::HddSpec;

/// Bytes in a sector.
const SECTOR_BYTES: f64 = 512.0;

/// Cylinders with the same number of sectors per track.
#[derive(Clone, Debug)]
pub(super) struct Zone {
    /// Its first sector.
    pub(super) first: u64,
    /// Its first cylinder, counted from the outermost.
    pub(super) first_cylinder: i32,
    /// How many cylinders.
    pub(super) cylinders: i32,
    /// Sectors on each of its tracks.
    pub(super) per_track: Divisor,
    /// The time the head is over one sector \[ns / 2^32\].
    pub(super) sector_time: u64,
}

/// The disk's zones, outermost first; together they hold at least the configured capacity.
pub(super) fn lay_out(spec: &HddSpec, revolution_ns: u64, mean_skew_ns: f64) -> Vec<Zone> {
    let heads = u64::from(spec.geometry.heads);
    let count = spec.zones.count;
    let track_s = (revolution_ns as f64 + mean_skew_ns) / 1e9;
    let per_track: Vec<u64> = (0..count).map(|zone| sectors_per_track(spec, zone, track_s)).collect();
    let per_cylinder_of_all: u64 = per_track.iter().map(|sectors| sectors * heads).sum();
    let cylinders = spec.capacity_sectors.div_ceil(per_cylinder_of_all);
    let mut zones = Vec::with_capacity(count as usize);
    let mut first = 0;
    for (index, &sectors) in (0u64..).zip(&per_track) {
        zones.push(Zone {
            first,
            first_cylinder: (index * cylinders) as i32,
            cylinders: cylinders as i32,
            per_track: Divisor::new(sectors),
            sector_time: (revolution_ns << 32) / sectors,
        });
        first += cylinders * heads * sectors;
    }
    zones
}

fn sectors_per_track(spec: &HddSpec, zone: u32, track_s: f64) -> u64 {
    let (outer, inner) = (spec.zones.outer.bytes_per_s() as f64, spec.zones.inner.bytes_per_s() as f64);
    let inward = if spec.zones.count > 1 { f64::from(zone) / f64::from(spec.zones.count - 1) } else { 0.0 };
    let rate = outer - (outer - inner) * inward;
    // `round` is exact on every platform, and so are the four operations before it.
    ((rate * track_s / SECTOR_BYTES).round() as u64).max(1)
}
