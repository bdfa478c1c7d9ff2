//! The coarse half of NCQ's choice: which queued commands can be the cheapest.
//!
//! For each command a lower bound of its cost is computed in 16-bit lanes, eight at a time and without a square root.
//! The exact cost is computed only where the bound does not exceed the least cost found: mostly for one of 32 commands.
//!
//! A bound is in parts of a revolution, so that the platters' angle is its remainder. The seek curve is bounded from
//! below by a bent line, the sum of ramps that stop rising at a quarter, a sixteenth and a 64th of the stroke, which
//! saturating additions produce. The exact cost is computed in vain only for a command that is reached a revolution
//! later than its bound says.

use super::geometry::Place;
use super::mechanism::Access;
use super::seek::SeekCurve;

/// Parts of a revolution, so that some revolutions fit into 16 bits.
const TURN: u16 = 1 << 12;
/// The bound of a place without a command, four revolutions; no command's bound is as large.
const NEVER: i16 = 4 * TURN as i16;
/// The rounding error of a bound, and the error of single precision \[parts of a revolution\].
const ROUNDING: f64 = 0.05;
/// Commands in a block.
const BLOCK: usize = 32;
/// Lanes of a register.
const LANES: usize = 8;
/// Coarse sectors are below this, so that the sign of a difference is still correct.
const SECTOR_BITS: u32 = 15;
/// The coarse sector of a command that is not a read: above that of any read.
const NO_READ: u16 = u16::MAX;
/// The cylinder of a place without a command: the arm is never there.
const NO_CYLINDER: u16 = u16::MAX;

/// Coarse costs of a disk, never too high.
#[derive(Clone, Copy, Debug)]
pub(super) struct CoarseCosts {
    /// Coarse cylinders of a cylinder \[2^-32\].
    cylinder: u64,
    /// Parts of a revolution in a nanosecond \[2^-32\].
    angle: u64,
    parts_per_ns: f32,
    /// The least cost of a seek, for a read and for a write.
    read: u16,
    write: u16,
    /// How high each ramp rises; the first rises over the whole stroke, each of the others over a quarter of the one
    /// before.
    ramps: [u16; 4],
}

impl CoarseCosts {
    /// For a disk with this many cylinders; `None` if its curve is measured or 16 bits cannot hold its costs.
    pub(super) fn new(curve: &SeekCurve, cylinders: i32, revolution_ns: i32) -> Option<CoarseCosts> {
        let (cylinders, revolution_ns) = (f64::from(cylinders.max(2)), f64::from(revolution_ns));
        let parts = |ns: f64| ns * f64::from(TURN) / revolution_ns;
        let (least, settle) = (curve.arm_ns(0.0), f64::from(curve.write_settle_ns()));
        let longest = parts(curve.arm_ns(cylinders) + settle);
        let scale = f64::from(NO_CYLINDER) / cylinders;
        let whole = f64::from(1 << 16);
        let (bends, knee) = ([64.0, 16.0, 4.0].map(|part| whole / part), curve.knee() * scale);
        if curve.is_measured() || longest >= f64::from(3 * TURN - 2) || knee <= bends[2] {
            return None;
        }
        let rise = |from: f64, to: f64| parts(curve.arm_ns(to / scale) - curve.arm_ns(from / scale)) / (to - from);
        // The last line is below the curve where the root ends and the straight part begins, and at the end of the
        // stroke.
        let straight = rise(bends[2], knee).min(rise(bends[2], whole));
        let slopes = [rise(0.0, bends[0]), rise(bends[0], bends[1]), rise(bends[1], bends[2]), straight];
        // No line may be steeper than the one before.
        let mut slope = f64::INFINITY;
        let slopes = slopes.map(|one| {
            slope = one.clamp(0.0, slope);
            slope
        });
        let ramp = |slope: f64, over: f64| (slope * over) as u16;
        Some(CoarseCosts {
            cylinder: ((u64::from(NO_CYLINDER) << 32) as f64 / cylinders) as u64,
            angle: ((u64::from(TURN) << 32) as f64 / revolution_ns) as u64,
            parts_per_ns: (f64::from(TURN) / revolution_ns) as f32,
            read: (parts(least) - ROUNDING).max(0.0) as u16,
            write: (parts(least + settle) - ROUNDING).max(0.0) as u16,
            ramps: [
                ramp(slopes[3], whole),
                ramp(slopes[2] - slopes[3], bends[2]),
                ramp(slopes[1] - slopes[2], bends[1]),
                ramp(slopes[0] - slopes[1], bends[0]),
            ],
        })
    }

    #[inline]
    fn cylinder(&self, cylinder: i32) -> u16 {
        ((cylinder as u64 * self.cylinder) >> 32) as u16
    }

    #[inline]
    fn angle(&self, angle: i32) -> u16 {
        ((angle as u64 * self.angle) >> 32) as u16
    }

    /// The greatest bound of anything that costs at most `ns`.
    #[inline]
    fn most(&self, ns: f32) -> i16 {
        // A place may pass one part of a revolution earlier or later than its rounded angle says.
        ((ns * self.parts_per_ns).min(f32::from(NEVER)) as i16 + 2).min(NEVER - 1)
    }
}

/// The coarse data of up to 32 commands.
#[derive(Clone, Debug)]
struct Block {
    cylinders: [u16; BLOCK],
    angles: [u16; BLOCK],
    /// The least cost of a seek to each.
    moves: [u16; BLOCK],
    /// The first sectors of reads.
    reads: [u16; BLOCK],
    /// The result of the last look.
    bounds: [i16; BLOCK],
}

/// A part of `of`, in 65536ths.
#[inline(always)]
fn part_of(of: u16, part: u16) -> u16 {
    ((u32::from(of) * u32::from(part)) >> 16) as u16
}

/// Four times as much, saturating.
#[inline(always)]
fn fourfold(distance: u16) -> u16 {
    let twice = distance.saturating_add(distance);
    twice.saturating_add(twice)
}

impl Block {
    const EMPTY: Block = Block {
        cylinders: [NO_CYLINDER; BLOCK],
        angles: [0; BLOCK],
        moves: [NEVER as u16; BLOCK],
        reads: [NO_READ; BLOCK],
        bounds: [NEVER; BLOCK],
    };

    /// Computes the bounds, with the arm at `here` and the platters at `angle`, and returns the least.
    ///
    /// Not inlined: as a function of its own the compiler makes it eight commands at a time; inlined, or with a
    /// conditional load, it became one at a time.
    #[inline(never)]
    fn look(&mut self, here: u16, angle: u16, [whole, quarter, sixteenth, least]: [u16; 4]) -> i16 {
        let mut lowest = i16::MAX;
        for index in 0..BLOCK {
            let (cylinder, angle_there, moves) = (self.cylinders[index], self.angles[index], self.moves[index]);
            let apart = cylinder.saturating_sub(here) | here.saturating_sub(cylinder);
            let begin = if apart == 0 { 0 } else { moves };
            // Both cylinders are rounded, so the arm may have less to go.
            let far = apart.saturating_sub(1);
            let (near, nearer) = (fourfold(far), fourfold(fourfold(far)));
            let ramps = part_of(far, whole)
                .wrapping_add(part_of(near, quarter))
                .wrapping_add(part_of(nearer, sixteenth))
                .wrapping_add(part_of(fourfold(nearer), least));
            let moved = begin.wrapping_add(ramps);
            let turned = angle_there.wrapping_sub(angle).wrapping_sub(moved) & (TURN - 1);
            let bound = moved.wrapping_add(turned) as i16;
            self.bounds[index] = bound;
            lowest = lowest.min(bound);
        }
        lowest
    }

    /// The least bound.
    fn lowest(&self) -> i16 {
        self.bounds.iter().fold(NEVER, |lowest, bound| lowest.min(*bound))
    }

    /// The commands whose bound is at most `most`, as bits: one per block of eight in each lane.
    #[inline(never)]
    fn marked(&self, most: i16) -> [u16; LANES] {
        let mut marks = [0; LANES];
        for nth in 0..BLOCK / LANES {
            for (lane, mark) in marks.iter_mut().enumerate() {
                *mark |= if self.bounds[nth * LANES + lane] <= most { 1 << nth } else { 0 };
            }
        }
        marks
    }

    /// Iterates over the commands whose bound is at most `most`; they are not found again before the next look.
    #[inline]
    fn take(&mut self, most: i16, mut found: impl FnMut(usize)) {
        let [a, b, c, d, e, f, g, h] = self.marked(most).map(u64::from);
        let halves = [a | b << 16 | c << 32 | d << 48, e | f << 16 | g << 32 | h << 48];
        for (half, mut marks) in (0..).zip(halves) {
            while marks != 0 {
                let bit = marks.trailing_zeros() as usize;
                let index = bit % 16 * LANES + half * LANES / 2 + bit / 16;
                marks &= marks - 1;
                self.bounds[index] = NEVER;
                found(index);
            }
        }
    }

    #[inline]
    fn has_read_in(&self, first: u16, width: u16) -> bool {
        self.reads.iter().fold(false, |any, read| any | (read.wrapping_sub(first) <= width))
    }
}

/// The queued commands, in the order of their places in the queue.
#[derive(Clone, Debug)]
pub(super) struct Shortlist {
    blocks: Vec<Block>,
    len: usize,
    sector_shift: u32,
    costs: Option<CoarseCosts>,
}

impl Shortlist {
    /// For a disk of that many sectors, with room for `capacity` commands at first.
    pub(super) fn new(capacity: usize, disk_sectors: u64, costs: Option<CoarseCosts>) -> Shortlist {
        Shortlist {
            blocks: vec![Block::EMPTY; capacity.div_ceil(BLOCK)],
            len: 0,
            sector_shift: (u64::BITS - disk_sectors.leading_zeros()).saturating_sub(SECTOR_BITS),
            costs,
        }
    }

    /// The coarse costs, if the disk allows them.
    pub(super) fn costs(&self) -> Option<CoarseCosts> {
        self.costs
    }

    #[inline]
    fn sector(&self, sector: u64) -> u16 {
        (sector >> self.sector_shift) as u16
    }

    #[inline]
    pub(super) fn push(&mut self, place: &Place, access: Access, start: u64) {
        let (nth, lane) = (self.len / BLOCK, self.len % BLOCK);
        if nth == self.blocks.len() {
            self.blocks.push(Block::EMPTY);
        }
        self.len += 1;
        let read = if access == Access::Read { self.sector(start) } else { NO_READ };
        let block = &mut self.blocks[nth];
        block.reads[lane] = read;
        if let Some(costs) = &self.costs {
            block.cylinders[lane] = costs.cylinder(place.track.cylinder);
            block.angles[lane] = costs.angle(place.angle);
            block.moves[lane] = if access == Access::Read { costs.read } else { costs.write };
        }
    }

    /// Removes a command; the last takes its place.
    #[inline]
    pub(super) fn swap_remove(&mut self, index: usize) {
        self.len -= 1;
        let last = &mut self.blocks[self.len / BLOCK];
        let from = self.len % BLOCK;
        let (cylinder, angle, moves) = (last.cylinders[from], last.angles[from], last.moves[from]);
        let read = last.reads[from];
        (last.cylinders[from], last.moves[from], last.reads[from]) = (NO_CYLINDER, NEVER as u16, NO_READ);
        if index < self.len {
            let (block, to) = (&mut self.blocks[index / BLOCK], index % BLOCK);
            (block.cylinders[to], block.angles[to], block.moves[to]) = (cylinder, angle, moves);
            block.reads[to] = read;
        }
    }

    /// Whether any read can begin in `first..=end`.
    #[inline]
    pub(super) fn may_read_in(&self, first: u64, end: u64) -> bool {
        let (first, end) = (self.sector(first), self.sector(end));
        self.blocks.iter().any(|block| block.has_read_in(first, end - first))
    }

    /// The cheapest, with the arm at that cylinder and the platters at `angle`; of several the one that arrived first.
    /// `cost` answers what one costs \[ns\] and how many arrived before it; it is infinite for one that does not count.
    pub(super) fn cheapest(
        &mut self,
        (costs, cylinder, angle): (&CoarseCosts, i32, i32),
        cost: impl Fn(usize) -> (f32, u64),
    ) -> usize {
        let (here, angle) = (costs.cylinder(cylinder), costs.angle(angle));
        let blocks = &mut self.blocks[..self.len.div_ceil(BLOCK)];
        let bounds = blocks.iter_mut().map(|block| block.look(here, angle, costs.ramps));
        let mut lowest = bounds.min().unwrap_or(NEVER);
        let (mut index, mut least) = (0, (f32::INFINITY, u64::MAX));
        loop {
            let most = (lowest + 2).min(NEVER - 1);
            for (nth, block) in blocks.iter_mut().enumerate() {
                block.take(most, |lane| {
                    let one = nth * BLOCK + lane;
                    let cost = cost(one);
                    if cost < least {
                        (index, least) = (one, cost);
                    }
                });
            }
            // Mostly this is where it ends; else the cheapest so far is reached a revolution later than seemed.
            let needed = costs.most(least.0);
            if needed <= most {
                return index;
            }
            lowest = blocks.iter().map(Block::lowest).min().unwrap_or(NEVER);
            if lowest > needed {
                return index;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use blksched::{Instant, Span};

    use super::*;
    use crate::HddSpec;
    use crate::hdd::lane::TrackLane;
    use crate::hdd::mechanism::Mechanism;
    use crate::hdd::tests_support::{TestRandom, hdd_spec};

    /// Disks with other ratios of seek, settle and revolution, and of the curve's two parts.
    fn disks() -> Vec<HddSpec> {
        let presets = ["ide-2002", "sata-2009", "hdd-7200-ideal"].map(hdd_spec);
        let with = |min_us, average_us, max_us, settle_us| {
            let mut spec = hdd_spec("hdd-7200-ideal");
            (spec.seek.min, spec.seek.average) = (Span::from_us(min_us), Span::from_us(average_us));
            (spec.seek.max, spec.seek.write_settle) = (Span::from_us(max_us), Span::from_us(settle_us));
            spec
        };
        presets
            .into_iter()
            .chain([with(0, 0, 0, 0), with(900, 900, 9_000, 0), with(1, 12_000, 12_001, 3_000)])
            .collect()
    }

    #[test]
    fn what_it_finds_is_the_cheapest_of_all() {
        for (seed, spec) in (1..).zip(disks()) {
            let mut mechanism = Mechanism::new(&spec, seed);
            let coarse = mechanism.coarse_costs().expect("a curve by rule");
            let (mut random, mut at) = (TestRandom(seed), Instant::ZERO);
            let (mut list, mut all) = (Shortlist::new(1, spec.capacity_sectors, Some(coarse)), Vec::new());
            let mut looked_at = 0;
            for nth in 0..6_000_u64 {
                let wanted = [1, 2, 7, 31, 32, 33, 100][random.below(7) as usize];
                while all.len() < wanted {
                    let reach = 1 << random.below(24);
                    let near = mechanism.next_sector() + random.below(reach);
                    let sector = [near, random.below(spec.capacity_sectors)][random.below(2) as usize];
                    let sector = sector.min(spec.capacity_sectors - 1);
                    let place = mechanism.place(sector);
                    let access = if random.below(3) == 0 { Access::Write } else { Access::Read };
                    list.push(&place, access, sector);
                    all.push((place, access, nth + random.below(2), sector));
                }
                at += Span::from_ns(random.below(20_000_000));
                let angle = mechanism.angle(at);
                let cost = |index: usize| {
                    let (place, access, age, _): &(Place, Access, u64, u64) = &all[index];
                    (mechanism.estimate(angle, place, *access), *age)
                };
                let asked = core::cell::Cell::new(0);
                let found = list.cheapest((&coarse, mechanism.cylinder(), angle), |index| {
                    asked.set(asked.get() + 1);
                    cost(index)
                });
                let least = (0..all.len()).map(cost).fold((f32::INFINITY, 0), |a, b| if b < a { b } else { a });
                assert_eq!(cost(found), least, "{nth} of {seed}");
                looked_at += asked.get();
                list.swap_remove(found);
                let (place, access, _, sector) = all.swap_remove(found);
                let end = (sector + 8).min(spec.capacity_sectors);
                mechanism.access_on(at, (&place, &TrackLane::NONE), end, access, Span::ZERO);
            }
            // With a curve that hardly rises at first, many are within reach.
            assert!(looked_at < 2 * 6_000 || seed > 3, "{looked_at} looked at by disk {seed}");
        }
    }
}
