//! The offset and length of the next block.

use std::sync::Arc;

use crate::fio::ddir::{Ddir, PerDdir};
use blksched::Sector;
use rand::{Rng, RngExt};
use rand_pcg::Pcg64Mcg;

use super::block_map::BlockMap;
use super::permutation::Permutation;
use super::sizes::Sizes;
use super::skew::Skew;
use crate::fio::distribution::Distribution;
use crate::fio::settings::{OffsetOrder, Sequencer};

/// A job's settings about the order of its blocks.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub order: OffsetOrder,
    pub norandommap: bool,
    /// The directions that draw offsets.
    pub drawn: &'static [Ddir],
    pub sizes: PerDdir<Sizes>,
    /// The sizes of I/Os of a random job that continue after the last, if they have their own.
    pub sizes_onward: Option<Sizes>,
    /// Added after each sequential I/O \[sectors\].
    pub stride: i64,
    /// A random job jumps every N I/Os.
    pub every: u64,
    pub sequencer: Sequencer,
    /// The share of jumps of a random job \[%\]; other I/Os continue after the last.
    pub percentage_random: PerDdir<u64>,
    pub distribution: PerDdir<Distribution>,
    /// The alignment of random I/Os \[sectors\], if it is not their least size.
    pub align: PerDdir<Option<u64>>,
}

/// The part of the disk that contains the offsets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    pub start: Sector,
    /// \[sectors\]
    pub sectors: u64,
    /// How far each direction's sequential blocks reach \[sectors\]: the last may extend beyond the region's end.
    pub reach: PerDdir<u64>,
    /// Where the region begins in its file \[sectors\].
    pub offset: u64,
    /// The length of that file \[sectors\].
    pub file: u64,
}

/// A job's positions in its region.
#[derive(Clone, Debug)]
pub(super) struct Offsets {
    area: Area,
    pattern: Arc<Pattern>,
    walk: Walk,
    /// Draws lengths and the share of jumps.
    lengths: Pcg64Mcg,
    /// The last I/O of each direction: its offset \[sectors\] and length.
    last: PerDdir<Option<(u64, u32)>>,
}

#[derive(Clone, Debug)]
enum Walk {
    Sequential,
    /// Blocks of one size, each once, then again in the same order.
    Covering {
        done: u64,
        order: Permutation,
    },
    /// Blocks of several sizes, each once as far as the map ensures it.
    Mapped(BlockMap),
    /// Any block at any time, on a grid with these steps \[sectors\].
    Free {
        step: PerDdir<u64>,
        skew: Box<PerDdir<Skew>>,
        random: Pcg64Mcg,
        /// The initial state of `random`.
        first: Pcg64Mcg,
    },
}

impl Offsets {
    pub fn new(pattern: &Arc<Pattern>, area: Area, mut random: Pcg64Mcg, lengths: Pcg64Mcg) -> Offsets {
        let walk = match (pattern.order, pattern.covers()) {
            (OffsetOrder::Sequential, _) => Walk::Sequential,
            (OffsetOrder::Random, Covers::Nothing) => free(pattern, area, random),
            (OffsetOrder::Random, Covers::BlocksOf(sectors)) => {
                let order = Permutation::new((area.sectors / u64::from(sectors)).max(1), random.next_u64());
                Walk::Covering { done: 0, order }
            }
            (OffsetOrder::Random, Covers::Sizes) => {
                Walk::Mapped(BlockMap::new(area.sectors / u64::from(pattern.least()), random))
            }
        };
        Offsets { area, pattern: pattern.clone(), walk, lengths, last: PerDdir::default() }
    }

    /// The next I/O of this direction, the `nth` of the job: its first sector and length. `None` if this pass over the
    /// file is over.
    #[inline]
    pub fn next(&mut self, dir: Ddir, nth: u64) -> Option<(Sector, u32)> {
        let step = self.step(dir, nth);
        let (at, length) = match step {
            OffsetStep::Jump => self.jump(dir)?,
            OffsetStep::Onward => match self.onward(dir) {
                // At the file's end a random job jumps; at its own region's end the pass is over (tried).
                None if self.pattern.order == OffsetOrder::Random && self.ends_with_its_file() => self.jump(dir)?,
                onward => onward?,
            },
            OffsetStep::Again => {
                let at = self.last[dir].map_or(0, |last| last.0);
                (at, self.length_at(dir, step, self.area.sectors.saturating_sub(at))?)
            }
        };
        self.last[dir] = Some((at, length));
        Some((Sector(self.area.start.0 + at), length))
    }

    #[inline]
    fn sizes(&self, dir: Ddir, step: OffsetStep) -> &Sizes {
        let onward = self.pattern.sizes_onward.as_ref().filter(|_| step != OffsetStep::Jump);
        onward.unwrap_or(&self.pattern.sizes[dir])
    }

    /// A length that does not reach beyond this many sectors.
    #[inline]
    fn length_at(&mut self, dir: Ddir, step: OffsetStep, left: u64) -> Option<u32> {
        // Usually there is only one, which needs no draw.
        if let Sizes::One(sectors) = *self.sizes(dir, step) {
            return (u64::from(sectors) <= left).then_some(sectors);
        }
        let mut random = self.lengths.clone();
        let length = self.sizes(dir, step).draw_within(left, &mut random);
        self.lengths = random;
        length
    }

    /// Starts over in the same order.
    pub fn start_over(&mut self) {
        self.last = PerDdir::default();
        match &mut self.walk {
            Walk::Sequential => {}
            Walk::Covering { done, .. } => *done = 0,
            Walk::Mapped(map) => map.start_over(),
            Walk::Free { random, first, .. } => *random = first.clone(),
        }
    }

    fn ends_with_its_file(&self) -> bool {
        self.area.offset + self.area.sectors >= self.area.file
    }

    /// The length of an I/O at a known place.
    pub fn length(&mut self, ddir: Ddir) -> u32 {
        self.pattern.sizes[ddir].draw(&mut self.lengths)
    }

    #[inline]
    fn step(&mut self, dir: Ddir, nth: u64) -> OffsetStep {
        if self.pattern.order == OffsetOrder::Sequential {
            return OffsetStep::Onward;
        }
        if !nth.is_multiple_of(self.pattern.every) {
            return match self.pattern.sequencer {
                Sequencer::Sequential => OffsetStep::Onward,
                Sequencer::Identical => OffsetStep::Again,
            };
        }
        match self.pattern.percentage_random[dir] {
            100 => OffsetStep::Jump,
            percent if self.lengths.random_range(0..100) < percent => OffsetStep::Jump,
            _ => OffsetStep::Onward,
        }
    }

    /// The offset after the last of this direction. At the region's end the pass is over; but with a stride it
    /// continues from the start after its *file's* end, as far into the region as that is in the file, and when going
    /// backwards from the region's end (all tried).
    fn onward(&mut self, dir: Ddir) -> Option<(u64, u32)> {
        let reach = self.area.reach[dir];
        let stride = if self.pattern.order == OffsetOrder::Sequential { self.pattern.stride } else { 0 };
        let end = self.last[dir].map(|(at, length)| at + u64::from(length));
        let at = match end {
            None => 0,
            Some(end) if stride >= 0 && self.area.offset + end >= self.area.file => return None,
            Some(end) => end.checked_add_signed(stride).unwrap_or(u64::MAX),
        };
        let at = if stride > 0 && at != u64::MAX && at >= self.area.file { self.area.offset } else { at };
        if let Some(length) = self.length_at(dir, OffsetStep::Onward, reach.saturating_sub(at)) {
            return Some((at, length));
        }
        if stride >= 0 {
            return None;
        }
        // Backwards, the end comes before the start.
        let longest = u64::from(self.sizes(dir, OffsetStep::Onward).max());
        let again = reach.saturating_sub(stride.unsigned_abs().max(longest));
        Some((again, self.length_at(dir, OffsetStep::Onward, reach - again)?))
    }

    #[inline]
    fn jump(&mut self, dir: Ddir) -> Option<(u64, u32)> {
        let unit = self.pattern.sizes[dir].min();
        match &mut self.walk {
            Walk::Sequential => Some((0, unit)),
            Walk::Covering { done, order } => {
                let block = (*done < order.blocks()).then(|| order.at(*done))?;
                *done += 1;
                Some((block * u64::from(unit), unit))
            }
            Walk::Mapped(map) => {
                let blocks = self.area.sectors / u64::from(unit);
                let first = map.find(blocks)?;
                let length =
                    self.pattern.sizes[dir].draw_within((blocks - first) * u64::from(unit), &mut self.lengths)?;
                let count = map.take(first, u64::from(length.div_ceil(unit)));
                Some((first * u64::from(unit), length.min(count as u32 * unit)))
            }
            Walk::Free { step, skew, random, .. } => {
                let last = self.area.sectors.saturating_sub(u64::from(unit)) / step[dir];
                let at = skew[dir].draw(random).min(last) * step[dir];
                Some((at, self.length_at(dir, OffsetStep::Jump, self.area.sectors - at)?))
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OffsetStep {
    Jump,
    Onward,
    /// The same block again.
    Again,
}

/// What fio's map covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Covers {
    /// No map.
    Nothing,
    /// Every I/O has this length \[sectors\].
    BlocksOf(u32),
    /// Lengths differ.
    Sizes,
}

impl Pattern {
    /// The least size of all directions, even of those that the job does not use (tried).
    fn least(&self) -> u32 {
        Ddir::ALL.into_iter().map(|ddir| self.sizes[ddir].min()).min().unwrap_or(1)
    }

    /// Jobs that also continue after their last I/O keep no map (tried).
    fn covers(&self) -> Covers {
        let jumps = |ddir: Ddir| self.every == 1 && self.percentage_random[ddir] == 100;
        let uniform = |ddir: Ddir| self.distribution[ddir] == Distribution::Random && self.align[ddir].is_none();
        if self.norandommap || !self.drawn.iter().all(|&ddir| jumps(ddir) && uniform(ddir)) {
            return Covers::Nothing;
        }
        let sizes = &self.sizes[self.drawn[0]];
        match sizes {
            Sizes::One(sectors)
                if *sectors == self.least() && self.drawn.iter().all(|ddir| self.sizes[*ddir] == *sizes) =>
            {
                Covers::BlocksOf(*sectors)
            }
            _ => Covers::Sizes,
        }
    }
}

fn free(pattern: &Pattern, area: Area, mut random: Pcg64Mcg) -> Walk {
    let step = PerDdir::from_fn(|dir| pattern.align[dir].unwrap_or(u64::from(pattern.sizes[dir].min())).max(1));
    let skew = PerDdir::from_fn(|dir| {
        let least = u64::from(pattern.sizes[dir].min());
        let places = area.sectors.saturating_sub(least) / step[dir] + 1;
        Skew::new(&pattern.distribution[dir], places, step[dir] * 512, &mut random)
    });
    Walk::Free { step, skew: Box::new(skew), first: random.clone(), random }
}
