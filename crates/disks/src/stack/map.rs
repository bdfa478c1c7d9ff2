//! **What for**: the arithmetic of stacked devices: at which members a sector is, and how far the next ones lie with
//! it.
//!
//! **Rule**: linear devices lie one behind the other. Striped ones distribute chunks in turn; under md members may
//! differ in length, and once the shortest is full, the others go on without it (md(4)). A mirror has everything on
//! every member. RAID 10 in its "near" layout has the two copies of a chunk one behind the other among the members'
//! chunks, so that any number of members will do (md(4)). RAID 4 has all parity on its last member (md(4)). RAID 5 and
//! 6 have a row of chunks on all members, with one or two of parity, which move one member back with each row; the data
//! begins behind them ("left-symmetric", what mdadm(8) makes).

/// How the sectors of a stacked device lie on its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackLayout {
    /// One behind the other: dm-linear, and so a logical volume.
    Linear,
    /// On one member, behind a header \[512-byte sectors\]: dm-crypt.
    Behind {
        /// The header's length.
        header: u64,
    },
    /// In turn, chunk by chunk \[512-byte sectors\]; all members count as long as the shortest: dm-striped.
    Striped {
        /// A chunk's length.
        chunk: u64,
    },
    /// The same; longer members are used to their end: md RAID 0.
    Raid0 {
        /// A chunk's length.
        chunk: u64,
    },
    /// Everything on every member: md RAID 1.
    Raid1,
    /// Every chunk on two members, near each other: md RAID 10.
    Raid10 {
        /// A chunk's length.
        chunk: u64,
    },
    /// The last member has the parity of each row: md RAID 4.
    Raid4 {
        /// A chunk's length.
        chunk: u64,
    },
    /// A chunk of each row is parity: md RAID 5, left-symmetric.
    Raid5 {
        /// A chunk's length.
        chunk: u64,
    },
    /// Two of each row are: md RAID 6, left-symmetric.
    Raid6 {
        /// A chunk's length.
        chunk: u64,
    },
}

impl StackLayout {
    /// The fewest members.
    pub fn least_members(self) -> u32 {
        match self {
            StackLayout::Linear | StackLayout::Behind { .. } | StackLayout::Striped { .. } => 1,
            StackLayout::Raid0 { .. } | StackLayout::Raid1 | StackLayout::Raid10 { .. } => 2,
            StackLayout::Raid4 { .. } | StackLayout::Raid5 { .. } => 3,
            StackLayout::Raid6 { .. } => 4,
        }
    }

    /// Whether it is md's.
    pub fn is_mds(self) -> bool {
        !matches!(self, StackLayout::Linear | StackLayout::Behind { .. } | StackLayout::Striped { .. })
    }

    /// Whether it is md's and has each chunk once, without parity.
    pub fn is_mds_stripes(self) -> bool {
        matches!(self, StackLayout::Raid0 { .. })
    }

    /// How many chunks of each row are parity.
    pub fn parities(self) -> u32 {
        match self {
            StackLayout::Raid4 { .. } | StackLayout::Raid5 { .. } => 1,
            StackLayout::Raid6 { .. } => 2,
            _ => 0,
        }
    }

    /// The most members: what a bio may be mapped to at once is bounded.
    pub fn most_members(self) -> u32 {
        match self {
            StackLayout::Behind { .. } => 1,
            _ => 64,
        }
    }
}

/// A place on a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemberPlace {
    /// The member, from 0.
    pub member: u32,
    /// Its sector.
    pub sector: u64,
}

/// Chunks that lie on the same members.
#[derive(Clone, Debug, PartialEq, Eq)]
struct StackZone {
    /// The first sector above, and the one after the last.
    first: u64,
    end: u64,
    /// Where it begins on its members.
    at: u64,
    members: Vec<u32>,
}

/// The map of a device above members of known lengths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackMap {
    layout: StackLayout,
    members: u32,
    sectors: u64,
    zones: Vec<StackZone>,
}

impl StackMap {
    /// The map above members of these lengths \[512-byte sectors\].
    ///
    /// ```
    /// use blksched_disks::stack::{StackLayout, MemberPlace, StackMap};
    ///
    /// let striped = StackMap::new(StackLayout::Raid0 { chunk: 8 }, &[64, 64]);
    /// assert_eq!(striped.sectors(), 128);
    /// assert_eq!(striped.place(13, 0), MemberPlace { member: 1, sector: 5 });
    /// assert_eq!(striped.until_boundary(13), 3);
    /// ```
    ///
    /// # Panics
    /// If there are no members.
    pub fn new(layout: StackLayout, members: &[u64]) -> StackMap {
        let least = *members.iter().min().expect("a stacked device has members");
        let count = members.len() as u32;
        let all = || (0..count).collect::<Vec<_>>();
        let zones = match layout {
            StackLayout::Linear => one_behind_the_other(members),
            StackLayout::Behind { header } => {
                vec![StackZone { first: 0, end: least.saturating_sub(header), at: header, members: all() }]
            }
            StackLayout::Striped { chunk } => {
                let end = least / chunk * chunk * u64::from(count);
                vec![StackZone { first: 0, end, at: 0, members: all() }]
            }
            StackLayout::Raid0 { chunk } => ever_fewer(members, chunk),
            StackLayout::Raid1 => vec![StackZone { first: 0, end: least, at: 0, members: all() }],
            StackLayout::Raid10 { chunk } => {
                let end = least / chunk * u64::from(count) / 2 * chunk;
                vec![StackZone { first: 0, end, at: 0, members: all() }]
            }
            StackLayout::Raid4 { chunk } | StackLayout::Raid5 { chunk } | StackLayout::Raid6 { chunk } => {
                let end = least / chunk * chunk * u64::from(count - layout.parities());
                vec![StackZone { first: 0, end, at: 0, members: all() }]
            }
        };
        let sectors = zones.last().map_or(0, |zone| zone.end);
        StackMap { layout, members: count, sectors, zones }
    }

    /// Its length \[512-byte sectors\].
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// How sectors lie on its members.
    pub fn layout(&self) -> StackLayout {
        self.layout
    }

    /// How many members it has.
    pub fn members(&self) -> u32 {
        self.members
    }

    /// On how many members each sector is.
    pub fn copies(&self) -> u32 {
        match self.layout {
            StackLayout::Raid1 => self.members,
            StackLayout::Raid10 { .. } => 2,
            _ => 1,
        }
    }

    /// How many sectors from this one on lie behind one another on its members, itself included.
    ///
    /// # Panics
    /// If it is beyond the end.
    pub fn until_boundary(&self, sector: u64) -> u64 {
        let zone = self.zone(sector);
        match self.layout {
            StackLayout::Linear | StackLayout::Behind { .. } | StackLayout::Raid1 => zone.end - sector,
            StackLayout::Striped { chunk }
            | StackLayout::Raid0 { chunk }
            | StackLayout::Raid10 { chunk }
            | StackLayout::Raid4 { chunk }
            | StackLayout::Raid5 { chunk }
            | StackLayout::Raid6 { chunk } => chunk - (sector - zone.first) % chunk,
        }
    }

    /// Where this sector's copy of this number is.
    ///
    /// # Panics
    /// If it is beyond the end.
    pub fn place(&self, sector: u64, copy: u32) -> MemberPlace {
        let zone = self.zone(sector);
        let within = sector - zone.first;
        let wide = zone.members.len() as u64;
        match self.layout {
            StackLayout::Linear | StackLayout::Behind { .. } => {
                MemberPlace { member: zone.members[0], sector: zone.at + within }
            }
            StackLayout::Raid1 => MemberPlace { member: copy, sector },
            StackLayout::Striped { chunk } | StackLayout::Raid0 { chunk } => {
                let (nth, low) = (within / chunk, within % chunk);
                let member = zone.members[(nth % wide) as usize];
                MemberPlace { member, sector: zone.at + nth / wide * chunk + low }
            }
            StackLayout::Raid10 { chunk } => {
                let (nth, low) = (2 * (within / chunk) + u64::from(copy), within % chunk);
                MemberPlace { member: (nth % wide) as u32, sector: nth / wide * chunk + low }
            }
            StackLayout::Raid4 { chunk } => {
                let (nth, low) = (within / chunk, within % chunk);
                let (row, member) = (nth / (wide - 1), nth % (wide - 1));
                MemberPlace { member: member as u32, sector: row * chunk + low }
            }
            StackLayout::Raid5 { chunk } | StackLayout::Raid6 { chunk } => {
                let (nth, low) = (within / chunk, within % chunk);
                let parities = u64::from(self.layout.parities());
                let (row, column) = (nth / (wide - parities), nth % (wide - parities));
                let member = (wide - 1 - row % wide + parities + column) % wide;
                MemberPlace { member: member as u32, sector: row * chunk + low }
            }
        }
    }

    /// The members that have parity at this sector of theirs, as bits.
    pub fn parity(&self, sector: u64) -> u64 {
        let wide = u64::from(self.members);
        let chunk = match self.layout {
            StackLayout::Raid4 { .. } => return 1 << (wide - 1),
            StackLayout::Raid5 { chunk } | StackLayout::Raid6 { chunk } => chunk,
            _ => return 0,
        };
        let first = wide - 1 - sector / chunk % wide;
        (0..u64::from(self.layout.parities())).map(|nth| 1 << ((first + nth) % wide)).sum()
    }

    fn zone(&self, sector: u64) -> &StackZone {
        let at = self.zones.partition_point(|zone| zone.end <= sector);
        self.zones.get(at).unwrap_or_else(|| panic!("sector {sector} is beyond {}", self.sectors))
    }
}

fn one_behind_the_other(members: &[u64]) -> Vec<StackZone> {
    let mut first = 0;
    let zone = |(member, &sectors): (u32, &u64)| {
        let zone = StackZone { first, end: first + sectors, at: 0, members: vec![member] };
        first = zone.end;
        zone
    };
    (0..).zip(members).map(zone).collect()
}

/// md's zones: the first goes over all members, each further one over those that are longer.
fn ever_fewer(members: &[u64], chunk: u64) -> Vec<StackZone> {
    let lengths: Vec<u64> = members.iter().map(|sectors| sectors / chunk * chunk).collect();
    let (mut zones, mut first, mut at) = (Vec::new(), 0, 0);
    loop {
        let longer: Vec<u32> =
            (0..).zip(&lengths).filter(|(_, length)| **length > at).map(|(member, _)| member).collect();
        let Some(until) = longer.iter().map(|&member| lengths[member as usize]).min() else { return zones };
        let end = first + (until - at) * longer.len() as u64;
        zones.push(StackZone { first, end, at, members: longer });
        (first, at) = (end, until);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const LAYOUTS: [StackLayout; 9] = [
        StackLayout::Raid4 { chunk: 4 },
        StackLayout::Raid5 { chunk: 4 },
        StackLayout::Linear,
        StackLayout::Striped { chunk: 4 },
        StackLayout::Raid0 { chunk: 4 },
        StackLayout::Raid0 { chunk: 16 },
        StackLayout::Raid1,
        StackLayout::Raid10 { chunk: 4 },
        StackLayout::Raid10 { chunk: 8 },
    ];

    /// Whatever the lengths, every sector has as many places as copies, on different members, within them, and no two
    /// sectors share one.
    #[test]
    fn every_sector_has_places_of_its_own() {
        let lengths: [&[u64]; 6] =
            [&[64, 64], &[64, 40], &[40, 64, 90], &[33, 33, 33], &[100, 20, 20, 100], &[7, 64, 64]];
        for layout in LAYOUTS {
            for members in lengths {
                let map = StackMap::new(layout, members);
                let mut seen = BTreeSet::new();
                for sector in 0..map.sectors() {
                    let places: BTreeSet<MemberPlace> = (0..map.copies()).map(|copy| map.place(sector, copy)).collect();
                    let on: BTreeSet<u32> = places.iter().map(|place| place.member).collect();
                    assert_eq!(on.len(), map.copies() as usize, "{layout:?} {members:?} {sector}");
                    for place in places {
                        assert!(place.sector < members[place.member as usize], "{layout:?} {members:?} {place:?}");
                        assert!(seen.insert(place), "{layout:?} {members:?}: two at {place:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn up_to_the_boundary_the_next_sector_is_the_next_on_the_member() {
        for layout in LAYOUTS {
            let map = StackMap::new(layout, &[64, 40, 90]);
            let mut sector = 0;
            while sector < map.sectors() {
                let run = map.until_boundary(sector);
                for copy in 0..map.copies() {
                    let MemberPlace { member, sector: at } = map.place(sector, copy);
                    let last = map.place(sector + run - 1, copy);
                    assert_eq!(last, MemberPlace { member, sector: at + run - 1 }, "{layout:?} {sector}");
                }
                sector += run;
            }
            assert_eq!(sector, map.sectors(), "{layout:?}: the last run ends with it");
        }
    }

    #[test]
    fn the_lengths_are_the_documented_ones() {
        let of = |layout, members: &[u64]| StackMap::new(layout, members).sectors();
        assert_eq!(of(StackLayout::Linear, &[100, 50]), 150);
        assert_eq!(of(StackLayout::Striped { chunk: 8 }, &[100, 50]), 96);
        assert_eq!(of(StackLayout::Raid0 { chunk: 8 }, &[100, 50]), 144, "the longer one is used to its end");
        assert_eq!(of(StackLayout::Raid1, &[100, 50]), 50);
        assert_eq!(of(StackLayout::Raid10 { chunk: 8 }, &[100, 100, 100, 100]), 192);
        assert_eq!(of(StackLayout::Raid10 { chunk: 8 }, &[80, 80, 80]), 120, "any number of members");
        assert_eq!(of(StackLayout::Behind { header: 32 }, &[100]), 68);
    }

    /// mdadm(8)'s "left-symmetric", as it is drawn everywhere: parity goes from the last member to the first, and the
    /// data of a row begins behind it.
    #[test]
    fn parity_moves_back_and_data_begins_behind_it() {
        let five = StackMap::new(StackLayout::Raid5 { chunk: 8 }, &[80; 4]);
        let row = |map: &StackMap, row: u64, data: u64| {
            let at = |column: u64| map.place((row * data + column) * 8, 0);
            assert!((0..data).all(|column| at(column).sector == row * 8));
            ((0..data).map(|column| at(column).member).collect::<Vec<_>>(), map.parity(row * 8))
        };
        assert_eq!(five.sectors(), 240);
        let rows: Vec<_> = (0..5).map(|nth| row(&five, nth, 3)).collect();
        let expected = [(vec![0, 1, 2], 8), (vec![3, 0, 1], 4), (vec![2, 3, 0], 2), (vec![1, 2, 3], 1)];
        assert_eq!((&rows[..4], &rows[4]), (&expected[..], &expected[0]));
        let four = StackMap::new(StackLayout::Raid4 { chunk: 8 }, &[80; 4]);
        assert!((0..4).all(|nth| row(&four, nth, 3) == (vec![0, 1, 2], 8)), "md(4): the last of the active devices");
        let six = StackMap::new(StackLayout::Raid6 { chunk: 8 }, &[80; 4]);
        let rows: Vec<_> = (0..4).map(|nth| row(&six, nth, 2)).collect();
        assert_eq!(rows, [(vec![1, 2], 9), (vec![0, 1], 12), (vec![3, 0], 6), (vec![2, 3], 3)]);
    }

    #[test]
    fn parity_is_where_no_data_is() {
        let layouts =
            [StackLayout::Raid4 { chunk: 8 }, StackLayout::Raid5 { chunk: 8 }, StackLayout::Raid6 { chunk: 16 }];
        for layout in layouts {
            let map = StackMap::new(layout, &[96, 96, 100, 96, 120]);
            assert!((0..map.sectors()).all(|sector| {
                let MemberPlace { member, sector } = map.place(sector, 0);
                let parity = map.parity(sector);
                parity.count_ones() == layout.parities() && parity >> member & 1 == 0
            }));
        }
        assert_eq!(StackMap::new(StackLayout::Raid1, &[80; 4]).parity(8), 0);
    }

    /// md(4)'s words about the near layout: the copies of a block are at similar offsets of different devices.
    #[test]
    fn the_near_layout_puts_both_copies_side_by_side() {
        let four = StackMap::new(StackLayout::Raid10 { chunk: 8 }, &[80; 4]);
        let at = |sector: u64| [0, 1].map(|copy| four.place(sector, copy)).map(|place| (place.member, place.sector));
        assert_eq!([at(0), at(8), at(16)], [[(0, 0), (1, 0)], [(2, 0), (3, 0)], [(0, 8), (1, 8)]]);
        let three = StackMap::new(StackLayout::Raid10 { chunk: 8 }, &[80; 3]);
        let at = |sector: u64| [0, 1].map(|copy| three.place(sector, copy)).map(|place| (place.member, place.sector));
        assert_eq!([at(0), at(8), at(16)], [[(0, 0), (1, 0)], [(2, 0), (0, 8)], [(1, 8), (2, 8)]]);
    }
}
