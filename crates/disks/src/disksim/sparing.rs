//! The positions of a drive's spare sectors, by DiskSim's scheme numbers.
//!
//! From memory of DiskSim's manual (`Sparing scheme used`); 1, 7, 8 and 9 are tested with drives. If the zones cannot
//! hold the drive's stated number of blocks under its scheme, the scheme is ignored and the one is used under which the
//! drive's blocks end where its longest seek does.

use crate::{LayoutSpec, ZoneSpec};

/// Where spares are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sparing {
    /// Nowhere.
    None,
    /// This many tracks at the end of each zone.
    TracksOfZone,
    /// This many sectors at the end of each zone.
    Zone,
    /// At the end of each range of cylinders.
    Cylinders(u64),
    /// At the front of each cylinder.
    CylinderFront,
    /// At the end of each track.
    Track,
}

impl Sparing {
    /// The scheme with this number; `range` is in cylinders.
    pub(super) fn of(scheme: u64, range: u64) -> Sparing {
        match scheme {
            0 => Sparing::None,
            1 => Sparing::TracksOfZone,
            2 | 4 => Sparing::Cylinders(1),
            3 => Sparing::Track,
            5 | 6 => Sparing::CylinderFront,
            8 => Sparing::Cylinders(range),
            _ => Sparing::Zone,
        }
    }

    /// Other possible schemes.
    pub(super) fn others(range: u64) -> [Sparing; 6] {
        let ranges = Sparing::Cylinders(range);
        [Sparing::Cylinders(1), Sparing::Track, Sparing::Zone, ranges, Sparing::TracksOfZone, Sparing::None]
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Sparing::None => "no spares at all",
            Sparing::TracksOfZone => "tracks at the end of each zone",
            Sparing::Zone => "sectors at the end of each zone",
            Sparing::Cylinders(1) => "sectors at the end of each cylinder",
            Sparing::Cylinders(_) => "sectors at the end of each range of cylinders",
            Sparing::CylinderFront => "sectors at the front of each cylinder",
            Sparing::Track => "sectors at the end of each track",
        }
    }

    /// Lays out a zone's spares.
    pub(super) fn apply(self, zone: &mut ZoneSpec, heads: u32) {
        let per_track = u64::from(zone.per_track);
        let cylinder = per_track * u64::from(heads);
        let spares = zone.spare_sectors;
        match self {
            Sparing::None => zone.spare_sectors = 0,
            Sparing::TracksOfZone => zone.spare_sectors = spares * per_track,
            // The same as a reserved front and the next cylinder's spares after each cylinder.
            Sparing::CylinderFront => zone.reserved_sectors += spares,
            Sparing::Zone | Sparing::Cylinders(_) | Sparing::Track => {}
        }
        let left = zone.raw_sectors(heads).saturating_sub(zone.reserved_sectors).max(1);
        zone.group_sectors = match self {
            Sparing::None | Sparing::Zone | Sparing::TracksOfZone => left,
            Sparing::Cylinders(range) => range * cylinder,
            Sparing::CylinderFront => cylinder,
            Sparing::Track => per_track,
        };
    }
}

/// The cylinder of the last of this many sectors.
pub(super) fn last_cylinder(layout: &LayoutSpec, sectors: u64) -> u64 {
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
