//! **What for**: garbage collection with a map of pages: the contents of blocks, and which of them is reclaimed next.
//!
//! **Rule**: a die maps units. Each write goes to the next place of an open block and makes the unit's old place stale.
//! When few blocks are free, the closed block with the fewest valid units is the victim (greedy): its valid units are
//! copied to a second open block and it is erased. The copies are spread over the writes that use the freed space, so
//! that no write pays for a whole block. A discarded unit has no place.
//!
//! `before` gives the disk's contents before the first write. The place of a unit that was not written since is
//! computed, so the map's size depends on the amount written, and from some amount on it is a sample ([`sampled`]), so
//! that it has a bound: 48 MiB, and what is known of each block. `random` is the state after long random writes: units
//! are anywhere, and the blocks, from the youngest to the oldest, have as many valid units as uniform random writes
//! leave with this amount of spare room.
//!
//! **Origin**: write amplification of greedy collection under uniform random writes: Xiang and Kurkoski, An Improved
//! Analytic Expression for Write Amplification in NAND Flash (ICNC 2012); tests hold the model to it. Two open blocks,
//! for the host and for copies: MEMORY, usual.

mod sampled;

use blksched::Span;

use sampled::Places;

use crate::{Before, FlashSpec, PageMapSpec};

/// When only this many blocks are free, one is reclaimed.
const FEW: usize = 2;
/// No place.
const NOWHERE: u32 = u32::MAX;

/// Blocks of one die.
#[derive(Clone, Debug)]
pub(super) struct PageMap {
    shape: Shape,
    dies: Vec<DieMap>,
    /// So many units more may be written or copied before the map becomes a sample.
    exact_left: u64,
}

/// What all dies have in common.
#[derive(Clone, Debug)]
struct Shape {
    unit_sectors: u64,
    page_sectors: u64,
    program_sectors: u64,
    dies: u64,
    /// The units of a die, and of a block.
    units: u32,
    block_units: u32,
    /// The map has one unit of so many, odd; and a block holds so many of these.
    every: u32,
    room: u32,
    spare_percent: u32,
    before: Before,
    /// `unit * stride mod units` is the initial place of a unit, and `unit = place * back mod units`.
    stride: u64,
    back: u64,
    copy: Span,
    erase: Span,
}

/// The content of a block.
#[derive(Clone, Debug, Default)]
struct Block {
    valid: u32,
    /// Its first unit of the initial content, and how many; their places are consecutive.
    first: u32,
    old: u32,
    /// How much was written to it since; 0 while it is free.
    filled: u32,
    /// What that was, in order; of a sample it is not kept.
    log: Vec<u32>,
}

/// One die's map.
#[derive(Clone, Debug)]
struct DieMap {
    blocks: Vec<Block>,
    free: Vec<u32>,
    /// The open blocks for the host and for copies.
    open: [Option<u32>; 2],
    /// The present place of units written since the beginning: their block, or nowhere.
    moved: Places,
    victim: Option<Victim>,
    /// Sectors to be copied, less than a program.
    owed: u64,
    /// What a sample owes for the units that it stands for.
    debt: sampled::Debt,
    written: u64,
    copied: u64,
}

/// A block that is being reclaimed.
#[derive(Clone, Debug)]
struct Victim {
    block: u32,
    /// The units that it may still hold.
    units: Vec<u32>,
    /// Copies per this many written units: what it held over what it gives back.
    copies: u32,
    per: u32,
    due: u32,
}

impl PageMap {
    pub(super) fn new(spec: &PageMapSpec, flash: &FlashSpec, capacity_sectors: u64) -> PageMap {
        let dies = u64::from(flash.channels * flash.dies);
        let pages = capacity_sectors.div_ceil(flash.page_sectors).div_ceil(dies);
        let units = (pages * (flash.page_sectors / spec.unit_sectors)) as u32;
        let stride = coprime(u64::from(units));
        let block_units = (spec.block_sectors / spec.unit_sectors) as u32;
        let shape = Shape {
            unit_sectors: spec.unit_sectors,
            page_sectors: flash.page_sectors,
            program_sectors: flash.program_sectors,
            dies,
            units,
            block_units,
            every: 1,
            room: block_units,
            spare_percent: spec.spare_percent,
            before: spec.before,
            stride,
            back: inverse(stride, u64::from(units)),
            copy: flash.read + flash.program,
            erase: spec.erase,
        };
        let die = DieMap::new(&shape);
        PageMap { exact_left: shape.exact_units(), dies: vec![die; dies as usize], shape }
    }

    /// `sectors` from `start` on have been programmed on `die`: returns how long it collects now.
    pub(super) fn programmed(&mut self, die: usize, start: u64, sectors: u32) -> Span {
        let (first, behind) = self.shape.units_of(start, sectors);
        if self.shape.every == 1 && self.exact_left < u64::from(behind - first) {
            self.sample();
        }
        let die = &mut self.dies[die];
        let mut copies = 0;
        let mut erases = 0;
        for unit in first..behind {
            let is_in = self.shape.every == 1 || unit.is_multiple_of(self.shape.every);
            let (copied, erased) = if is_in { die.write(&self.shape, unit) } else { (0, 0) };
            copies += if self.shape.every == 1 { copied } else { die.debt.pay(is_in.then_some(copied), &self.shape) };
            erases += erased;
        }
        self.exact_left = self.exact_left.saturating_sub(u64::from(behind - first + copies));
        die.owed += u64::from(copies) * self.shape.unit_sectors;
        let programs = die.owed / self.shape.program_sectors;
        die.owed %= self.shape.program_sectors;
        self.shape.copy * programs + self.shape.erase * u64::from(erases)
    }

    /// Units completely within these sectors of a page of `die` are no longer needed.
    pub(super) fn discarded(&mut self, die: usize, start: u64, sectors: u32) {
        let end = start + u64::from(sectors);
        let (unit, within) = (self.shape.unit_sectors, |start: u64| start.div_ceil(self.shape.unit_sectors));
        let (low, high) = (within(start) * unit, end / unit * unit);
        if low < high {
            let (first, behind) = self.shape.units_of(low, (high - low) as u32);
            // What was discarded is kept as what was written is.
            let units = u64::from(behind - first);
            if self.shape.every == 1 && self.exact_left < units {
                self.sample();
            }
            self.exact_left = self.exact_left.saturating_sub(units);
            let mapped = (first..behind).filter(|unit| unit.is_multiple_of(self.shape.every));
            mapped.for_each(|unit| self.dies[die].forget(&self.shape, unit));
        }
    }

    /// Units written by the host and units copied, on all dies.
    #[cfg(test)]
    fn counts(&self) -> (u64, u64) {
        self.dies.iter().fold((0, 0), |sum, die| (sum.0 + die.written, sum.1 + die.copied))
    }
}

impl Shape {
    /// A die's units that hold these sectors of one page.
    fn units_of(&self, start: u64, sectors: u32) -> (u32, u32) {
        let (page, within) = (start / self.page_sectors, start % self.page_sectors);
        let base = page / self.dies * (self.page_sectors / self.unit_sectors);
        let behind = (within + u64::from(sectors)).div_ceil(self.unit_sectors);
        ((base + within / self.unit_sectors) as u32, (base + behind) as u32)
    }

    /// The initial place of a unit, among all units.
    fn place(&self, unit: u32) -> u32 {
        match self.before {
            Before::Empty => NOWHERE,
            Before::Sequential => unit,
            Before::Random => (u64::from(unit) * self.stride % u64::from(self.units)) as u32,
        }
    }

    /// The unit at this initial place.
    fn at_place(&self, place: u32) -> u32 {
        match self.before {
            Before::Random => (u64::from(place) * self.back % u64::from(self.units)) as u32,
            Before::Empty | Before::Sequential => place,
        }
    }
}

impl DieMap {
    fn new(shape: &Shape) -> DieMap {
        let needed = shape.units.div_ceil(shape.block_units);
        let spare = (u64::from(needed) * u64::from(shape.spare_percent) / 100) as u32;
        // Open blocks and those kept free are not for data.
        let count = needed + spare.max(1) + FEW as u32 + 2;
        let mut die = DieMap {
            blocks: vec![Block::default(); count as usize],
            free: Vec::new(),
            open: [None; 2],
            moved: Places::default(),
            victim: None,
            owed: 0,
            debt: sampled::Debt::default(),
            written: 0,
            copied: 0,
        };
        // After random writes even the very first write finds too few free blocks.
        die.fill(shape, needed + spare.max(1) + u32::from(shape.before == Before::Random));
        die
    }

    /// Fills the blocks with what was written before.
    fn fill(&mut self, shape: &Shape, for_data: u32) {
        let share = f64::from(shape.units) / f64::from(shape.block_units) / f64::from(for_data);
        let decay = decay_of(share.min(0.999));
        // How much of everything is in the blocks up to here.
        let up_to = |index: u32| {
            let age = f64::from(index + 1) / f64::from(for_data);
            ((-decay * age).exp_m1() / (-decay).exp_m1() * f64::from(shape.units)).round() as u32
        };
        let mut first = 0;
        for index in 0..self.blocks.len() as u32 {
            let left = (shape.units - first).min(shape.block_units);
            let old = match shape.before {
                Before::Empty => 0,
                Before::Random if index + 1 < for_data => up_to(index).saturating_sub(first).min(left),
                Before::Sequential | Before::Random => left,
            };
            self.blocks[index as usize] = Block { valid: old, first, old, ..Block::default() };
            first += old;
            // A block in the middle without valid units is as good as free.
            if old == 0 {
                self.free.push(index);
            }
        }
        self.free.reverse();
    }

    /// Writes a unit; returns how many others were copied, and how many blocks erased.
    fn write(&mut self, shape: &Shape, unit: u32) -> (u32, u32) {
        self.forget(shape, unit);
        self.append(shape, unit, 0);
        self.written += 1;
        if self.victim.is_none() && self.free.len() <= FEW {
            self.choose(shape);
        }
        self.collect(shape)
    }

    /// A unit no longer has a place.
    fn forget(&mut self, shape: &Shape, unit: u32) {
        let place = match self.moved.insert(unit, NOWHERE) {
            Some(block) => block,
            None => self.block_of(shape.place(unit)),
        };
        if place != NOWHERE {
            self.blocks[place as usize].valid -= 1;
        }
    }

    /// The block of an initial place.
    fn block_of(&self, place: u32) -> u32 {
        if place == NOWHERE {
            return NOWHERE;
        }
        // Blocks without old units have the same `first` as the next one; the last that begins here holds it.
        let behind = self.blocks.partition_point(|block| block.first <= place) as u32;
        behind - 1
    }

    /// Appends a unit to an open block, the host's (0) or that for copies (1).
    fn append(&mut self, shape: &Shape, unit: u32, which: usize) {
        let open = match self.open[which] {
            Some(open) => open,
            None => {
                let open = self.free.pop().expect("some blocks are kept free");
                self.open[which] = Some(open);
                open
            }
        };
        let block = &mut self.blocks[open as usize];
        if shape.every == 1 {
            if block.log.is_empty() {
                block.log.reserve_exact(shape.room as usize);
            }
            block.log.push(unit);
        }
        block.valid += 1;
        block.filled += 1;
        if block.filled >= shape.room {
            self.open[which] = None;
        }
        self.moved.insert(unit, open);
    }

    /// Chooses the closed block with the fewest valid units as the victim.
    fn choose(&mut self, shape: &Shape) {
        let closed = |index: &u32| {
            let block = &self.blocks[*index as usize];
            (block.old > 0 || block.filled > 0) && !self.open.contains(&Some(*index))
        };
        let all = (0..self.blocks.len() as u32).filter(closed);
        let Some(index) = all.min_by_key(|&index| self.blocks[index as usize].valid) else { return };
        let block = &self.blocks[index as usize];
        if block.valid >= shape.room {
            return;
        }
        let old = (block.first..block.first + block.old).map(|place| shape.at_place(place));
        let old = old.filter(|unit| unit.is_multiple_of(shape.every) && self.moved.get(*unit).is_none());
        let written = block.log.iter().copied().filter(|unit| self.moved.get(*unit) == Some(index));
        let units: Vec<u32> = old.chain(written).chain(self.moved.sampled_in(index)).collect();
        let copies = block.valid;
        let per = (shape.room - copies).max(1);
        self.victim = Some(Victim { block: index, units, copies, per, due: 0 });
    }

    /// Copies as much as one more written unit owes.
    fn collect(&mut self, shape: &Shape) -> (u32, u32) {
        let Some(mut victim) = self.victim.take() else { return (0, 0) };
        victim.due += victim.copies;
        let mut copied = 0;
        loop {
            // Units overwritten or copied meanwhile (a block may hold a unit twice) cost nothing.
            let Some(&unit) = victim.units.last() else { return (copied, self.erase(victim.block)) };
            if self.moved.get(unit).is_some_and(|at| at != victim.block) {
                victim.units.pop();
                continue;
            }
            if victim.due < victim.per {
                self.victim = Some(victim);
                return (copied, 0);
            }
            victim.units.pop();
            victim.due -= victim.per;
            self.forget(shape, unit);
            self.append(shape, unit, 1);
            self.copied += 1;
            copied += 1;
        }
    }

    /// Frees a block.
    fn erase(&mut self, index: u32) -> u32 {
        let block = &mut self.blocks[index as usize];
        debug_assert_eq!(block.valid, 0, "what was valid has been copied");
        *block = Block { first: block.first, ..Block::default() };
        self.free.insert(0, index);
        1
    }
}

/// How fast blocks lose valid units with age, so that this share of all is valid: `(1 - e^-d) / d = share`.
fn decay_of(share: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1_000.0);
    for _ in 0..100 {
        let middle: f64 = (low + high) / 2.0;
        if -(-middle).exp_m1() / middle > share { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// A number of about 0.618 of `units` that is coprime to it.
fn coprime(units: u64) -> u64 {
    let mut stride = (units as f64 * 0.618_034) as u64 + 1;
    while gcd(stride, units) != 1 {
        stride += 1;
    }
    stride
}

fn gcd(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { gcd(other, one % other) }
}

/// `stride * inverse = 1 mod units`.
fn inverse(stride: u64, units: u64) -> u64 {
    let (mut old, mut new) = ((i128::from(stride), 1i128), (i128::from(units), 0i128));
    while new.0 != 0 {
        let times = old.0 / new.0;
        (old, new) = (new, (old.0 - times * new.0, old.1 - times * new.1));
    }
    old.1.rem_euclid(i128::from(units.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssd::tests_support::ssd_spec;

    const UNIT: u64 = 8;
    const BLOCK_UNITS: u64 = 128;

    /// One die with this many blocks' worth of data.
    fn map(blocks: u64, spare_percent: u32, before: Before) -> PageMap {
        let mut flash = ssd_spec("nvme-ssd-ideal").flash;
        (flash.channels, flash.dies) = (1, 1);
        let (block_sectors, erase) = (BLOCK_UNITS * UNIT, Span::from_ms(4));
        let spec = PageMapSpec { block_sectors, unit_sectors: UNIT, spare_percent, before, erase };
        PageMap::new(&spec, &flash, blocks * block_sectors)
    }

    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            ((u128::from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)) * u128::from(limit)) >> 64) as u64
        }
    }

    /// Writes this many units; returns how many units were programmed for each.
    fn amplification(map: &mut PageMap, writes: u64, mut unit: impl FnMut() -> u64) -> f64 {
        let before = map.counts();
        for _ in 0..writes {
            map.programmed(0, unit() * UNIT, UNIT as u32);
        }
        let (written, copied) = (map.counts().0 - before.0, map.counts().1 - before.1);
        assert_eq!(written, writes);
        check(map);
        1.0 + copied as f64 / written as f64
    }

    /// Checks that every unit that is somewhere is counted there.
    fn check(map: &PageMap) {
        let die = &map.dies[0];
        let valid: u64 = die.blocks.iter().map(|block| u64::from(block.valid)).sum();
        let unmapped = (0..map.shape.units).filter(|unit| die.moved.get(*unit) == Some(NOWHERE)).count() as u64;
        let never =
            if map.shape.before == Before::Empty { u64::from(map.shape.units) - die.moved.len() as u64 } else { 0 };
        assert_eq!(valid, u64::from(map.shape.units) - unmapped - never);
    }

    /// Xiang and Kurkoski's expression, by the ratio of spare blocks to needed blocks.
    fn expected(spare: f64) -> f64 {
        let x = -(1.0 + spare) * (-(1.0 + spare)).exp();
        // Lambert's W, the branch above -1, by Newton's method.
        let mut w = -0.5;
        for _ in 0..200 {
            let e = f64::exp(w);
            w -= (w * e - x) / (e * (w + 1.0));
        }
        (1.0 + spare) / (1.0 + spare + w)
    }

    #[test]
    fn the_expression_is_the_published_one() {
        assert!((expected(0.3) - 2.36).abs() < 0.005, "{}", expected(0.3));
    }

    #[test]
    fn uniform_random_writes_cost_what_was_published() {
        for (spare, warm) in [(15, 6), (30, 4), (60, 4)] {
            let mut map = map(600, spare, Before::Sequential);
            let (units, mut random) = (600 * BLOCK_UNITS, Random(5));
            amplification(&mut map, warm * units, || random.below(units));
            let found = amplification(&mut map, 3 * units, || random.below(units));
            let expected = expected(f64::from(spare) / 100.0);
            assert!((found / expected - 1.0).abs() < 0.05, "{spare} %: {found} for {expected}");
        }
    }

    #[test]
    fn a_disk_that_was_long_written_at_random_is_where_such_writes_lead() {
        for spare in [7, 15, 30] {
            let mut map = map(600, spare, Before::Random);
            check(&map);
            let (units, mut random) = (600 * BLOCK_UNITS, Random(5));
            let soon = amplification(&mut map, units / 3, || random.below(units));
            let later = amplification(&mut map, 4 * units, || random.below(units));
            assert!((soon / later - 1.0).abs() < 0.12, "{spare} %: {soon}, later {later}");
        }
    }

    #[test]
    fn writes_in_order_and_writes_to_a_small_part_copy_next_to_nothing() {
        let units = 600 * BLOCK_UNITS;
        let mut next = 0..;
        let mut in_order = || next.next().unwrap_or(0) % units;
        let found = amplification(&mut map(600, 7, Before::Sequential), 3 * units, &mut in_order);
        assert!(found < 1.01, "{found}");
        let (mut small, mut random) = (map(600, 7, Before::Sequential), Random(5));
        amplification(&mut small, units, || random.below(units / 100));
        let found = amplification(&mut small, units, || random.below(units / 100));
        assert!(found < 1.1, "{found}");
    }

    #[test]
    fn what_was_discarded_is_spare_room() {
        let (mut map, units, mut random) = (map(600, 7, Before::Random), 600 * BLOCK_UNITS, Random(5));
        for unit in units / 2..units {
            map.discarded(0, unit * UNIT, UNIT as u32);
        }
        check(&map);
        amplification(&mut map, 2 * units, || random.below(units / 2));
        let found = amplification(&mut map, units, || random.below(units / 2));
        let expected = expected(1.07 * 2.0 - 1.0);
        assert!((found / expected - 1.0).abs() < 0.05, "{found} for {expected}");
        // A part of a unit cannot be given back.
        let before = map.dies[0].moved.len();
        map.discarded(0, 4, 8);
        assert_eq!(map.dies[0].moved.len(), before);
    }

    #[test]
    fn an_empty_disk_copies_nothing_until_it_is_full() {
        let (mut map, units, mut random) = (map(600, 7, Before::Empty), 600 * BLOCK_UNITS, Random(5));
        let found = amplification(&mut map, units, || random.below(units));
        assert!((found - 1.0).abs() < 1e-9, "{found}");
    }

    #[test]
    fn a_terabytes_map_is_as_large_as_what_was_written() {
        let flash = ssd_spec("nvme-ssd-ideal").flash;
        let (block_sectors, erase) = (32_768, Span::from_ms(4));
        let spec = PageMapSpec { block_sectors, unit_sectors: UNIT, spare_percent: 7, before: Before::Random, erase };
        let mut map = PageMap::new(&spec, &flash, 1_953_125_000);
        let blocks: usize = map.dies.iter().map(|die| die.blocks.len()).sum();
        assert!(blocks < 70_000, "{blocks}");
        let mut random = Random(5);
        for _ in 0..20_000 {
            let start = random.below(244_000_000) * UNIT;
            let die = (start / flash.page_sectors % map.shape.dies) as usize;
            map.programmed(die, start, UNIT as u32);
        }
        let entries: usize = map.dies.iter().map(|die| die.moved.len()).sum();
        let (written, copied) = map.counts();
        assert!(entries as u64 <= written + copied, "{entries} for {written} and {copied}");
    }

    #[test]
    fn no_write_pays_for_a_whole_block() {
        let (mut map, units, mut random) = (map(600, 7, Before::Random), 600 * BLOCK_UNITS, Random(5));
        let mut worst = Span::ZERO;
        for _ in 0..units {
            worst = worst.max(map.programmed(0, random.below(units) * UNIT, UNIT as u32));
        }
        // Units of 4 KiB: eight make a program. Usually a copy or two, and sometimes an erase.
        let few = (map.shape.copy * 3) + map.shape.erase;
        assert!(worst <= few, "{worst} {few}");
    }
}
