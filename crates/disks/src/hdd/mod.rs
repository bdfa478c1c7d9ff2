//! The disk that turns: arm, platters, zones, look-ahead, write cache and command queue.
//!
//! What happens where: [`geometry`] and [`zones`] say where a sector is, [`seek`] and [`rotation`] what it costs to get
//! there, [`mechanism`] goes there, [`lookahead`] and [`write_cache`] are the two uses of the buffer, [`ncq`] chooses
//! the next command, [`wire`] decodes and carries. This file only moves commands between them.
//!
//! The medium does one thing at a time. Whenever it has ended something, `decide` picks what is next: a queued command
//! (or the drain that a command waits for), else nothing, and then the head reads ahead until it has read `hold` bytes
//! and dirty sectors are drained, or a command comes.

use std::borrow::Cow;
use std::collections::VecDeque;

use blksched::{Command, Instant, Op, Span, SubmitterId};

use crate::disk::admit;
use crate::endings::Endings;
use crate::{Activity, Disk, Facts, Finished, HddSpec, Ledger, Outcome};

mod divisor;
mod extents;
mod geometry;
mod lookahead;
mod mechanism;
mod ncq;
mod rotation;
mod seek;
mod targets;
#[cfg(test)]
pub(crate) mod tests_support;
mod wire;
mod write_cache;
mod zones;

use lookahead::{Found, LookAhead, Start};
use mechanism::{Access, Accessed, Mechanism};
use ncq::{Queue, Queued};
use wire::Wire;
use write_cache::WriteCache;

/// What the medium is doing.
#[derive(Clone, Copy, Debug)]
enum Medium {
    /// Nothing for anybody; perhaps reading ahead.
    Idle,
    /// Reading for a command; afterwards the head reads on.
    Reading { range: (u64, u64), segment: Option<usize>, unrolled: u64, owner: SubmitterId },
    /// Writing a command's data.
    Writing,
    /// Writing so many dirty sectors.
    Draining { sectors: u64 },
}

/// What a cached write leaves behind when it ends.
#[derive(Clone, Copy, Debug)]
struct Dirty {
    start: u64,
    sectors: u32,
    submitter: SubmitterId,
}

/// A command that cannot end before something has been drained.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    command: Command,
    arrived: Instant,
    ready: Instant,
}

pub(crate) struct Hdd {
    facts: Facts,
    mechanism: Mechanism,
    wire: Wire,
    queue: Queue,
    look_ahead: Option<LookAhead>,
    cache: Option<WriteCache>,
    /// Writes without room and flushes, oldest first.
    waiting: VecDeque<Waiting>,
    medium: Medium,
    /// When the medium ends what it does, or the look-ahead's hold on drains ends.
    wake: Instant,
    endings: Endings<Option<Dirty>>,
    in_flight: u32,
    ledger: Ledger,
}

impl Hdd {
    pub(crate) fn new(spec: &HddSpec, seed: u64) -> Hdd {
        let depth = spec.ncq.as_ref().map_or(1, |ncq| ncq.depth);
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
            mechanism: Mechanism::new(spec, seed),
            wire: Wire::new(spec.overhead, spec.interface),
            queue: Queue::new(spec.ncq.as_ref()),
            look_ahead: spec.look_ahead.as_ref().map(|ahead| LookAhead::new(ahead, spec.capacity_sectors)),
            cache: spec.write_cache.as_ref().map(WriteCache::new),
            waiting: VecDeque::with_capacity(depth as usize),
            medium: Medium::Idle,
            wake: Instant::NEVER,
            endings: Endings::with_capacity(depth as usize),
            in_flight: 0,
            ledger: Ledger::default(),
        }
    }

    fn read(&mut self, now: Instant, ready: Instant, command: Command) {
        let (start, end) = range(&command);
        if self.cache.as_ref().is_some_and(|cache| cache.holds(start, end)) {
            return self.buffer_hit(now, ready, &command);
        }
        // With the medium idle, its turn has come and the buffer is looked at then.
        let in_buffer = |ahead: &LookAhead| ahead.holds(ahead.segment_of(start, end), end);
        if !matches!(self.medium, Medium::Idle) && self.look_ahead.as_ref().is_some_and(in_buffer) {
            return self.buffer_hit(now, ready, &command);
        }
        self.want_medium(now, ready, command);
    }

    fn write(&mut self, now: Instant, ready: Instant, command: Command) {
        let (start, end) = range(&command);
        self.forget_read_data(ready, start, end);
        match &self.cache {
            Some(cache) if !command.fua && cache.fits(command.sectors) => {
                if self.waiting.is_empty() && cache.has_room(command.sectors) {
                    self.cache_write(now, ready, command);
                } else {
                    self.waiting.push_back(Waiting { command, arrived: now, ready });
                }
            }
            _ => {
                if let Some(cache) = &mut self.cache {
                    cache.cut(start, end, &self.mechanism);
                    self.admit_waiting(ready);
                }
                self.want_medium(now, ready, command);
            }
        }
    }

    fn flush(&mut self, now: Instant, ready: Instant, command: Command) {
        if self.waiting.is_empty() && self.cache.as_ref().is_none_or(WriteCache::is_clean) {
            self.end_at(ready, &command, overhead(now, ready), None);
        } else {
            self.waiting.push_back(Waiting { command, arrived: now, ready });
        }
    }

    fn want_medium(&mut self, now: Instant, ready: Instant, command: Command) {
        let queued = Queued { command, place: self.mechanism.place(command.start.0), arrived: now, ready };
        if matches!(self.medium, Medium::Idle) {
            self.serve(now, queued);
        } else {
            self.queue.push(queued);
        }
    }

    /// Does a command whose turn came at `turn`; it may need the medium or not.
    fn serve(&mut self, turn: Instant, queued: Queued) {
        match queued.command.op {
            Op::Read => self.serve_read(turn, queued),
            _ => self.serve_write(turn, queued),
        }
    }

    fn serve_write(&mut self, turn: Instant, Queued { command, place, arrived, ready }: Queued) {
        let at = turn.max(ready);
        self.stop_reading_ahead(at);
        let accessed = self.mechanism.access(at, &place, range(&command).1, Access::Write);
        self.medium = Medium::Writing;
        self.end_access(at, accessed, at.since(turn.max(arrived)), &command);
    }

    fn serve_read(&mut self, turn: Instant, Queued { command, place, arrived, ready }: Queued) {
        let (at, begun) = (turn.max(ready), turn.max(arrived));
        let (start, end) = range(&command);
        let (mut from, mut place, mut segment) = (start, place, None);
        if let Some(ahead) = &self.look_ahead {
            segment = ahead.segment_of(start, end);
            if ahead.holds(segment, end) {
                return self.buffer_hit(begun, at, &command);
            }
            let begin = Start { sector: start, unrolled: place.unrolled };
            match ahead.find(at, &begin, end, &self.mechanism) {
                Some(Found::Whole) => return self.buffer_hit(begun, at, &command),
                Some(Found::Passing(until)) => return self.pass(at, until, at.since(begun), &command),
                None => segment = self.look_elsewhere(at, start, end),
            }
        }
        if let Some(ahead) = &self.look_ahead {
            from = ahead.from(start, segment);
            if from != start {
                place = self.mechanism.place(from);
            }
        }
        let accessed = self.mechanism.access(at, &place, end, Access::Read);
        let (unrolled, owner) = (accessed.unrolled, command.submitter);
        self.medium = Medium::Reading { range: (from, end), segment, unrolled, owner };
        self.end_access(at, accessed, at.since(begun), &command);
    }

    /// The head leaves the spiral to read `start..end`; the segment that begins in, now that the look-ahead has ended.
    fn look_elsewhere(&mut self, at: Instant, start: u64, end: u64) -> Option<usize> {
        self.stop_reading_ahead(at);
        self.look_ahead.as_ref().and_then(|ahead| ahead.segment_of(start, end))
    }

    /// The head is just reading what the command wants: it goes on until that has passed.
    fn pass(&mut self, at: Instant, until: Instant, visible: Span, command: &Command) {
        let (start, end) = range(command);
        let behind = self.mechanism.behind(end - 1);
        self.stop_reading_ahead(at);
        // What lies between the head and the command passes under the head too, and may be wanted next.
        let start = start.min(self.mechanism.next_sector());
        self.mechanism.rest_behind(&behind, end);
        let until = until.max(at);
        let segment = self.look_ahead.as_ref().and_then(|ahead| ahead.segment_of(start, end));
        let (unrolled, owner) = (behind.unrolled, command.submitter);
        self.medium = Medium::Reading { range: (start, end), segment, unrolled, owner };
        let activity = Activity { transfer: until.since(at), ..Activity::default() };
        self.end_access(at, Accessed { until, unrolled: behind.unrolled, activity }, visible, command);
    }

    /// Books an access that serves a command; it ends when the medium is through and the interface could keep up.
    fn end_access(&mut self, at: Instant, accessed: Accessed, overhead: Span, command: &Command) {
        self.wake = accessed.until;
        let carried = self.wire.time_of(command.sectors);
        let data_from = match command.op {
            Op::Read => at + accessed.activity.positioning(),
            _ => at,
        };
        let end = accessed.until.max(data_from + carried);
        let service = Activity { overhead, interface: end.since(accessed.until), ..accessed.activity };
        self.end_at(end, command, service, None);
    }

    fn buffer_hit(&mut self, now: Instant, ready: Instant, command: &Command) {
        let end = self.wire.carry(ready, command.sectors);
        let interface = self.wire.time_of(command.sectors);
        self.end_at(end, command, Activity { interface, ..overhead(now, ready) }, None);
        let may_restart = matches!(self.medium, Medium::Idle) && self.cache.as_ref().is_none_or(WriteCache::is_empty);
        if let Some(ahead) = &mut self.look_ahead {
            ahead.taken(ready, range(command).1, may_restart, &self.mechanism);
        }
    }

    fn cache_write(&mut self, now: Instant, ready: Instant, command: Command) {
        let (start, _) = range(&command);
        let sectors = command.sectors;
        if let Some(cache) = &mut self.cache {
            cache.promise(sectors);
        }
        let dirty = Dirty { start, sectors, submitter: command.submitter };
        let end = self.wire.carry(ready, sectors);
        let service = Activity { interface: self.wire.time_of(sectors), ..overhead(now, ready) };
        self.end_at(end, &command, service, Some(dirty));
    }

    fn end_at(&mut self, at: Instant, command: &Command, service: Activity, dirty: Option<Dirty>) {
        self.ledger.charge(command.submitter, &service);
        self.endings.add(Finished { rq: command.rq, at, outcome: Outcome::Ok, service }, dirty);
    }

    fn forget_read_data(&mut self, at: Instant, start: u64, end: u64) {
        if self.look_ahead.as_ref().is_some_and(|ahead| ahead.runs_over(start, end)) {
            self.stop_reading_ahead(at);
        }
        if let Some(ahead) = &mut self.look_ahead {
            ahead.trim(start, end);
        }
    }

    fn stop_reading_ahead(&mut self, at: Instant) {
        if let Some(ahead) = &mut self.look_ahead
            && let Some((owner, look_ahead)) = ahead.stop(at, &mut self.mechanism)
        {
            self.ledger.charge(owner, &Activity { look_ahead, ..Activity::default() });
        }
    }

    /// The medium has ended what it did.
    fn step(&mut self, at: Instant) {
        match core::mem::replace(&mut self.medium, Medium::Idle) {
            Medium::Idle | Medium::Writing => {}
            Medium::Reading { range, segment, unrolled, owner } => {
                if let Some(ahead) = &mut self.look_ahead {
                    ahead.read(at, range, segment, unrolled, owner);
                }
            }
            Medium::Draining { sectors } => {
                if let Some(cache) = &mut self.cache {
                    cache.drained(sectors);
                }
                self.admit_waiting(at);
            }
        }
        self.decide(at);
    }

    /// Gives the medium its next work, if there is any.
    fn decide(&mut self, at: Instant) {
        self.wake = Instant::NEVER;
        while matches!(self.medium, Medium::Idle) {
            let forced = self.waiting.front().filter(|_| self.cache.as_ref().is_some_and(|cache| !cache.is_empty()));
            let rival = forced.map(|waiting| waiting.arrived);
            let window = self.look_ahead.as_ref().and_then(LookAhead::window);
            match (self.queue.choose(at, &self.mechanism, window, rival), rival) {
                (Some((index, cost)), Some(_)) if cost > 0.0 => match self.drain_choice(at) {
                    Some((extent, drain_cost)) if drain_cost < cost => self.drain(at, extent),
                    _ => self.serve_queued(at, index),
                },
                (Some((index, _)), _) => self.serve_queued(at, index),
                (None, _) => return self.drain_if_due(at),
            }
        }
    }

    fn serve_queued(&mut self, at: Instant, index: usize) {
        let queued = self.queue.remove(index);
        self.serve(at, queued);
    }

    fn drain_choice(&mut self, at: Instant) -> Option<(usize, f32)> {
        self.cache.as_mut().and_then(|cache| cache.choose(at, &self.mechanism))
    }

    /// No command goes first: drains, unless there is nothing to drain or the look-ahead holds it back.
    fn drain_if_due(&mut self, at: Instant) {
        if self.cache.as_ref().is_none_or(WriteCache::is_empty) {
            return;
        }
        let hold = self.look_ahead.as_ref().and_then(|ahead| ahead.hold_until(&self.mechanism));
        if let Some(until) = hold.filter(|&until| until > at && self.queue.is_empty()) {
            self.wake = until;
            return;
        }
        self.stop_reading_ahead(at);
        if let Some((extent, _)) = self.drain_choice(at) {
            self.drain(at, extent);
        }
    }

    fn drain(&mut self, at: Instant, extent: usize) {
        self.stop_reading_ahead(at);
        let Some(cache) = &mut self.cache else { return };
        let piece = cache.take(extent, &self.mechanism);
        let place = self.mechanism.place(piece.start);
        let accessed = self.mechanism.access(at, &place, piece.end(), Access::Write);
        self.ledger.charge(piece.submitter, &accessed.activity);
        self.medium = Medium::Draining { sectors: piece.sectors };
        self.wake = accessed.until;
    }

    /// Room has been made: lets in what waits for it, in order.
    fn admit_waiting(&mut self, at: Instant) {
        while let Some(&Waiting { command, arrived: _, ready }) = self.waiting.front() {
            let Some(cache) = &self.cache else { return };
            let ready = ready.max(at);
            match command.op {
                Op::Flush if cache.is_clean() => self.end_at(ready, &command, Activity::default(), None),
                Op::Write if cache.has_room(command.sectors) => self.cache_write(ready, ready, command),
                _ => return,
            }
            self.waiting.pop_front();
        }
    }

    /// A cached write's data has arrived.
    fn dirtied(&mut self, at: Instant, dirty: Dirty) {
        let Some(cache) = &mut self.cache else { return };
        cache.insert(dirty.start, u64::from(dirty.sectors), dirty.submitter, &self.mechanism);
        if !self.waiting.is_empty() {
            self.admit_waiting(at);
        }
        if matches!(self.medium, Medium::Idle) {
            self.decide(at);
        }
    }
}

fn range(command: &Command) -> (u64, u64) {
    (command.start.0, command.start.0 + u64::from(command.sectors))
}

fn overhead(now: Instant, ready: Instant) -> Activity {
    Activity { overhead: ready.since(now), ..Activity::default() }
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
        let ready = self.wire.decode(now, self.in_flight > 0);
        self.in_flight += 1;
        if outcome != Outcome::Ok {
            let service = overhead(now, ready);
            self.endings.add(Finished { rq: command.rq, at: ready, outcome, service }, None);
            return;
        }
        match command.op {
            Op::Read => self.read(now, ready, command),
            // The wire carries nothing for zeroes, but the surface is what takes time.
            Op::Write | Op::WriteZeroes => self.write(now, ready, command),
            Op::Flush => self.flush(now, ready, command),
            // A disk that turns gains nothing from knowing it; the drives modelled here accept and ignore it.
            Op::Discard => self.end_at(ready, &command, overhead(now, ready), None),
        }
    }

    fn next(&self) -> Option<Instant> {
        let next = self.endings.next().unwrap_or(Instant::NEVER).min(self.wake);
        (next != Instant::NEVER).then_some(next)
    }

    fn finish(&mut self, now: Instant) -> Option<Finished> {
        loop {
            let ending = self.endings.next().unwrap_or(Instant::NEVER);
            if self.wake <= ending && self.wake <= now {
                self.step(self.wake);
                continue;
            }
            let (finished, dirty) = self.endings.take(now)?;
            self.in_flight -= 1;
            if let Some(dirty) = dirty {
                self.dirtied(finished.at, dirty);
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
}
