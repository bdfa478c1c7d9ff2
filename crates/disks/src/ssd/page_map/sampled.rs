//! **What for**: a map that takes no more memory however much is written, and however large the disk is.
//!
//! **Rule**: the map is exact until [`Shape::exact_units`] have been written or copied. Where a wholly written map
//! would not fit into [`MOST_BYTES`], it then becomes a sample. Of each die it keeps one unit of `every`, and blocks
//! that hold as many units fewer; what a unit of the sample has to copy, the units that it stands for pay, one after
//! the other. Which units are in is decided by their number alone, and `every` is odd, so that no alignment of the load
//! matters. Blocks stay as many as they were: what is hot, what is cold and what fills up in order stays what it was.
//!
//! **Origin**: sampling by address, as SHARDS does for caches (Waldspurger et al., "Efficient MRC construction with
//! SHARDS", FAST 2015). A test holds a sample to the expression that the exact map is held to.
//!
//! **Costs when wrong**: either a run over a terabyte of random writes takes gigabytes, or such a disk collects more or
//! less than it would. A load that writes again and again a few units, none of them in the sample, copies nothing.

use rustc_hash::FxHashMap;

use super::{DieMap, NOWHERE, PageMap, Shape, Victim};

/// What the places and logs of all dies take at most, without what is known of each block.
const MOST_BYTES: u64 = 48 << 20;
/// An entry of a hash map just after it grew, and one of a log.
const HASHED_BYTES: u64 = 21;
const LOGGED_BYTES: u64 = 4;
/// A place of the sample.
const PLACE_BYTES: u64 = 4;

/// Where the units of a die are that were written since the beginning: their block, or nowhere.
#[derive(Clone, Debug)]
pub(super) enum Places {
    /// Of every unit.
    All(FxHashMap<u32, u32>), // tidy: never iterated
    /// Of those in the sample, one of `every`: 0 is not written, 1 is nowhere, others are the block and 2.
    Some {
        /// Of so many units.
        every: u32,
        /// By number in the sample.
        at: Vec<u32>,
        /// How many of these are written.
        len: usize,
    },
}

impl Default for Places {
    fn default() -> Places {
        Places::All(FxHashMap::default())
    }
}

impl Places {
    #[inline]
    pub(super) fn get(&self, unit: u32) -> Option<u32> {
        match self {
            Places::All(all) => all.get(&unit).copied(),
            Places::Some { every, at, .. } => decoded(at[(unit / every) as usize]),
        }
    }

    #[inline]
    pub(super) fn insert(&mut self, unit: u32, block: u32) -> Option<u32> {
        match self {
            Places::All(all) => all.insert(unit, block),
            Places::Some { every, at, len } => {
                let new = if block == NOWHERE { 1 } else { block + 2 };
                let before = decoded(core::mem::replace(&mut at[(unit / *every) as usize], new));
                *len += usize::from(before.is_none());
                before
            }
        }
    }

    /// The units of a sample that are in this block; none of a whole map, whose blocks have logs.
    pub(super) fn sampled_in(&self, block: u32) -> impl Iterator<Item = u32> {
        let (every, at) = match self {
            Places::All(_) => (1, &[][..]),
            Places::Some { every, at, .. } => (*every, &at[..]),
        };
        let is_there = move |(_, place): &(usize, &u32)| **place == block + 2;
        at.iter().enumerate().filter(is_there).map(move |(number, _)| number as u32 * every)
    }

    /// How many units have a place here.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        match self {
            Places::All(all) => all.len(),
            Places::Some { len, .. } => *len,
        }
    }

    /// Bytes, about.
    #[cfg(test)]
    fn bytes(&self) -> u64 {
        match self {
            Places::All(all) => all.capacity() as u64 * 8 / 7 * 9,
            Places::Some { at, .. } => at.len() as u64 * PLACE_BYTES,
        }
    }
}

fn decoded(place: u32) -> Option<u32> {
    match place {
        0 => None,
        1 => Some(NOWHERE),
        block => Some(block - 2),
    }
}

/// Copies that are spread over the units written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Debt {
    /// Units.
    owed: u32,
    /// Paid within `every` units, and what of it is due.
    pace: u32,
    due: u32,
}

impl Debt {
    /// One more unit is written; if it is in the sample, so many were copied there. Returns how many are copied now.
    pub(super) fn pay(&mut self, copied: Option<u32>, shape: &Shape) -> u32 {
        if let Some(copied) = copied {
            self.owed += copied * shape.every;
            self.pace = self.owed;
        }
        self.due += self.pace;
        let paid = (self.due / shape.every).min(self.owed);
        self.due %= shape.every;
        self.owed -= paid;
        paid
    }
}

impl Shape {
    /// Units that may be written or copied until the map becomes a sample.
    pub(super) fn exact_units(&self) -> u64 {
        let all = self.dies * u64::from(self.units);
        let bytes = all * (HASHED_BYTES * 100 + LOGGED_BYTES * u64::from(100 + self.spare_percent)) / 100;
        if bytes <= MOST_BYTES { u64::MAX } else { MOST_BYTES / (HASHED_BYTES + LOGGED_BYTES) }
    }

    /// The sample: one unit of how many, and how many of them a block holds. Of the odd numbers that are large enough
    /// the one with which blocks keep their size best.
    fn sample(&self) -> (u32, u32) {
        let all = self.dies * u64::from(self.units) * PLACE_BYTES;
        let least = (all.div_ceil(MOST_BYTES).max(3) | 1) as u32;
        let off = |every: u32| {
            let room = (f64::from(self.block_units) / f64::from(every)).round().max(1.0);
            (room * f64::from(every) / f64::from(self.block_units) - 1.0).abs()
        };
        let every = (least..=least + least / 8 + 2).step_by(2).min_by(|one, other| off(*one).total_cmp(&off(*other)));
        let every = every.unwrap_or(least);
        (every, ((f64::from(self.block_units) / f64::from(every)).round() as u32).max(1))
    }
}

impl PageMap {
    /// Makes the map a sample of itself.
    pub(super) fn sample(&mut self) {
        (self.shape.every, self.shape.room) = self.shape.sample();
        for die in &mut self.dies {
            die.sample(&self.shape);
        }
    }
}

impl DieMap {
    /// Keeps what is in the sample.
    fn sample(&mut self, shape: &Shape) {
        let is_in = |unit: &u32| unit.is_multiple_of(shape.every);
        let moved = core::mem::take(&mut self.moved);
        let at = vec![0; shape.units.div_ceil(shape.every) as usize];
        self.moved = Places::Some { every: shape.every, at, len: 0 };
        self.blocks.iter_mut().for_each(|block| block.valid = 0);
        for unit in (0..shape.units).step_by(shape.every as usize) {
            let place = moved.get(unit);
            if let Some(block) = place {
                self.moved.insert(unit, block);
            }
            let block = place.unwrap_or_else(|| self.block_of(shape.place(unit)));
            if block != NOWHERE {
                self.blocks[block as usize].valid += 1;
            }
        }
        drop(moved);
        for block in &mut self.blocks {
            block.filled = (block.filled / shape.every).max(u32::from(block.filled > 0));
            block.log = Vec::new();
        }
        let is_full = |open: &u32| self.blocks[*open as usize].filled >= shape.room;
        self.open = self.open.map(|open| open.filter(|open| !is_full(open)));
        if let Some(victim) = &mut self.victim {
            let copies = self.blocks[victim.block as usize].valid;
            let units = victim.units.iter().copied().filter(is_in).collect();
            let per = shape.room.saturating_sub(copies).max(1);
            *victim = Victim { block: victim.block, units, copies, per, due: 0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssd::tests_support::ssd_spec;
    use crate::{Before, PageMapSpec};
    use blksched::Span;

    const UNIT: u64 = 8;

    /// A disk of so many GB, with blocks of 16 MiB and 7 % to spare.
    fn map(gb: u64, channels: u32, before: Before) -> PageMap {
        let mut flash = ssd_spec("nvme-ssd-ideal").flash;
        (flash.channels, flash.dies) = (channels, 1);
        let erase = Span::from_ms(4);
        let spec = PageMapSpec { block_sectors: 32_768, unit_sectors: UNIT, spare_percent: 7, before, erase };
        PageMap::new(&spec, &flash, gb * 1_953_125)
    }

    fn bytes(map: &PageMap) -> u64 {
        let blocks = map.dies.iter().flat_map(|die| &die.blocks);
        let logs = blocks.map(|block| size_of_val(block) as u64 + block.log.capacity() as u64 * LOGGED_BYTES);
        logs.sum::<u64>() + map.dies.iter().map(|die| die.moved.bytes()).sum::<u64>()
    }

    /// Writes units anywhere; returns what was copied for each, in units.
    fn write(map: &mut PageMap, count: u64, random: &mut u64) -> f64 {
        let (units, dies) = (u64::from(map.shape.units), map.shape.dies);
        let in_page = map.shape.page_sectors / UNIT;
        let mut spent = Span::ZERO;
        for _ in 0..count {
            *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let any = *random >> 16;
            let (die, unit) = (any % dies, any / dies % units);
            let page = unit / in_page * dies + die;
            let start = page * map.shape.page_sectors + unit % in_page * UNIT;
            spent += map.programmed(die as usize, start, UNIT as u32);
        }
        let programs = spent.as_ns() as f64 / map.shape.copy.as_ns() as f64;
        programs * map.shape.program_sectors as f64 / UNIT as f64 / count as f64
    }

    #[test]
    fn a_large_disks_map_is_exact_up_to_its_bound_and_takes_no_more_beyond() {
        for gb in [1_000, 4_000] {
            let (mut map, mut random) = (map(gb, 64, Before::Random), 5);
            let bound = map.shape.exact_units();
            let copied = write(&mut map, bound / 20, &mut random);
            assert!(map.shape.every == 1 && bytes(&map) < 64 << 20);
            while map.exact_left > 100 {
                write(&mut map, 1, &mut random);
            }
            assert!(map.shape.every == 1 && bytes(&map) < 64 << 20, "{} bytes just below", bytes(&map));
            write(&mut map, 101, &mut random);
            assert!(map.shape.every > 1 && bytes(&map) < 64 << 20, "{} bytes at", bytes(&map));
            let later = write(&mut map, 8 * bound, &mut random);
            println!("{gb} GB: {} bytes, {copied} and {later} copied, one of {}", bytes(&map), map.shape.every);
            assert!(bytes(&map) < 64 << 20, "{} bytes above", bytes(&map));
            // Erases are in what was spent, too.
            assert!((later / copied - 1.0).abs() < 0.15, "{copied}, then {later}");
        }
    }

    #[test]
    fn what_is_discarded_takes_no_more_than_what_is_written() {
        let mut map = map(1_000, 64, Before::Random);
        let (page, dies) = (map.shape.page_sectors, map.shape.dies);
        let pages = u64::from(map.shape.units) * UNIT / page * dies;
        for at in 0..pages {
            map.discarded((at % dies) as usize, at * page, page as u32);
        }
        assert!(map.shape.every > 1 && bytes(&map) < 64 << 20, "{} bytes", bytes(&map));
        write(&mut map, 1_000, &mut 5);
    }

    #[test]
    fn a_small_disks_map_is_exact_for_ever() {
        let (mut map, mut random) = (map(4, 4, Before::Random), 5);
        write(&mut map, 3_000_000, &mut random);
        assert!(map.shape.every == 1 && map.exact_left > u64::MAX / 2);
        assert!(bytes(&map) < 64 << 20, "{}", bytes(&map));
    }

    #[test]
    fn a_sample_copies_as_much_as_the_whole_and_no_write_pays_for_all() {
        for (every, room) in [(17, 241), (41, 100), (67, 61)] {
            let (mut map, mut random) = (map(16, 1, Before::Random), 5);
            let whole = write(&mut map, 100_000, &mut random);
            (map.shape.every, map.shape.room) = (every, room);
            for die in &mut map.dies {
                die.sample(&map.shape);
            }
            let units = u64::from(map.shape.units);
            write(&mut map, units, &mut random);
            let sample = write(&mut map, units, &mut random);
            println!("one of {every}: {sample}, whole {whole}");
            assert!((sample / whole - 1.0).abs() < 0.15, "one of {every}: {sample} for {whole}");
            let most = (0..100_000).map(|_| write(&mut map, 1, &mut random)).fold(0.0, f64::max);
            assert!(most < 60.0 + 8.0 * whole, "{most} units at once");
        }
    }
}
