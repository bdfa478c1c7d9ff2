//! Zones, skews and spares.

use blksched::Span;

use super::drive::numbers;
use super::fields::Fields;
use super::keys;
use super::sparing::{Sparing, last_cylinder};
use super::syntax::{self, File, Value};
use crate::{DiskError, HeadOrder, LayoutSpec, Turn, ZoneSpec};

/// The layouts that are read.
const KIND: &str = "dm_layout_g1";

/// Our disks have at least 1 MB.
const LEAST_SECTORS: u64 = 1_954;
const MOST_CYLINDERS: u64 = 10_000_000;

/// The layout, and the number of sectors that the drive has for its host.
pub(super) fn read(
    model: &Fields<'_, '_>,
    elsewhere: Option<&File<'_>>,
    heads: u32,
    curve: &[(u32, Span)],
    notes: &mut Vec<String>,
) -> Result<(LayoutSpec, u64), DiskError> {
    // The first of its file, if it has one of its own.
    let other =
        elsewhere.map(|file| Ok::<_, DiskError>((file, syntax::parse(file, KIND)?.swap_remove(0)))).transpose()?;
    let (file, block) = match &other {
        Some((file, block)) => (*file, block),
        None => (model.file, model.block("Layout Model", KIND)?),
    };
    let fields = Fields::of(file, block, keys::LAYOUT, notes)?;
    fields.note_absent(keys::LAYOUT, notes);
    let order = match fields.count_or_0("LBN-to-PBN mapping scheme", 10)? {
        0 => HeadOrder::Same,
        1 => HeadOrder::Alternating,
        2 => HeadOrder::AlternatingByCylinder,
        _ => {
            let expected = "0 (every cylinder from its first head on), 1 or 2 (there and back)";
            return Err(fields.wrong("LBN-to-PBN mapping scheme", expected));
        }
    };
    let range = fields.count_or_0("Rangesize for sparing", 100_000)?.max(1);
    let scheme = fields.count_or_0("Sparing scheme used", 10)?;
    let blocks = model.count("Block count", 2_000_000_000_000)?.max(1);
    let stroke = curve.last().map_or(0, |&(distance, _)| distance);
    let believed = Sparing::of(scheme, range);
    let layout = match zones(&fields, heads, believed, notes).map(|zones| LayoutSpec { heads, order, zones }) {
        Ok(layout) if layout.sectors() >= blocks => layout,
        less => match otherwise(&fields, (heads, order), (blocks, stroke, range), notes) {
            Some(layout) => layout,
            None => less?,
        },
    };
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
    if sectors < LEAST_SECTORS {
        return Err(
            fields.wrong("Zones", &format!("zones for 1 MB at least: they and the block count make {sectors} sectors"))
        );
    }
    Ok((layout, sectors))
}

/// The layout under which the drive's blocks end where its arm's range does, if there is one.
fn otherwise(
    fields: &Fields<'_, '_>,
    (heads, order): (u32, HeadOrder),
    (blocks, stroke, range): (u64, u32, u64),
    notes: &mut Vec<String>,
) -> Option<LayoutSpec> {
    let mut best: Option<(u64, Sparing, LayoutSpec)> = None;
    for sparing in Sparing::others(range) {
        let Ok(zones) = zones(fields, heads, sparing, notes) else { continue };
        let layout = LayoutSpec { heads, order, zones };
        let off = last_cylinder(&layout, blocks).abs_diff(stroke.into());
        if layout.sectors() >= blocks && best.as_ref().is_none_or(|(least, _, _)| off < *least) {
            best = Some((off, sparing, layout));
        }
    }
    let (_, sparing, layout) = best?;
    notes.push(format!("`Sparing scheme used` is taken for {}: so the zones hold the blocks", sparing.name()));
    Some(layout)
}

/// The number of cylinders given in the file.
pub(super) fn cylinders(model: &Fields<'_, '_>) -> Result<u32, DiskError> {
    Ok(model.count("Number of cylinders", MOST_CYLINDERS)? as u32)
}

/// Cylinders that a drive may keep for itself within the measured stroke.
const TOLERANCE: u64 = 32;

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
    let units = skew_units(layout)?.unwrap_or(SkewUnits::Sectors);
    let mut zones: Vec<ZoneSpec> = Vec::new();
    for (value, at) in list {
        let block = match value {
            Value::Block(block) if block.kind == "dm_layout_g1_zone" => block,
            _ => return Err(layout.file.invalid(*at, "expected `dm_layout_g1_zone { … }`".to_owned(), None)),
        };
        let fields = Fields::of(layout.file, block, keys::ZONE, notes)?;
        fields.note_absent(keys::ZONE, notes);
        let zone = zone(&fields, heads, (sparing, units), notes)?;
        if zones.last().is_some_and(|before| before.last_cylinder >= zone.first_cylinder) {
            return Err(fields.wrong("First cylinder number", "one after the zone before it"));
        }
        zones.push(zone);
    }
    Ok(zones)
}

/// The unit of skews.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SkewUnits {
    Sectors,
    Revolutions,
}

/// The skew unit of a layout or a zone, if it has one; a zone's own takes precedence.
fn skew_units(fields: &Fields<'_, '_>) -> Result<Option<SkewUnits>, DiskError> {
    match fields.block.entry("Skew units").map(|_| fields.text("Skew units")).transpose()? {
        None => Ok(None),
        Some("sectors") => Ok(Some(SkewUnits::Sectors)),
        Some("revolutions") => Ok(Some(SkewUnits::Revolutions)),
        Some(_) => Err(fields.wrong_but_near("Skew units", "`sectors` or `revolutions`", &["sectors", "revolutions"])),
    }
}

fn zone(
    fields: &Fields<'_, '_>,
    heads: u32,
    (sparing, units): (Sparing, SkewUnits),
    notes: &mut Vec<String>,
) -> Result<ZoneSpec, DiskError> {
    let per_track = fields.count("Blocks per track", 100_000)?.max(1);
    let track = match skew_units(fields)?.unwrap_or(units) {
        SkewUnits::Sectors => per_track as f64,
        SkewUnits::Revolutions => 1.0,
    };
    let turn = |key: &str| {
        let part = (fields.signed_or_0(key)? / track).rem_euclid(1.0);
        Ok::<_, DiskError>(Turn::from_millionths(((part * 1e6).round() as u32).min(999_000)))
    };
    let mut zone = ZoneSpec {
        first_cylinder: fields.count("First cylinder number", MOST_CYLINDERS)? as u32,
        last_cylinder: fields.count("Last cylinder number", MOST_CYLINDERS)? as u32,
        per_track: per_track as u32,
        track_skew: turn("Skew for track switch")?,
        cylinder_skew: turn("Skew for cylinder switch")?,
        offset: turn("Offset of first block")?,
        reserved_sectors: fields.count_or_0("Empty space at zone front", 1_000_000_000)?,
        group_sectors: 0,
        spare_sectors: fields.count_or_0("Number of spares", 1_000_000_000)?,
        slips: Vec::new(),
    };
    if zone.last_cylinder < zone.first_cylinder {
        return Err(fields.wrong("Last cylinder number", "at least the first cylinder's"));
    }
    sparing.apply(&mut zone, heads);
    // They count from the zone's first sector, reserved or not.
    let slips = numbers(fields, "slips")?.into_iter().filter_map(|slip| slip.checked_sub(zone.reserved_sectors));
    zone.slips = slips.collect();
    zone.slips.sort_unstable();
    zone.slips.dedup();
    if !numbers(fields, "defects")?.is_empty() {
        notes.push("remapped defects are read where they would be, not at their spares".to_owned());
    }
    if zone.spare_sectors >= zone.group_sectors || zone.sectors(heads) == 0 {
        return Err(fields.wrong("Number of spares", "fewer than there are sectors"));
    }
    Ok(zone)
}
