//! A disk described zone by zone, as measured, and its seek times point by point.

use blksched::Span;
use blksched_text::document::{Complaint, Section};

use super::hdd::{GeometrySpec, ZonesSpec};
use super::reader::Quantities as _;
use super::units::{Rate, Turn};

/// The zones of a disk, outermost first, and its heads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutSpec {
    /// Surfaces in use.
    pub heads: u32,
    /// The order of the tracks of a cylinder.
    pub order: HeadOrder,
    /// The zones; cylinders between two of them hold nothing.
    pub zones: Vec<ZoneSpec>,
}

/// The order of the tracks of a cylinder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadOrder {
    /// From the first head to the last, in every cylinder.
    Same,
    /// There and back: a zone's first cylinder from the first head to the last, its next back, so that a step to the
    /// next cylinder changes no head.
    Alternating,
    /// There and back, by the number of the cylinder.
    AlternatingByCylinder,
}

/// Cylinders with the same number of sectors per track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneSpec {
    /// Its first cylinder, counted from the outermost.
    pub first_cylinder: u32,
    /// Its last.
    pub last_cylinder: u32,
    /// Sectors on each track.
    pub per_track: u32,
    /// How far a track's first sector is behind that of the previous track, on the next head.
    pub track_skew: Turn,
    /// The same on the next cylinder.
    pub cylinder_skew: Turn,
    /// Where its first sector is.
    pub offset: Turn,
    /// Sectors at its front without host data.
    pub reserved_sectors: u64,
    /// Sectors from one group of spares to the next, including the spares; the whole zone, if all spares are at its
    /// end.
    pub group_sectors: u64,
    /// Spares at the end of each group.
    pub spare_sectors: u64,
    /// Skipped sectors, counted from the zone's first; ascending.
    pub slips: Vec<u64>,
}

impl ZoneSpec {
    /// All its sectors, with or without host data.
    pub fn raw_sectors(&self, heads: u32) -> u64 {
        u64::from(self.last_cylinder - self.first_cylinder + 1) * u64::from(heads) * u64::from(self.per_track)
    }

    /// Its host sectors.
    pub fn sectors(&self, heads: u32) -> u64 {
        let usable = self.group_sectors - self.spare_sectors;
        let left = self.raw_sectors(heads).saturating_sub(self.reserved_sectors);
        let groups = left / self.group_sectors * usable;
        (groups + (left % self.group_sectors).min(usable)).saturating_sub(self.slips.len() as u64)
    }
}

impl LayoutSpec {
    /// All host sectors.
    pub fn sectors(&self) -> u64 {
        self.zones.iter().map(|zone| zone.sectors(self.heads)).sum()
    }

    /// A summary in the form of a disk that is not known zone by zone, for callers that need no more.
    pub(super) fn sum_up(&self, rpm: u32) -> (ZonesSpec, GeometrySpec) {
        let rate =
            |zone: &ZoneSpec| Rate::from_bytes_per_s((u64::from(zone.per_track) * 512 * u64::from(rpm) / 60).max(1));
        let rates = || self.zones.iter().map(rate);
        let (outer, inner) = (rates().max().expect("a zone"), rates().min().expect("a zone"));
        let skews = |skew: fn(&ZoneSpec) -> Turn| self.zones.iter().map(skew).max().expect("a zone");
        let zones = ZonesSpec { count: self.zones.len() as u32, outer, inner };
        let (track_skew, cylinder_skew) = (skews(|zone| zone.track_skew), skews(|zone| zone.cylinder_skew));
        (zones, GeometrySpec { heads: self.heads, track_skew, cylinder_skew })
    }
}

const ZONE: &[&str] = &[
    "first_cylinder",
    "last_cylinder",
    "sectors_per_track",
    "track_skew",
    "cylinder_skew",
    "offset",
    "reserved",
    "spare_group",
    "spares",
    "slips",
];

/// The words in files.
pub(crate) const HEAD_ORDERS: [(&str, HeadOrder); 3] = [
    ("same", HeadOrder::Same),
    ("alternating", HeadOrder::Alternating),
    ("alternating_by_cylinder", HeadOrder::AlternatingByCylinder),
];

/// Reads `[[zone]]`, if there is any.
pub(super) fn read(top: &Section<'_>) -> Result<Option<LayoutSpec>, Complaint> {
    let sections = top.sections("zone", ZONE)?;
    if sections.is_empty() {
        return Ok(None);
    }
    if top.has("zones") {
        let problem = "[zones] and [[zone]] exclude each other: expected only one of them".to_owned();
        return Err(top.complain(sections[0].at(), problem));
    }
    let geometry = top.needs_section("geometry", &["heads", "head_order"])?;
    let heads = geometry.count_within("heads", 1..=64)?;
    let order = if geometry.has("head_order") { geometry.word("head_order", &HEAD_ORDERS)? } else { HeadOrder::Same };
    let mut zones: Vec<ZoneSpec> = Vec::new();
    for section in &sections {
        let zone = zone(section, heads)?;
        if zones.last().is_some_and(|before| before.last_cylinder >= zone.first_cylinder) {
            let problem = format!("the zone begins at cylinder {}, in the zone before it", zone.first_cylinder);
            return Err(section.complain(section.at(), problem));
        }
        zones.push(zone);
    }
    Ok(Some(LayoutSpec { heads, order, zones }))
}

fn zone(section: &Section<'_>, heads: u32) -> Result<ZoneSpec, Complaint> {
    const MOST_CYLINDERS: u32 = 10_000_000;
    let first_cylinder = section.count_within("first_cylinder", 0..=MOST_CYLINDERS)?;
    let sectors = |key| if section.has(key) { Ok(section.sector(key)?.value) } else { Ok(0) };
    let mut zone = ZoneSpec {
        first_cylinder,
        last_cylinder: section.count_within("last_cylinder", first_cylinder..=MOST_CYLINDERS)?,
        per_track: section.count_within("sectors_per_track", 1..=100_000)?,
        track_skew: section.turn("track_skew")?.value,
        cylinder_skew: section.turn("cylinder_skew")?.value,
        offset: section.turn_or_none("offset")?,
        reserved_sectors: sectors("reserved")?,
        group_sectors: sectors("spare_group")?,
        spare_sectors: sectors("spares")?,
        slips: if section.has("slips") { section.sector_list("slips")? } else { Vec::new() },
    };
    let left = zone.raw_sectors(heads).saturating_sub(zone.reserved_sectors);
    if zone.group_sectors == 0 {
        zone.group_sectors = left.max(1);
    }
    let slips_beyond = zone.slips.last().is_some_and(|&last| last >= left);
    if zone.spare_sectors >= zone.group_sectors || slips_beyond || zone.sectors(heads) == 0 {
        let problem = format!("reserved sectors, spares and slips leave nothing of the zone's {left} sectors");
        return Err(section.complain(section.at(), problem));
    }
    Ok(zone)
}

/// `curve = ["1cyl 1.2ms", …]`: measured seek times by distance.
pub(super) fn curve(section: &Section<'_>) -> Result<Vec<(u32, Span)>, Complaint> {
    if !section.has("curve") {
        return Ok(Vec::new());
    }
    let mut points: Vec<(u32, Span)> = Vec::new();
    for word in section.words("curve")? {
        let point = word.value.split_once("cyl ").and_then(|(distance, time)| {
            Some((distance.trim().parse::<u32>().ok()?, time.trim().parse::<Span>().ok()?))
        });
        let follows = |distance| points.last().map_or(distance > 0, |&(before, _)| distance > before);
        match point.filter(|&(distance, time)| follows(distance) && time <= Span::from_ms(500)) {
            Some(point) => points.push(point),
            None => {
                let problem = format!(
                    "\"{}\" is not a point of a seek curve: expected as in \"10cyl 2.3ms\", distances ascending from 1",
                    word.value
                );
                return Err(section.complain(&word.at, problem));
            }
        }
    }
    Ok(points)
}
