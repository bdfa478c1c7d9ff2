//! **What for**: sectors of a zone that hold no host data: reserved ones at its start, spares, slipped defects.
//!
//! **Rule**: a zone's sectors for the host are counted past the reserved ones, past each slip (a defect that is
//! skipped, so that all following sectors move by one) and past the spares at the end of each group. The head passes
//! over them.
//!
//! **Origin**: DiskSim's manual; `sparing` in drives' manuals.

use crate::ZoneSpec;

use super::divisor::Divisor;

/// Where a zone's sectors without host data are.
#[derive(Clone, Debug)]
pub(super) struct Gaps {
    reserved: u64,
    /// All sectors of a group.
    group: Divisor,
    /// The sectors of a group that are not spares.
    usable: Divisor,
    /// Ascending, counted from the first that is not reserved, without spares.
    slips: Vec<u64>,
    /// How many host sectors are before each slip.
    before: Vec<u64>,
}

impl Gaps {
    /// `None` if the zone has none.
    pub(super) fn of(zone: &ZoneSpec, heads: u32) -> Option<Gaps> {
        let whole = zone.raw_sectors(heads) == zone.sectors(heads);
        (!whole).then(|| Gaps {
            reserved: zone.reserved_sectors,
            group: Divisor::new(zone.group_sectors),
            usable: Divisor::new(zone.group_sectors - zone.spare_sectors),
            before: before(&zone.slips),
            slips: zone.slips.clone(),
        })
    }

    /// Which of the zone's sectors its `nth` host sector is.
    pub(super) fn place(&self, nth: u64) -> u64 {
        // A slip at or before a sector moves it on, perhaps onto the next slip.
        let slipped = self.before.partition_point(|&before| before <= nth) as u64;
        let (group, within) = self.usable.div_rem(nth + slipped);
        self.reserved + group * self.group.get() + within
    }

    /// The first host sector that is not before the zone's sector `place`.
    pub(super) fn nth_from(&self, place: u64) -> u64 {
        let (group, within) = self.group.div_rem(place.saturating_sub(self.reserved));
        let counted = group * self.usable.get() + within.min(self.usable.get());
        counted - self.slips.partition_point(|&slip| slip < counted) as u64
    }
}

/// For each slip, how many sectors before it are not slips.
fn before(slips: &[u64]) -> Vec<u64> {
    (0..).zip(slips).map(|(nth, slip)| slip - nth).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_finds_every_sector_again() {
        let (group, usable) = (Divisor::new(20), Divisor::new(17));
        let gaps = Gaps { reserved: 5, group, usable, slips: vec![0, 3, 4, 30], before: before(&[0, 3, 4, 30]) };
        let places: Vec<u64> = (0..40).map(|nth| gaps.place(nth)).collect();
        assert_eq!(places[..4], [6, 7, 10, 11], "reserved 0 to 4, slips at 5, 8 and 9");
        assert!(places.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(places.iter().all(|place| (place - 5) % 20 < 17), "no spares");
        for (nth, &place) in (0..).zip(&places) {
            assert_eq!(gaps.nth_from(place), nth);
        }
    }
}
