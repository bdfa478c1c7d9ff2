//! The spinning disk: arm, platters, zones, look-ahead, write cache and command queue.
//!
//! The files: [`geometry`] and [`zones`] give the position of a sector, [`seek`] and [`rotation`] the cost of getting
//! there, [`mechanism`] goes there, [`lookahead`] and [`write_cache`] are the two uses of the buffer, [`ncq`] chooses
//! the next command from those that [`shortlist`] leaves, [`destage`] says whether cached writes go before it, [`wire`]
//! decodes and carries. [`serve`] takes a command to the buffer or the medium. This file only begins and ends commands.
//!
//! The medium does one thing at a time. Whenever it has finished, [`decide`] picks the next action: a queued command or
//! a piece of dirty data. If there is neither, the head reads ahead until it has read `hold` bytes and dirty sectors
//! are drained, or until a command arrives.

use std::borrow::Cow;
use std::collections::VecDeque;

use blksched::{Command, Instant, Op, Span, SubmitterId};

use crate::disk::admit;
use crate::endings::Endings;
use crate::stint::Stints;
use crate::{CommandOutcome, DestageSpec, Disk, Facts, Finished, HddSpec, Ledger, Stint};

mod decide;
mod destage;
mod divisor;
mod extents;
mod gaps;
mod geometry;
mod lane;
mod lookahead;
mod mechanism;
mod ncq;
mod rotation;
mod seek;
mod segments;
mod serve;
mod shortlist;
mod targets;
#[cfg(test)]
pub(crate) mod tests_support;
mod wire;
mod write_cache;
mod zones;

use destage::Destage;
use lookahead::LookAhead;
use mechanism::Mechanism;
use ncq::Queue;
use serve::overhead;
use wire::{Wire, WireCase};
use write_cache::WriteCache;

/// The only part of the disk that works: one medium, one head at a time.
const HEAD: u32 = 0;

/// What the medium is doing.
#[derive(Clone, Copy, Debug)]
enum Medium {
    /// Nothing for any command; it may be reading ahead.
    Idle,
    /// Reading for a command; afterwards the head reads on.
    Reading { range: (u64, u64), segment: Option<usize>, unrolled: u64, owner: SubmitterId },
    /// Writing a command's data.
    Writing,
    /// Writing this many dirty sectors.
    Draining { sectors: u64 },
}

/// What a cached write leaves when it ends.
#[derive(Clone, Copy, Debug)]
struct Dirty {
    start: u64,
    sectors: u32,
    submitter: SubmitterId,
}

/// A command that cannot end before something has been drained.
#[derive(Clone, Copy, Debug)]
struct WaitingCommand {
    command: Command,
    /// When it was decoded.
    ready: Instant,
}

pub(crate) struct Hdd {
    facts: Facts,
    mechanism: Mechanism,
    wire: Wire,
    queue: Queue,
    look_ahead: Option<LookAhead>,
    cache: Option<WriteCache>,
    destage: Destage,
    /// Writes without room and queued flushes, oldest first.
    waiting: VecDeque<WaitingCommand>,
    /// A flush that excludes everything else.
    exclusive: Option<WaitingCommand>,
    /// What came after it, oldest first.
    held: VecDeque<(Command, CommandOutcome)>,
    /// When the last read ended that continued another.
    last_sequential: Option<Instant>,
    sequential_wait: Span,
    medium: Medium,
    /// When the medium finishes its work, or the look-ahead's hold on drains ends.
    wake: Instant,
    endings: Endings<Option<Dirty>>,
    in_flight: u32,
    ledger: Ledger,
    stints: Stints,
}

impl Hdd {
    pub(crate) fn new(spec: &HddSpec, seed: u64) -> Hdd {
        let depth = spec.ncq.as_ref().map_or(1, |ncq| ncq.depth);
        let mechanism = Mechanism::new(spec, seed);
        Hdd {
            facts: Facts {
                sectors: spec.capacity_sectors,
                rotational: true,
                depth,
                max_sectors: spec.max_sectors,
                volatile_cache: spec.write_cache.is_some(),
                // FUA writes are queued commands, so a drive without a queue has none.
                fua: spec.ncq.is_some(),
            },
            wire: Wire::new(spec.overhead, spec.interface, spec.watermarks),
            queue: Queue::new(spec.ncq.as_ref(), spec.capacity_sectors, &mechanism),
            mechanism,
            look_ahead: spec.look_ahead.as_ref().map(|ahead| LookAhead::new(ahead, spec.capacity_sectors)),
            cache: spec.write_cache.as_ref().map(WriteCache::new),
            destage: Destage::new(spec.write_cache.as_ref().map_or(&DestageSpec::USUAL, |cache| &cache.destage)),
            waiting: VecDeque::with_capacity(depth as usize),
            exclusive: None,
            held: VecDeque::new(),
            last_sequential: None,
            sequential_wait: spec.ncq.map_or(Span::ZERO, |ncq| ncq.sequential_wait),
            medium: Medium::Idle,
            wake: Instant::NEVER,
            endings: Endings::with_capacity(depth as usize),
            in_flight: 0,
            ledger: Ledger::default(),
            stints: Stints::default(),
        }
    }

    /// Accepts a command that nothing holds.
    fn begin(&mut self, now: Instant, command: Command, outcome: CommandOutcome) {
        let case = if self.wire.tells_cases_apart() { self.case_of(now, &command) } else { WireCase::Other };
        let ready = self.wire.decode(now, case, self.unfinished() > 1);
        if outcome != CommandOutcome::Ok {
            let service = overhead(now, ready);
            return self.endings.add(Finished { rq: command.rq, at: ready, outcome, service }, None);
        }
        match command.op {
            Op::Read => self.read(now, ready, command),
            // The wire carries nothing for zeroes, but the surface takes the time.
            Op::Write | Op::WriteZeroes => self.write(now, ready, command),
            Op::Flush => self.flush(now, ready, command),
            // A spinning disk gains nothing from discards; the drives modelled here accept and ignore them.
            Op::Discard => self.end_at(ready, &command, overhead(now, ready), None),
        }
    }
}

impl Disk for Hdd {
    fn facts(&self) -> Facts {
        self.facts
    }

    fn start(&mut self, now: Instant, command: Command) {
        while self.wake <= now {
            self.step(self.wake);
        }
        let outcome = admit(&self.facts, self.in_flight, &command);
        self.in_flight += 1;
        if self.exclusive.is_some() {
            self.held.push_back((command, outcome));
        } else {
            self.begin(now, command, outcome);
        }
    }

    fn next(&self) -> Option<Instant> {
        let next = self.endings.next().unwrap_or(Instant::NEVER).min(self.wake);
        (next != Instant::NEVER).then_some(next)
    }

    fn finish(&mut self, now: Instant) -> Option<Finished> {
        loop {
            let ending = self.endings.next().unwrap_or(Instant::NEVER);
            if self.wake.min(ending) > now {
                return None;
            }
            if self.wake <= ending {
                self.step(self.wake);
                continue;
            }
            let (finished, dirty) = self.endings.take(now)?;
            self.in_flight -= 1;
            if let Some(dirty) = dirty {
                self.dirtied(finished.at, dirty);
            }
            if self.exclusive.is_some() && matches!(self.medium, Medium::Idle) {
                self.decide(finished.at);
            }
            return Some(finished);
        }
    }

    fn in_flight(&self) -> u32 {
        self.in_flight
    }

    fn ledger(&self) -> Cow<'_, Ledger> {
        Cow::Borrowed(&self.ledger)
    }

    fn parts(&self) -> u32 {
        1
    }

    fn watch(&mut self) {
        self.stints.watch();
    }

    fn stints(&mut self, to: &mut Vec<Stint>) {
        self.stints.take(to);
    }
}
