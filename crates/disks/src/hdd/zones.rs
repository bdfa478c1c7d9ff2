//! **What for**: outer tracks hold more sectors than inner ones, so the same disk is fast at its start and slow at its
//! end.
//!
//! **Rule**: the configured rates are *sustained* rates, as a benchmark or a data sheet gives them: track switches
//! included. Zone `i` of `n` sustains `outer - (outer - inner) * i / (n - 1)`; its sectors per track are that rate
//! times (one revolution + the mean skew), rounded. All zones have the same number of cylinders. LBAs fill a cylinder
//! head by head, then the next cylinder, outermost first. A disk described zone by zone has its own zones, skews and
//! [`gaps`](super::gaps) instead.
//!
//! **Shown by**: eight jobs spread over a disk get +12 % to -14 % of the mean although each gets the same time.
//! **Costs when wrong**: a scheduler that is fair in time looks unfair in bytes, or the reverse.

use blksched::Span;

use super::divisor::Divisor;
use super::gaps::Gaps;
use crate::{HddSpec, HeadOrder, LayoutSpec};

/// Bytes in a sector.
const SECTOR_BYTES: f64 = 512.0;

/// Cylinders with the same number of sectors per track.
#[derive(Clone, Debug)]
pub(super) struct Zone {
    /// Its first sector.
    pub(super) first: u64,
    /// Its first cylinder, counted from the outermost.
    pub(super) first_cylinder: i32,
    /// The number of cylinders.
    pub(super) cylinders: i32,
    /// Sectors on each of its tracks.
    pub(super) per_track: Divisor,
    /// The time that the head is over one sector \[ns / 2^32\].
    pub(super) sector_time: u64,
    /// Where it begins on the spiral \[ns\].
    pub(super) begin: u64,
    /// A revolution and a head switch \[ns\].
    pub(super) track_ns: u64,
    /// What a step to the next cylinder costs beyond a head switch \[ns\]; may be negative, modulo 2^64.
    pub(super) extra_ns: u64,
    /// All tracks of a cylinder \[ns\].
    pub(super) cylinder_ns: Divisor,
    /// Sectors without host data, if there are any.
    pub(super) gaps: Option<Gaps>,
    /// Which of its cylinders go from the last head to the first.
    pub(super) backwards: Backwards,
}

/// Cylinders whose tracks go from the last head to the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backwards {
    None,
    /// The odd ones, counted from the zone's first.
    Odd,
    /// The even ones.
    Even,
}

impl Backwards {
    fn of(order: HeadOrder, first_cylinder: u32) -> Backwards {
        match order {
            HeadOrder::Same => Backwards::None,
            HeadOrder::AlternatingByCylinder if !first_cylinder.is_multiple_of(2) => Backwards::Even,
            HeadOrder::Alternating | HeadOrder::AlternatingByCylinder => Backwards::Odd,
        }
    }

    /// Whether this cylinder, counted from the zone's first, is one of them.
    pub(super) fn has(self, cylinder: u64) -> bool {
        match self {
            Backwards::None => false,
            Backwards::Odd => !cylinder.is_multiple_of(2),
            Backwards::Even => cylinder.is_multiple_of(2),
        }
    }
}

/// The disk's zones, outermost first; together they hold at least the configured capacity.
pub(super) fn lay_out(spec: &HddSpec) -> Vec<Zone> {
    match &spec.layout {
        Some(layout) => measured(layout, spec.revolution()),
        None => in_a_line(spec),
    }
}

/// Zones with linearly decreasing rates.
fn in_a_line(spec: &HddSpec) -> Vec<Zone> {
    let revolution_ns = spec.revolution().as_ns();
    let track_skew = spec.geometry.track_skew.of(spec.revolution()).as_ns();
    let cylinder_skew = spec.geometry.cylinder_skew.of(spec.revolution()).as_ns();
    let (heads, count) = (u64::from(spec.geometry.heads), spec.zones.count);
    let mean_skew_ns = ((heads - 1) * track_skew + cylinder_skew) as f64 / heads as f64;
    let track_s = (revolution_ns as f64 + mean_skew_ns) / 1e9;
    let per_track: Vec<u64> = (0..count).map(|zone| sectors_per_track(spec, zone, track_s)).collect();
    let per_cylinder_of_all: u64 = per_track.iter().map(|sectors| sectors * heads).sum();
    let cylinders = spec.capacity_sectors.div_ceil(per_cylinder_of_all);
    let (track_ns, extra_ns) = (revolution_ns + track_skew, cylinder_skew - track_skew);
    let cylinder_ns = heads * track_ns + extra_ns;
    let mut zones = Vec::with_capacity(count as usize);
    let mut first = 0;
    for (index, &sectors) in (0u64..).zip(&per_track) {
        zones.push(Zone {
            first,
            first_cylinder: (index * cylinders) as i32,
            cylinders: cylinders as i32,
            per_track: Divisor::new(sectors),
            sector_time: (revolution_ns << 32) / sectors,
            begin: index * cylinders * cylinder_ns,
            track_ns,
            extra_ns,
            cylinder_ns: Divisor::new(cylinder_ns),
            gaps: None,
            backwards: Backwards::None,
        });
        first += cylinders * heads * sectors;
    }
    zones
}

/// Zones as they were measured.
fn measured(layout: &LayoutSpec, revolution: Span) -> Vec<Zone> {
    let (revolution_ns, heads) = (revolution.as_ns(), u64::from(layout.heads));
    let (mut first, mut end) = (0, 0);
    let mut zones = Vec::with_capacity(layout.zones.len());
    for zone in &layout.zones {
        let sectors = u64::from(zone.per_track);
        let [track_skew, cylinder_skew, offset] =
            [zone.track_skew, zone.cylinder_skew, zone.offset].map(|turn| turn.of(revolution).as_ns());
        let (track_ns, extra_ns) = (revolution_ns + track_skew, cylinder_skew.wrapping_sub(track_skew));
        let cylinder_ns = (heads * track_ns).wrapping_add(extra_ns);
        let cylinders = u64::from(zone.last_cylinder - zone.first_cylinder + 1);
        // The spiral continues where the zone's first sector comes round next.
        let begin = end + (offset + revolution_ns - end % revolution_ns) % revolution_ns;
        zones.push(Zone {
            first,
            first_cylinder: zone.first_cylinder as i32,
            cylinders: cylinders as i32,
            per_track: Divisor::new(sectors),
            sector_time: (revolution_ns << 32) / sectors,
            begin,
            track_ns,
            extra_ns,
            cylinder_ns: Divisor::new(cylinder_ns),
            gaps: Gaps::of(zone, layout.heads),
            backwards: Backwards::of(layout.order, zone.first_cylinder),
        });
        let (held, gaps) = (zone.sectors(layout.heads), zones.last().and_then(|zone: &Zone| zone.gaps.as_ref()));
        first += held;
        // The head leaves the zone after its last host sector, not after its spares.
        let last_track = gaps.map_or(held - 1, |gaps| gaps.place(held - 1)) / sectors;
        end = (begin + (last_track + 1) * track_ns).wrapping_add((last_track / heads + 1).wrapping_mul(extra_ns));
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
