//! Where the next block lies, and how long it is.

use crate::fio::ddir::{Ddir, PerDdir};
use blksched::Sector;
use rand::{Rng, RngExt};
use rand_pcg::Pcg64Mcg;

use super::permutation::Permutation;
use super::sizes::Sizes;
use super::skew::Skew;
use crate::fio::distribution::Distribution;
use crate::fio::settings::{Order, Sequencer};

/// What a job says about the order of its blocks.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub order: Order,
    pub norandommap: bool,
    /// The directions that draw offsets.
    pub drawn: &'static [Ddir],
    pub sizes: PerDdir<Sizes>,
    /// Of I/Os of a random job that go on behind the last, if they have their own.
    pub sizes_onward: Option<Sizes>,
    /// Added behind each sequential I/O \[sectors\].
    pub stride: i64,
    /// A random job jumps every so many I/Os.
    pub every: u64,
    pub sequencer: Sequencer,
    /// Share of jumps of a random job \[%\]; the others go on behind the last.
    pub percentage_random: PerDdir<u64>,
    pub distribution: PerDdir<Distribution>,
    /// Boundary of random I/Os \[sectors\], if not their least size.
    pub align: PerDdir<Option<u64>>,
}

/// The part of the disk that offsets lie in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    pub start: Sector,
    /// \[sectors\]
    pub sectors: u64,
    /// How far each direction's sequential blocks reach \[sectors\]: the last may hang over the region's end.
    pub reach: PerDdir<u64>,
}

/// A job's positions in its region.
#[derive(Clone, Debug)]
pub(super) struct Offsets {
    area: Area,
    pattern: Pattern,
    walk: Walk,
    /// Draws lengths and the share of jumps.
    lengths: Pcg64Mcg,
    /// The last I/O of each direction: its offset \[sectors\] and length.
    last: PerDdir<Option<(u64, u32)>>,
    /// I/Os of each direction so far.
    count: PerDdir<u64>,
}

#[derive(Clone, Debug)]
enum Walk {
    Sequential,
    /// Every block once, then again in the same order; reads and writes of equal blocks share one map.
    Covering {
        done: PerDdir<u64>,
        map: PerDdir<Permutation>,
        shared: bool,
    },
    /// Any block at any time, of a grid of such steps \[sectors\].
    Free {
        step: PerDdir<u64>,
        skew: PerDdir<Skew>,
        random: Pcg64Mcg,
    },
}

impl Offsets {
    pub fn new(pattern: &Pattern, area: Area, mut random: Pcg64Mcg, lengths: Pcg64Mcg) -> Offsets {
        let walk = match pattern.order {
            Order::Sequential => Walk::Sequential,
            Order::Random if pattern.drawn.iter().all(|ddir| covered(pattern, *ddir).is_some()) => {
                let sectors = |ddir| u64::from(pattern.sizes[ddir].min());
                let first = sectors(pattern.drawn[0]);
                let shared = pattern.drawn.iter().all(|ddir| sectors(*ddir) == first);
                let blocks = |ddir| (area.sectors / if shared { first } else { sectors(ddir) }).max(1);
                let map = PerDdir::from_fn(|ddir| Permutation::new(blocks(ddir), random.next_u64()));
                Walk::Covering { done: PerDdir::default(), map, shared }
            }
            Order::Random => free(pattern, area, random),
        };
        let (last, count) = (PerDdir::default(), PerDdir::default());
        Offsets { area, pattern: pattern.clone(), walk, lengths, last, count }
    }

    /// The next I/O of this direction: its first sector and length.
    pub fn next(&mut self, dir: Ddir) -> (Sector, u32) {
        let length = self.pattern.sizes[dir].draw(&mut self.lengths);
        let step = self.jumps(dir);
        let length = match &self.pattern.sizes_onward {
            Some(sizes) if step != Step::Jump => sizes.draw(&mut self.lengths),
            _ => length,
        };
        let (at, length) = match step {
            Step::Jump => (self.jump(dir, length), length),
            Step::Onward => self.onward(dir, length),
            Step::Again => (self.last[dir].map_or(0, |last| last.0), length),
        };
        self.last[dir] = Some((at, length));
        self.count[dir] += 1;
        (Sector(self.area.start.0 + at), length)
    }

    /// As at the beginning, in the same order.
    pub fn start_over(&mut self) {
        (self.last, self.count) = (PerDdir::default(), PerDdir::default());
        if let Walk::Covering { done, .. } = &mut self.walk {
            *done = PerDdir::default();
        }
    }

    /// The length of an I/O whose place is known.
    pub fn length(&mut self, ddir: Ddir) -> u32 {
        self.pattern.sizes[ddir].draw(&mut self.lengths)
    }

    fn jumps(&mut self, dir: Ddir) -> Step {
        if self.pattern.order == Order::Sequential {
            return Step::Onward;
        }
        if !self.count[dir].is_multiple_of(self.pattern.every) {
            return match self.pattern.sequencer {
                Sequencer::Sequential => Step::Onward,
                Sequencer::Identical => Step::Again,
            };
        }
        match self.pattern.percentage_random[dir] {
            100 => Step::Jump,
            percent if self.lengths.random_range(0..100) < percent => Step::Jump,
            _ => Step::Onward,
        }
    }

    /// Behind the last of this direction, from the start again at the end. The last before the end is cut short if
    /// sizes differ.
    fn onward(&self, dir: Ddir, length: u32) -> (u64, u32) {
        let reach = self.area.reach[dir];
        let stride = if self.pattern.order == Order::Sequential { self.pattern.stride } else { 0 };
        let at = match self.last[dir] {
            None => 0,
            Some((at, length)) => (at + u64::from(length)).checked_add_signed(stride).unwrap_or(u64::MAX),
        };
        let least = self.pattern.sizes_onward.as_ref().unwrap_or(&self.pattern.sizes[dir]).min();
        let left = reach.saturating_sub(at);
        if left >= u64::from(length) {
            return (at, length);
        }
        if left >= u64::from(least) {
            return (at, left as u32 / least * least);
        }
        // Backwards the end comes before the start.
        let back = stride.unsigned_abs().max(u64::from(length));
        let again = if stride < 0 { reach.saturating_sub(back) } else { 0 };
        (again, u64::from(length).min((reach - again) / u64::from(least) * u64::from(least)).max(1) as u32)
    }

    fn jump(&mut self, dir: Ddir, length: u32) -> u64 {
        match &mut self.walk {
            Walk::Sequential => 0,
            Walk::Covering { done, map, shared } => {
                let key = if *shared { Ddir::Read } else { dir };
                let blocks = map[key].blocks();
                let here = done[key];
                done[key] = if here + 1 < blocks { here + 1 } else { 0 };
                map[key].at(here) * u64::from(length)
            }
            Walk::Free { step, skew, random } => {
                let last = self.area.sectors.saturating_sub(u64::from(length)) / step[dir];
                // A long block that would hang over the end goes as far back as it must.
                skew[dir].draw(random).min(last) * step[dir]
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Jump,
    Onward,
    /// The same again.
    Again,
}

/// The block size \[sectors\] of a direction that visits every block once.
fn covered(pattern: &Pattern, dir: Ddir) -> Option<u32> {
    let uniform = pattern.distribution[dir] == Distribution::Random && pattern.align[dir].is_none();
    match pattern.sizes[dir] {
        Sizes::One(sectors) if uniform && !pattern.norandommap => Some(sectors),
        _ => None,
    }
}

fn free(pattern: &Pattern, area: Area, mut random: Pcg64Mcg) -> Walk {
    let step = PerDdir::from_fn(|dir| pattern.align[dir].unwrap_or(u64::from(pattern.sizes[dir].min())).max(1));
    let skew = PerDdir::from_fn(|dir| {
        let least = u64::from(pattern.sizes[dir].min());
        let places = area.sectors.saturating_sub(least) / step[dir] + 1;
        Skew::new(&pattern.distribution[dir], places, step[dir] * 512, &mut random)
    });
    Walk::Free { step, skew, random }
}
