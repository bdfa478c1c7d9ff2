//! The current track: a command's sectors are mostly on one track, which is looked up once.

use super::geometry::{Behind, Track};
use super::zones::Zone;

/// One track of the spiral, cached. A zone with gaps has none.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrackLane {
    first: u64,
    sectors: u64,
    /// \[ns / 2^32\]
    sector_time: u64,
    /// Where it begins on the spiral \[ns\].
    begin: u64,
    /// How far along it the head's position can be asked for \[ns\].
    reach: u64,
    track: Track,
}

/// The first of `per_track` sectors that has not completely passed when the head has travelled `along` \[ns\] on the
/// track; `per_track` at its end.
#[inline]
pub(super) fn passed(along: u64, sector_time: u64, per_track: u64) -> u64 {
    // The quotient of the rounded sector time may be off by one in either direction; the forward rule corrects it.
    let mut sector = ((along << 32) / sector_time).min(per_track).saturating_sub(1);
    while sector < per_track && ((sector + 1) * sector_time) >> 32 <= along {
        sector += 1;
    }
    sector
}

impl TrackLane {
    /// No track.
    pub(super) const NONE: TrackLane =
        TrackLane { first: 0, sectors: 0, sector_time: 0, begin: 0, reach: 0, track: Track { cylinder: 0, head: 0 } };

    #[inline]
    pub(super) fn new(zone: &Zone, first: u64, begin: u64, track: Track) -> TrackLane {
        let (sectors, sector_time) = (zone.per_track.get(), zone.sector_time);
        TrackLane { first, sectors, sector_time, begin, reach: (sectors * sector_time) >> 32, track }
    }

    /// Where `sector` begins on the spiral, and its track, if that is this one.
    #[inline]
    pub(super) fn begin_of(&self, sector: u64) -> Option<(u64, Track)> {
        let nth = sector.wrapping_sub(self.first);
        (nth < self.sectors).then(|| (self.begin + ((nth * self.sector_time) >> 32), self.track))
    }

    /// What follows `sector`, if it is on this track and not its last.
    #[inline]
    pub(super) fn behind(&self, sector: u64) -> Option<Behind> {
        let nth = sector.wrapping_sub(self.first).wrapping_add(1);
        let unrolled = self.begin + ((nth.min(self.sectors) * self.sector_time) >> 32);
        (nth.wrapping_sub(1) < self.sectors && nth < self.sectors)
            .then_some(Behind { next_track: self.track, unrolled })
    }

    /// The first sector that has not completely passed when the head has reached `unrolled` \[ns\], and its track, if
    /// that is this one.
    #[inline]
    pub(super) fn passing(&self, unrolled: u64) -> Option<(u64, Track)> {
        let along = unrolled.wrapping_sub(self.begin);
        (along < self.reach).then(|| (self.first + passed(along, self.sector_time, self.sectors), self.track))
    }
}

#[cfg(test)]
mod tests {
    use crate::hdd::geometry::Spiral;
    use crate::hdd::tests_support::{TestRandom, hdd_spec};

    #[test]
    fn a_track_in_hand_answers_as_the_spiral_does() {
        for preset in ["ide-2002", "hdd-7200-ideal", "sata-2009"] {
            let spec = hdd_spec(preset);
            let spiral = Spiral::new(&spec);
            let (mut random, mut answers) = (TestRandom(7), 0);
            for _ in 0..20_000 {
                let sector = random.below(spec.capacity_sectors - 4000);
                let (place, lane) = spiral.locate(sector);
                assert_eq!(place, spiral.place(sector));
                let other = (sector + random.below(4000)).saturating_sub(2000);
                assert_eq!(spiral.locate_near(other, &lane).0, spiral.place(other));
                if let Some(behind) = lane.behind(other) {
                    assert_eq!(behind, spiral.behind(other));
                    answers += 1;
                }
                let unrolled = (place.unrolled + random.below(16_000_000)).saturating_sub(8_000_000);
                if let Some(passing) = lane.passing(unrolled) {
                    assert_eq!(passing, spiral.passing_at(unrolled));
                    answers += 1;
                }
            }
            assert!(answers > 10_000, "{preset}: {answers}");
        }
    }
}
