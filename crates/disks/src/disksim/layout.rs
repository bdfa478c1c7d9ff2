//! Zones, skews and spares.

use blksched::Span;

use super::drive::numbers;
use super::fields::Fields;
use super::keys;
use super::syntax::Value;
use crate::{DiskError, LayoutSpec, Turn, ZoneSpec};

const MOST_CYLINDERS: u64 = 10_000_000;

/// Where spares lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sparing {
    /// This many tracks at the end of each zone.
    TracksOfZone,
    /// This many sectors at the end of each zone.
    Zone,
    /// At the end of each range of cylinders.
    Cylinders(u64),
    /// At the end of each track.
    Track,
}

impl Sparing {
    fn name(self) -> &'static str {
        match self {
            Sparing::TracksOfZone => "tracks at the end of each zone",
            Sparing::Zone => "sectors at the end of each zone",
            Sparing::Cylinders(1) => "sectors at the end of each cylinder",
            Sparing::Cylinders(_) => "sectors at the end of each range of cylinders",
            Sparing::Track => "sectors at the end of each track",
        }
    }
}

/// The layout, and how many sectors the drive has for its host.
pub(super) fn read(
    model: &Fields<'_, '_>,
    heads: u32,
    curve: &[(u32, Span)],
    notes: &mut Vec<String>,
) -> Result<(LayoutSpec, u64), DiskError> {
    let fields = Fields::of(model.file, model.block("Layout Model")?, keys::LAYOUT, notes)?;
    if fields.block.kind != "dm_layout_g1" {
        return Err(model.wrong("Layout Model", "`dm_layout_g1 { … }`"));
    }
    if fields.count("LBN-to-PBN mapping scheme", 10)? != 0 {
        return Err(fields.wrong("LBN-to-PBN mapping scheme", "0: track by track, cylinder by cylinder"));
    }
    let range = fields.count("Rangesize for sparing", 100_000)?.max(1);
    let blocks = model.count("Block count", 2_000_000_000_000)?;
    let stroke = curve.last().map_or(0, |&(distance, _)| distance);
    let scheme = fields.count("Sparing scheme used", 20)?;
    let candidates = match scheme {
        0 | 7 | 9 => vec![Sparing::Zone],
        1 => vec![Sparing::TracksOfZone],
        8 => vec![Sparing::Cylinders(range)],
        // Not described in what we have: the one under which the drive's blocks end where its arm's way does.
        _ => {
            vec![Sparing::Cylinders(1), Sparing::Track, Sparing::Zone, Sparing::Cylinders(range), Sparing::TracksOfZone]
        }
    };
    let mut best: Option<(u64, Sparing, LayoutSpec)> = None;
    for &sparing in &candidates {
        let Ok(zones) = zones(&fields, heads, sparing, notes) else { continue };
        let layout = LayoutSpec { heads, zones };
        if candidates.len() > 1 && layout.sectors() < blocks {
            continue;
        }
        let off = last_cylinder(&layout, blocks).abs_diff(stroke.into());
        if best.as_ref().is_none_or(|(least, _, _)| off < *least) {
            best = Some((off, sparing, layout));
        }
    }
    let (_, sparing, layout) = match best {
        Some(best) => best,
        None => (0, candidates[0], LayoutSpec { heads, zones: zones(&fields, heads, candidates[0], notes)? }),
    };
    if candidates.len() > 1 {
        notes.push(format!(
            "`Sparing scheme used = {scheme}` is taken for {}: so the blocks fill the stroke",
            sparing.name()
        ));
    }
    notes.sort();
    notes.dedup();
    let held = layout.sectors();
    let sectors = if blocks > held || last_cylinder(&layout, blocks) + TOLERANCE < stroke.into() {
        notes.push(format!(
            "`Block count = {blocks}` contradicts the zones ({held} sectors) or the seeks (up to {stroke} cylinders): \
             the zones are believed"
        ));
        held
    } else {
        blocks
    };
    Ok((layout, sectors))
}

/// How many the drive says it has.
pub(super) fn cylinders(model: &Fields<'_, '_>) -> Result<u32, DiskError> {
    Ok(model.count("Number of cylinders", MOST_CYLINDERS)? as u32)
}

/// Cylinders that a drive may keep for itself within the stroke that was measured.
const TOLERANCE: u64 = 32;

/// The cylinder of the last of this many sectors.
fn last_cylinder(layout: &LayoutSpec, sectors: u64) -> u64 {
    let mut left = sectors;
    for zone in &layout.zones {
        let here = zone.sectors(layout.heads);
        if left <= here {
            let cylinders = u64::from(zone.last_cylinder - zone.first_cylinder);
            return u64::from(zone.first_cylinder) + cylinders * left / here.max(1);
        }
        left -= here;
    }
    layout.zones.last().map_or(0, |zone| zone.last_cylinder.into())
}

fn zones(
    layout: &Fields<'_, '_>,
    heads: u32,
    sparing: Sparing,
    notes: &mut Vec<String>,
) -> Result<Vec<ZoneSpec>, DiskError> {
    let list = layout.list("Zones")?;
    if list.is_empty() || list.len() > 200 {
        return Err(layout.wrong("Zones", "1 to 200 zones"));
    }
    let in_turns = match layout.block.entry("Skew units").map(|_| layout.text("Skew units")).transpose()? {
        None | Some("sectors") => false,
        Some("revolutions") => true,
        Some(_) => return Err(layout.wrong("Skew units", "`sectors` or `revolutions`")),
    };
    let mut zones = Vec::new();
    for (value, at) in list {
        let Value::Block(block) = value else {
            return Err(layout.file.invalid(*at, "expected `dm_layout_g1_zone { … }`".to_owned(), None));
        };
        let fields = Fields::of(layout.file, block, keys::ZONE, notes)?;
        zones.push(zone(&fields, heads, (sparing, in_turns), notes)?);
    }
    Ok(zones)
}

fn zone(
    fields: &Fields<'_, '_>,
    heads: u32,
    (sparing, in_turns): (Sparing, bool),
    notes: &mut Vec<String>,
) -> Result<ZoneSpec, DiskError> {
    let per_track = fields.count("Blocks per track", 100_000)?.max(1);
    let turn = |key: &str| {
        let part = fields.number_or_0(key)? / if in_turns { 1.0 } else { per_track as f64 };
        Ok::<_, DiskError>(Turn::from_millionths(((part.fract() * 1e6).round() as u32).min(999_000)))
    };
    let mut zone = ZoneSpec {
        first_cylinder: fields.count("First cylinder number", MOST_CYLINDERS)? as u32,
        last_cylinder: fields.count("Last cylinder number", MOST_CYLINDERS)? as u32,
        per_track: per_track as u32,
        track_skew: turn("Skew for track switch")?,
        cylinder_skew: turn("Skew for cylinder switch")?,
        offset: turn("Offset of first block")?,
        reserved_sectors: fields.count("Empty space at zone front", 1_000_000_000)?,
        group_sectors: 0,
        spare_sectors: fields.count("Number of spares", 1_000_000_000)?,
        slips: Vec::new(),
    };
    // They count from the zone's first sector, reserved or not.
    let slips = numbers(fields, "slips")?.into_iter().filter_map(|slip| slip.checked_sub(zone.reserved_sectors));
    zone.slips = slips.collect();
    if zone.last_cylinder < zone.first_cylinder {
        return Err(fields.wrong("Last cylinder number", "at least the first cylinder's"));
    }
    let left = zone.raw_sectors(heads).saturating_sub(zone.reserved_sectors).max(1);
    let cylinder = per_track * u64::from(heads);
    match sparing {
        Sparing::Zone => zone.group_sectors = left,
        Sparing::TracksOfZone => (zone.group_sectors, zone.spare_sectors) = (left, zone.spare_sectors * per_track),
        Sparing::Cylinders(range) => zone.group_sectors = range * cylinder,
        Sparing::Track => zone.group_sectors = per_track,
    }
    zone.slips.sort_unstable();
    if !numbers(fields, "defects")?.is_empty() {
        notes.push("remapped defects are read where they would be, not at their spares".to_owned());
    }
    if zone.spare_sectors >= zone.group_sectors || zone.sectors(heads) == 0 {
        return Err(fields.wrong("Number of spares", "fewer than there are sectors"));
    }
    Ok(zone)
}
