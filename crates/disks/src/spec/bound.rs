//! The upper bound on a command's time, whatever other commands arrive: the laws check it for every disk.
//!
//! Not an estimate: the sum of the worst cases of every rule that can delay a command, many times the real values.

use blksched::{Op, Span};

use super::{DiskSpec, HddSpec, Model, RaidSpec, SsdSpec};
use crate::Level;

impl DiskSpec {
    /// A command of `op` ends within this time of its start, if no command is longer than `most_sectors`.
    pub fn longest(&self, op: Op, most_sectors: u32) -> Span {
        let alone = match &self.model {
            Model::Null(_) => Span::ZERO,
            Model::Fixed(spec) => {
                let one = [spec.read, spec.write].map(|cost| cost.service + cost.transfer(most_sectors));
                one[0].max(one[1]) * u64::from(spec.depth)
            }
            Model::Hdd(spec) => spec.longest(op, most_sectors),
            Model::Ssd(spec) => spec.longest(most_sectors),
            Model::Raid(spec) => spec.longest(op, most_sectors),
        };
        let around = &self.middleware;
        let delay = around.delay.as_ref().map_or(Span::ZERO, |delay| delay.longest());
        let coalescing = around.coalescing.map_or(Span::ZERO, |coalescing| coalescing.time);
        let caps = around.caps.map_or(Span::ZERO, |caps| {
            let operations = u64::from(most_sectors).div_ceil(caps.unit_sectors) + 1;
            let each = |count: u64, rate: u64| Span::from_ns(count.saturating_mul(1_000_000_000) / rate);
            let one = each(operations, caps.operations.rate) + each(u64::from(most_sectors) * 512, caps.bytes.rate);
            times(one, u64::from(self.depth()))
        });
        // What is inside the window and the controller's memory meets each command.
        let wake = around.power.map_or(Span::ZERO, |power| power.wake);
        let alone = alone + wake + around.faults.iter().fold(Span::ZERO, |sum, fault| sum + fault.longest());
        // With a window of one, everything that came before.
        let alone = around.window.map_or(alone, |window| times(alone, u64::from(self.depth().div_ceil(window)) + 1));
        let alone = around.controller_cache.map_or(alone, |cache| {
            // Whatever is held is written first, in the worst case one sector at a time.
            times(alone, cache.size_sectors + u64::from(self.depth()) + 1) + cache.time
        });
        alone + caps + delay + coalescing
    }
}

impl HddSpec {
    /// The worst case of arm, platters and transfer.
    fn access(&self, sectors: u64) -> Span {
        let curve = self.seek_curve.iter().map(|&(_, time)| time).max().unwrap_or(Span::ZERO);
        let arm = self.seek.max.max(curve).max(self.seek.head_switch).max(self.seek.acquire);
        let seek = arm + self.seek.write_settle;
        seek + self.revolution() * 3 + self.zones.inner.time_of(sectors) * 2
    }

    /// The electronics' worst case for a command, before and after its data.
    fn electronics(&self) -> Span {
        let Some(cases) = &self.overhead.cases else { return self.overhead.command };
        let before = cases.after_read.longest().max(cases.after_write.longest()).max(self.overhead.command);
        before + cases.read_prepare + cases.read_end.max(cases.write_end)
    }

    fn longest(&self, op: Op, most_sectors: u32) -> Span {
        let depth = u64::from(self.ncq.map_or(1, |ncq| ncq.depth));
        let wires = (self.electronics() + self.interface.time_of(most_sectors.into())) * (depth + 1);
        let least = self.look_ahead.map_or(0, |ahead| ahead.rules.least_sectors);
        let command = self.access(most_sectors.into()) + if least > 0 { self.access(least) } else { Span::ZERO };
        let waits = self.ncq.map_or(Span::ZERO, |ncq| ncq.sequential_wait);
        let Some(cache) = &self.write_cache else {
            let age = self.ncq.map_or(Span::ZERO, |ncq| ncq.age_limit);
            return age + wires + (command + waits) * (depth + 1);
        };
        // While destaging is urgent, each round serves at least one command and one piece.
        let piece = self.access(cache.chunk_sectors);
        let hold = self.look_ahead.map_or(Span::ZERO, |ahead| self.access(ahead.hold_sectors));
        let turns = cache.destage.turn + cache.destage.commands_turn() + cache.destage.idle;
        let round = turns + hold + piece + command + waits;
        let age = self.ncq.map_or(Span::ZERO, |ncq| ncq.age_limit);
        let queued = age + wires + round * (depth + 1);
        let pieces_of = |sectors: u64| sectors / cache.chunk_sectors + 2;
        // Everything that can be dirty, and what waits before this one.
        let dirty =
            2 * u64::from(cache.extents) + pieces_of(cache.size_sectors) + depth * pieces_of(most_sectors.into());
        let cached = wires + round * (dirty + 1);
        let flush = match cache.flush {
            super::FlushMode::Alone => wires + piece * (dirty + 1),
            super::FlushMode::Queued => cached,
        };
        let worst = queued.max(cached).max(flush);
        match (cache.flush, op) {
            // What precedes a flush ends first, and then what came after it begins.
            (super::FlushMode::Alone, _) => worst * depth,
            (super::FlushMode::Queued, Op::Read) => queued,
            (super::FlushMode::Queued, _) => worst,
        }
    }
}

impl SsdSpec {
    fn longest(&self, most_sectors: u32) -> Span {
        let pages = |sectors: u64| sectors / self.flash.page_sectors + 2;
        let depth = u64::from(self.depth);
        let buffered = self.buffer.as_ref().map_or(0, |buffer| pages(buffer.size_sectors));
        let ahead = buffered + depth * pages(most_sectors.into());
        let collecting = self.collection.as_ref().map_or(Span::ZERO, |collection| {
            let stale = u64::from(100 - collection.valid_percent);
            let copies = u64::from(collection.valid_percent) / stale + 1;
            let erases = self.flash.program_sectors * 100 / (collection.block_sectors * stale) + 1;
            (self.flash.read + self.flash.program) * copies + collection.erase * erases
        });
        let mapping = self.page_map.map_or(Span::ZERO, |map| {
            // The block with the fewest valid units has no more than the mean.
            let copies = 100 / u64::from(map.spare_percent) + 2;
            let units = self.flash.program_sectors / map.unit_sectors + 2;
            (self.flash.read + self.flash.program) * (copies + 1) * units + map.erase * 2
        });
        let suspending = match self.interference.state {
            super::Interference::Suspend { cost } => cost + self.interference.pulse,
            _ => Span::ZERO,
        };
        let sensing = self.tails.longest_read(self.flash.read);
        // A page of the map may have to be read first.
        let sensings = if self.tails.map_cache.is_some() { 2 } else { 1 };
        let reads = (sensing + suspending) * (u64::from(self.interference.patience) + 1) * sensings;
        // A full cache of one-bit cells is emptied first.
        let folding = self.slc.map_or(Span::ZERO, |slc| slc.program + self.flash.read);
        let page = self.tails.longest_program(self.flash.program)
            + folding
            + collecting
            + mapping
            + reads
            + self.flash.channel_rate.time_of(self.flash.page_sectors);
        let map = self.overhead.map;
        let maps = [map.sequential_read, map.random_read, map.sequential_write, map.random_write];
        let interval = maps.into_iter().flatten().fold(self.overhead.interval, Span::max);
        let rate = self.interface.write_rate.map_or(self.interface.rate, |rate| rate.min(self.interface.rate));
        let wires = self.overhead.command + interval + rate.time_of(most_sectors.into());
        let stalls = self.tails.stall.map_or(Span::ZERO, |stall| times(stall.time, depth / u64::from(stall.every) + 2));
        times(page, ahead) + wires * (depth + 1) + stalls
    }
}

impl RaidSpec {
    fn longest(&self, op: Op, most_sectors: u32) -> Span {
        let member = |member: &DiskSpec| {
            let ops = [op, Op::Read, Op::Write].map(|op| member.longest(op, most_sectors));
            ops.into_iter().max().unwrap_or(Span::ZERO)
        };
        let slowest = self.members.iter().map(member).max().unwrap_or(Span::ZERO);
        let depth = u64::from(self.depth);
        // A member's commands before this one, including two windows of a rebuild.
        let chunk = if self.level == Level::Raid1 { u64::from(most_sectors) } else { self.chunk_sectors };
        let pieces = 2 * (u64::from(most_sectors) / chunk.max(1) + 2) * depth + 4;
        if !matches!((self.level, op), (Level::Raid5 | Level::Raid6, Op::Write | Op::WriteZeroes)) {
            return times(slowest, pieces);
        }
        // Pages that need reading may have to let all others pass for ever; otherwise this many for each held one.
        let Some(bypass) = self.preread_bypass_threshold.checked_sub(1) else { return Span::MAX };
        let pages = depth * (u64::from(most_sectors) / 8 + 2);
        let passing = u64::from(self.stripe_cache_size) * (u64::from(bypass) + 1);
        times(slowest, (pages + passing) * 2 + pieces)
    }
}

/// The product, or for ever on overflow.
fn times(span: Span, count: u64) -> Span {
    Span::from_ns(span.as_ns().saturating_mul(count))
}
