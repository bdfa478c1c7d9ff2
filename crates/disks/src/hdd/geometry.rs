//! **What for**: the position of a sector, and when it passes under the head.
//!
//! **Rule**: the disk is unrolled into one spiral. `unrolled(sector)` \[ns\] is the time the platters rotate from
//! sector 0 to the beginning of that sector if everything between is read without interruption: a revolution per track,
//! plus `track_skew` at each head switch and `cylinder_skew` at each step to the next cylinder. From that one function
//! follow the angle (modulo a revolution), the time to transfer from one sector to another (a difference), and the
//! progress of a look-ahead (its inverse).
//!
//! **Origin**: Hitachi's manuals define the sustained rate in this way (sectors of a cylinder over revolutions, head
//! switches and one cylinder change).
//! **Costs when wrong**: without skew, a sequential read loses a revolution per track.

use super::divisor::Divisor;
use super::lane::{TrackLane, passed};
use super::zones::{Backwards, Zone, lay_out};
use crate::HddSpec;

/// Buckets of the table that finds a sector's zone.
const GUESSES: usize = 256;

/// Where the arm and the active head are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Track {
    /// Counted from the outermost.
    pub(super) cylinder: i32,
    /// The surface.
    pub(super) head: i32,
}

/// Where a sector begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Its track.
    pub(super) track: Track,
    /// Its angle \[ns of a revolution\].
    pub(super) angle: i32,
    /// Its position on the spiral \[ns\].
    pub(super) unrolled: u64,
}

/// Where a transfer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Behind {
    /// The track of the next sector: the head follows the spiral by itself.
    pub(super) next_track: Track,
    /// The point of the spiral directly after the sector, before any skew \[ns\].
    pub(super) unrolled: u64,
}

/// The disk's sectors along one spiral.
#[derive(Clone, Debug)]
pub(super) struct Spiral {
    zones: Vec<Zone>,
    /// For each bucket of sectors, the zone of its first one.
    guesses: Vec<u8>,
    guess_shift: u32,
    heads: Divisor,
    revolution: Divisor,
    cylinders: i32,
    sectors: u64,
}

/// A sector's coordinates.
struct Spot {
    zone: usize,
    /// Within the zone.
    cylinder: u64,
    head: u64,
    sector: u64,
    /// Where its track begins on the spiral \[ns\].
    track_at: u64,
}

impl Spiral {
    pub(super) fn new(spec: &HddSpec) -> Spiral {
        let zones = lay_out(spec);
        let guess_shift = (64 - spec.capacity_sectors.leading_zeros()).saturating_sub(GUESSES.ilog2());
        let guesses = (0..GUESSES as u64)
            .map(|bucket| zones.partition_point(|zone| zone.first <= bucket << guess_shift) as u8 - 1)
            .collect();
        let cylinders = zones.last().map_or(1, |zone| zone.first_cylinder + zone.cylinders);
        let (heads, revolution) = (Divisor::new(spec.geometry.heads.into()), Divisor::new(spec.revolution().as_ns()));
        Spiral { zones, guesses, guess_shift, heads, revolution, cylinders, sectors: spec.capacity_sectors }
    }

    /// How many cylinders the arm can reach.
    pub(super) fn cylinders(&self) -> i32 {
        self.cylinders
    }

    /// Where `sector` begins.
    pub(super) fn place(&self, sector: u64) -> Place {
        let spot = self.spot(sector);
        let unrolled = spot.track_at + self.along(&spot, spot.sector);
        let angle = self.revolution.div_rem(unrolled).1 as i32;
        Place { track: self.track(&spot), angle, unrolled }
    }

    /// Where `sector` begins, and its track for reuse.
    #[inline]
    pub(super) fn locate(&self, sector: u64) -> (Place, TrackLane) {
        let spot = self.spot(sector);
        let zone = &self.zones[spot.zone];
        let unrolled = spot.track_at + self.along(&spot, spot.sector);
        let angle = self.revolution.div_rem(unrolled).1 as i32;
        let track = self.track(&spot);
        let lane = match zone.gaps {
            Some(_) => TrackLane::NONE,
            None => TrackLane::new(zone, sector - spot.sector, spot.track_at, track),
        };
        (Place { track, angle, unrolled }, lane)
    }

    /// The same for a sector that may be on a cached track.
    pub(super) fn locate_near(&self, sector: u64, lane: &TrackLane) -> (Place, TrackLane) {
        let Some((unrolled, track)) = lane.begin_of(sector) else { return self.locate(sector) };
        (Place { track, angle: self.revolution.div_rem(unrolled).1 as i32, unrolled }, *lane)
    }

    /// The least time of a sector in any zone \[ns / 2^32\].
    pub(super) fn least_sector_time(&self) -> u64 {
        self.zones.iter().map(|zone| zone.sector_time).min().unwrap_or(0)
    }

    /// What follows `sector`.
    pub(super) fn behind(&self, sector: u64) -> Behind {
        let spot = self.spot(sector);
        let unrolled = spot.track_at + self.along(&spot, spot.sector + 1);
        let track = self.track(&spot);
        let zone = &self.zones[spot.zone];
        if zone.gaps.is_some() || zone.backwards != Backwards::None {
            let next = (sector + 1).min(self.sectors - 1);
            return Behind { next_track: self.track(&self.spot(next)), unrolled };
        }
        let last_of_track = spot.sector + 1 == zone.per_track.get();
        let next_track = match (last_of_track, spot.head + 1 == self.heads.get()) {
            (false, _) => track,
            (true, false) => Track { head: track.head + 1, ..track },
            (true, true) => Track { cylinder: (track.cylinder + 1).min(self.cylinders - 1), head: 0 },
        };
        Behind { next_track, unrolled }
    }

    /// The first sector that has not completely passed when the head has reached `unrolled` \[ns\].
    pub(super) fn sector_at(&self, unrolled: u64) -> u64 {
        self.passing(unrolled).0
    }

    /// The same, and its track.
    pub(super) fn passing_at(&self, unrolled: u64) -> (u64, Track) {
        let (sector, track) = self.passing(unrolled);
        (sector, track.unwrap_or_else(|| self.track(&self.spot(sector))))
    }

    /// The same, with its track if that is known without a look-up.
    #[inline]
    fn passing(&self, unrolled: u64) -> (u64, Option<Track>) {
        let index = self.zones.partition_point(|zone| zone.begin <= unrolled).max(1) - 1;
        let zone = &self.zones[index];
        let heads = self.heads.get();
        let (cylinder, rest) = zone.cylinder_ns.div_rem(unrolled.saturating_sub(zone.begin));
        let head = (rest / zone.track_ns).min(heads - 1);
        let per_track = zone.per_track.get();
        let sector = passed(rest - head * zone.track_ns, zone.sector_time, per_track);
        let place = (cylinder * heads + head) * per_track + sector;
        let surface = if zone.backwards.has(cylinder) { heads - 1 - head } else { head };
        let track = Track { cylinder: zone.first_cylinder + cylinder as i32, head: surface as i32 };
        match &zone.gaps {
            Some(gaps) => (zone.first + gaps.nth_from(place), None),
            // At the track's end it is the first of the next.
            None => (zone.first + place, (sector < per_track).then_some(track)),
        }
    }

    /// The first sector after `sector` whose track is not the `same`.
    pub(super) fn end_of(&self, sector: u64, same: fn(Track, Track) -> bool) -> u64 {
        let here = self.track(&self.spot(sector));
        let within = |other: u64| same(self.track(&self.spot(other)), here);
        // No cylinder has more.
        let zone = &self.zones[self.spot(sector).zone];
        let (mut inside, mut outside) = (sector, sector + zone.per_track.get() * self.heads.get() + 1);
        if outside >= self.sectors {
            outside = self.sectors;
            if within(self.sectors - 1) {
                return self.sectors;
            }
        }
        while outside - inside > 1 {
            let middle = inside + (outside - inside) / 2;
            if within(middle) { inside = middle } else { outside = middle }
        }
        outside
    }

    #[inline]
    fn spot(&self, sector: u64) -> Spot {
        let mut zone = usize::from(self.guesses[(sector >> self.guess_shift) as usize]);
        while self.zones.get(zone + 1).is_some_and(|next| next.first <= sector) {
            zone += 1;
        }
        let here = &self.zones[zone];
        let nth = sector - here.first;
        let place = here.gaps.as_ref().map_or(nth, |gaps| gaps.place(nth));
        let (track, sector) = here.per_track.div_rem(place);
        let (cylinder, head) = self.heads.div_rem(track);
        let track_at = (here.begin + track * here.track_ns).wrapping_add(cylinder.wrapping_mul(here.extra_ns));
        Spot { zone, cylinder, head, sector, track_at }
    }

    /// How far along its track `sectors` sectors reach \[ns\].
    fn along(&self, spot: &Spot, sectors: u64) -> u64 {
        (sectors * self.zones[spot.zone].sector_time) >> 32
    }

    fn track(&self, spot: &Spot) -> Track {
        let zone = &self.zones[spot.zone];
        let head = if zone.backwards.has(spot.cylinder) { self.heads.get() - 1 - spot.head } else { spot.head };
        Track { cylinder: zone.first_cylinder + spot.cylinder as i32, head: head as i32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hdd::tests_support::hdd_spec;
    use crate::{HeadOrder, LayoutSpec, Turn, ZoneSpec};

    fn spiral() -> Spiral {
        Spiral::new(&hdd_spec("ide-2002"))
    }

    fn sectors(spec: &HddSpec) -> impl Iterator<Item = u64> {
        let capacity = spec.capacity_sectors;
        (0..5_000).map(move |n| n * 7_919 * 4_001 % (capacity - 1))
    }

    #[test]
    fn sectors_follow_each_other_on_the_spiral_and_only_skews_lie_between() {
        let (spec, spiral) = (hdd_spec("ide-2002"), spiral());
        let skew = spec.geometry.cylinder_skew.of(spec.revolution()).as_ns();
        for sector in sectors(&spec) {
            let (behind, next) = (spiral.behind(sector), spiral.place(sector + 1));
            assert_eq!(behind.next_track, next.track, "{sector}");
            // A sector time is rounded down, so a track may end some nanoseconds before the revolution does.
            assert!((0..=skew + 2).contains(&(next.unrolled - behind.unrolled)), "{sector}: {behind:?} {next:?}");
        }
    }

    #[test]
    fn the_inverse_finds_every_sector_again() {
        let (spec, spiral) = (hdd_spec("ide-2002"), spiral());
        for sector in sectors(&spec) {
            assert_eq!(spiral.sector_at(spiral.place(sector).unrolled), sector);
            assert_eq!(spiral.sector_at(spiral.behind(sector).unrolled), sector + 1);
            assert_eq!(spiral.sector_at(spiral.behind(sector).unrolled - 1), sector);
        }
    }

    /// Two zones of ten cylinders, three heads, with the cylinder's skew less than the track's.
    fn zoned(order: HeadOrder) -> HddSpec {
        let mut spec = hdd_spec("ide-2002");
        let turn = Turn::from_millionths;
        let zone = |first_cylinder, per_track: u32| ZoneSpec {
            first_cylinder,
            last_cylinder: first_cylinder + 9,
            per_track,
            track_skew: turn(200_000),
            cylinder_skew: turn(150_000),
            offset: turn(0),
            reserved_sectors: 0,
            group_sectors: u64::from(per_track) * 30,
            spare_sectors: 0,
            slips: Vec::new(),
        };
        spec.geometry.heads = 3;
        spec.layout = Some(LayoutSpec { heads: 3, order, zones: vec![zone(0, 50), zone(11, 40)] });
        spec.capacity_sectors = 30 * 90;
        spec
    }

    #[test]
    fn heads_that_go_there_and_back_change_with_no_step_to_the_next_cylinder() {
        for (order, zone, first_heads) in [
            (HeadOrder::Same, 0, [0, 0]),
            (HeadOrder::Alternating, 0, [0, 2]),
            (HeadOrder::Alternating, 1, [0, 2]),
            (HeadOrder::AlternatingByCylinder, 0, [0, 2]),
            // It begins at cylinder 11.
            (HeadOrder::AlternatingByCylinder, 1, [2, 0]),
        ] {
            let spiral = Spiral::new(&zoned(order));
            let (first, cylinder) = [(0, 150), (1500, 120)][zone];
            let heads = [0, 1].map(|nth| spiral.place(first + nth * cylinder).track.head);
            assert_eq!(heads, first_heads, "{order:?}");
            for nth in 1..9 {
                let last = first + nth * cylinder - 1;
                let (here, next) = (spiral.place(last).track, spiral.behind(last).next_track);
                assert_eq!(next, spiral.place(last + 1).track);
                assert_eq!(next.cylinder, here.cylinder + 1);
                assert_eq!(next.head == here.head, order != HeadOrder::Same);
            }
        }
    }

    #[test]
    fn what_passes_is_on_the_track_where_it_lies_whichever_way_the_heads_go() {
        for order in [HeadOrder::Same, HeadOrder::Alternating, HeadOrder::AlternatingByCylinder] {
            let spec = zoned(order);
            let spiral = Spiral::new(&spec);
            for sector in 0..spec.capacity_sectors {
                let place = spiral.place(sector);
                assert_eq!(spiral.passing_at(place.unrolled), (sector, place.track), "{order:?}");
                let (_, lane) = spiral.locate(sector);
                assert_eq!(lane.passing(place.unrolled), Some((sector, place.track)), "{order:?}");
            }
        }
    }

    #[test]
    fn a_step_may_be_skewed_less_than_a_switch() {
        let spec = zoned(HeadOrder::Same);
        let spiral = Spiral::new(&spec);
        for sector in 0..spec.capacity_sectors {
            assert_eq!(spiral.sector_at(spiral.place(sector).unrolled), sector);
        }
        let gap = |last: u64| spiral.place(last + 1).unrolled - spiral.behind(last).unrolled;
        let parts = |gap: u64| (gap as f64 / spec.revolution().as_ns() as f64 * 1000.0).round();
        assert_eq!([parts(gap(49)), parts(gap(149)), parts(gap(150 + 149))], [200.0, 150.0, 150.0]);
    }

    #[test]
    fn the_last_sector_is_on_the_disk_and_in_the_last_zone() {
        for name in ["ide-2002", "sata-2009", "hdd-7200-ideal"] {
            let spec = hdd_spec(name);
            let spiral = Spiral::new(&spec);
            let last = spiral.place(spec.capacity_sectors - 1).track;
            assert!(last.cylinder < spiral.cylinders());
            assert!(f64::from(last.cylinder) > 0.99 * f64::from(spiral.cylinders()), "{name}");
        }
    }
}
