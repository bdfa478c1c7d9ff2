//! The SSD: channels and dies, a write buffer, garbage collection, reads that find a die programming.
//!
//! The files: [`controller`] takes commands, [`layout`] gives the position of a sector, [`die`] reads and programs and
//! decides which operation goes first, [`collection`] makes writes slow when free blocks have run out, [`page_map`]
//! does so with a map of pages, [`buffer`] keeps data that is not programmed yet, [`wire`] carries data to and from the
//! host, [`lane`] is anything that serves one at a time. What varies: [`senses`] says how long a page is read,
//! [`programs`] how long a program takes, [`slc`] which one goes to cells of one bit, [`map_cache`] which part of the
//! map is in memory, [`stall`] when writes pause. [`on_way`] is a command in progress. This file only moves commands
//! between them.
//!
//! A read is decoded, sensed by the dies that hold it, crosses their channels and the interface, page by page. A write
//! crosses the interface into the buffer and ends, or, without room or with FUA, ends when it has been programmed.
//!
//! **Limits**: no read-ahead; rewriting data that is still in the buffer does not avoid the first program; a write of
//! less than a page costs no read of the rest.

use std::borrow::Cow;
use std::collections::VecDeque;

use blksched::{Command, Dir, Instant, Op, Span};

use crate::disk::admit;
use crate::draw::fixed_by;
use crate::endings::Endings;
use crate::stint::Stints;
use crate::timeline::Timeline;
use crate::{Activity, CommandOutcome, Disk, Facts, Finished, Ledger, PowerLoss, SsdSpec, Stint, StintWork as Of};

mod buffer;
mod collection;
mod controller;
mod die;
mod lane;
mod layout;
mod map_cache;
mod on_way;
mod page_map;
mod programs;
mod senses;
mod slc;
mod stall;
#[cfg(test)]
pub(crate) mod tests_support;
mod wire;

use buffer::{Barrier, Buffer};
use collection::Collection;
use controller::Controller;
use die::{Die, For, ProgramPiece};
use lane::{Path, SerialLane};
use layout::DieLayout;
use map_cache::MapCache;
use on_way::{BACKGROUND, OnWay, SsdEvent, SsdWork, WriteManner};
use page_map::PageMap;
use programs::Programs;
use senses::Senses;
use slc::Slc;
use stall::Stall;
use wire::{Wire, WirePace};

pub(crate) struct Ssd {
    facts: Facts,
    spec: SsdSpec,
    layout: DieLayout,
    controller: Controller,
    wire: Wire,
    channels: Vec<SerialLane>,
    bus: WirePace,
    dies: Vec<Die>,
    collection: Option<Collection>,
    page_map: Option<PageMap>,
    seed: u64,
    senses: Senses,
    programs: Programs,
    slc: Option<Slc>,
    map_cache: Option<MapCache>,
    stall: Option<Stall>,
    buffer: Option<Buffer>,
    /// Writes without room, oldest first.
    waiting: VecDeque<u32>,
    barriers: VecDeque<Barrier>,
    /// Where the last write ended.
    written_to: u64,
    on_way: Vec<Option<OnWay>>,
    free: Vec<u32>,
    events: Timeline<SsdEvent>,
    /// When a die's program ends, or when it may begin one.
    visits: Timeline<u32>,
    endings: Endings<()>,
    /// Scratch for [`Ssd::end_program`].
    ended: Vec<ProgramPiece>,
    in_flight: u32,
    ledger: Ledger,
    stints: Stints,
}

impl Ssd {
    pub(crate) fn new(spec: &SsdSpec, seed: u64) -> Ssd {
        let layout = DieLayout::new(&spec.flash);
        let buffer = spec.buffer.map(|buffer| Buffer::new(buffer.size_sectors, buffer.power_loss == PowerLoss::Kept));
        Ssd {
            facts: Facts {
                sectors: spec.capacity_sectors,
                rotational: false,
                depth: spec.depth,
                max_sectors: spec.max_sectors,
                volatile_cache: buffer.as_ref().is_some_and(|buffer| !buffer.is_stable()),
                fua: true,
            },
            layout,
            controller: Controller::new(spec.overhead),
            wire: Wire::new(spec.interface),
            channels: vec![SerialLane::default(); spec.flash.channels as usize],
            bus: WirePace::new(spec.flash.channel_rate),
            dies: vec![Die::new(spec.interference); layout.dies() as usize],
            collection: spec.collection.as_ref().map(|collection| Collection::new(collection, &spec.flash)),
            page_map: spec.page_map.map(|map| PageMap::new(&map, &spec.flash, spec.capacity_sectors)),
            seed,
            senses: Senses::new(spec.flash.read, spec.tails, spec.flash.page_sectors, seed),
            programs: Programs::new(spec.flash.program, program_times(spec), layout.dies(), seed),
            slc: spec.slc.map(|slc| Slc::new(&slc, layout.dies(), spec.flash.program_sectors, spec.flash.read)),
            map_cache: spec.tails.map_cache.as_ref().map(MapCache::new),
            stall: spec.tails.stall.map(Stall::new),
            buffer,
            waiting: VecDeque::new(),
            barriers: VecDeque::new(),
            written_to: u64::MAX,
            on_way: vec![None; spec.depth as usize],
            free: (0..spec.depth).rev().collect(),
            events: Timeline::with_capacity(spec.depth as usize),
            visits: Timeline::with_capacity(layout.dies() as usize),
            endings: Endings::with_capacity(spec.depth as usize),
            ended: Vec::new(),
            in_flight: 0,
            ledger: Ledger::default(),
            stints: Stints::default(),
            spec: *spec,
        }
    }

    /// A place for a command that cannot end at once.
    fn register(&mut self, work: SsdWork, command: Command, arrived: Instant, ready: Instant, foreign: Span) -> u32 {
        let op = self.free.pop().expect("`admit` has counted");
        let end = ready;
        self.on_way[op as usize] = Some(OnWay { command, work, arrived, ready, left: 1, end, media: end, foreign });
        op
    }

    fn get(&mut self, op: u32) -> &mut OnWay {
        self.on_way[op as usize].as_mut().expect("a command ends once")
    }

    fn read(&mut self, now: Instant, ready: Instant, command: Command, foreign: Span) {
        let (start, sectors) = (command.start.0, command.sectors);
        if self.buffer.as_ref().is_some_and(|buffer| buffer.holds(start, sectors)) {
            let op = self.register(SsdWork::Hit, command, now, ready, foreign);
            return self.events.add(ready, SsdEvent::Carry { op });
        }
        let op = self.register(SsdWork::Read, command, now, ready, foreign);
        if !self.look_up(op, ready, foreign) {
            self.sense(op, ready, foreign);
        }
    }

    /// Reads a command's pages, from `ready` on.
    fn sense(&mut self, op: u32, ready: Instant, foreign: Span) {
        let command = self.get(op).command;
        let mut parts = 0;
        for part in self.layout.parts(command.start.0, command.sectors) {
            let time = self.senses.time(part.start);
            let (sensed, path) = self.read_page(part.die, ready, time, Path { op, foreign });
            self.events.add(sensed, SsdEvent::Sensed { path, die: part.die, sectors: part.sectors });
            parts += 1;
        }
        self.get(op).left = parts;
    }

    /// Reads one page of the map for a command, or answers false: it is in memory.
    fn look_up(&mut self, op: u32, ready: Instant, foreign: Span) -> bool {
        let sector = self.get(op).command.start.0;
        let Some(segment) = self.map_cache.as_mut().and_then(|cache| cache.missed(sector)) else { return false };
        // The map's pages are spread over the dies like any others.
        let die = (fixed_by(self.seed, segment) % u64::from(self.layout.dies())) as u32;
        let (mapped, path) = self.read_page(die, ready, self.spec.flash.read, Path { op, foreign });
        self.events.add(mapped, SsdEvent::Mapped { path });
        true
    }

    /// Occupies a die with a reading; returns when that ends, and the path so far.
    fn read_page(&mut self, die: u32, ready: Instant, time: Span, path: Path) -> (Instant, Path) {
        if self.overdue(die, ready) {
            self.begin_program(die, ready);
        }
        let (sensed, path) = self.dies[die as usize].read(ready, time, path);
        let begun = Instant::from_ns(sensed.as_ns() - time.as_ns());
        let rq = self.get(path.op).command.rq;
        self.stints.note(2 * die, Of::Command(rq), begun, sensed);
        (sensed, path)
    }

    /// Whether a program of that die is next, although reads are before it.
    fn overdue(&self, die: u32, at: Instant) -> bool {
        let die = &self.dies[die as usize];
        die.has_waited_enough()
            && die.is_due(self.spec.flash.program_sectors, self.is_urgent())
            && die.free_for_program(at) > at
    }

    fn write(&mut self, now: Instant, ready: Instant, command: Command, foreign: Span) {
        let manner = if command.start.0 == self.written_to { WriteManner::Sequential } else { WriteManner::Random };
        self.written_to = command.start.0 + u64::from(command.sectors);
        let (ready, paused) = self.stall.as_mut().map_or((ready, Span::ZERO), |stall| stall.take(ready));
        let foreign = foreign + paused;
        let (waits, full) = (!self.waiting.is_empty(), |buffer: &Buffer| !buffer.has_room(command.sectors));
        match &mut self.buffer {
            Some(buffer) if buffer.fits(command.sectors) && (buffer.is_stable() || !command.fua) => {
                if waits || full(buffer) {
                    let work = SsdWork::Cached { epoch: 0, manner };
                    let op = self.register(work, command, now, ready, foreign);
                    let was_urgent = self.is_urgent();
                    self.waiting.push_back(op);
                    self.urge(was_urgent, now);
                } else {
                    let epoch = buffer.admit(command.sectors);
                    let op = self.register(SsdWork::Cached { epoch, manner }, command, now, ready, foreign);
                    self.events.add(ready, SsdEvent::Carry { op });
                }
            }
            _ => {
                let op = self.register(SsdWork::Through { manner }, command, now, ready, foreign);
                self.events.add(ready, SsdEvent::Carry { op });
            }
        }
    }

    fn flush(&mut self, now: Instant, ready: Instant, command: Command, foreign: Span) {
        if self.buffer.as_ref().is_none_or(|buffer| buffer.is_stable() || buffer.is_clean()) {
            return self.end_early(ready, &command, ready.since(now).saturating_sub(foreign), CommandOutcome::Ok);
        }
        let op = self.register(SsdWork::Flush, command, now, ready, foreign);
        let was_urgent = self.is_urgent();
        if let Some(buffer) = &mut self.buffer {
            self.barriers.push_back(buffer.barrier(op));
        }
        self.urge(was_urgent, now);
    }

    /// Whether a command waits for the buffer to drain.
    fn is_urgent(&self) -> bool {
        !self.waiting.is_empty() || !self.barriers.is_empty()
    }

    /// A command has begun to wait: programs that would have waited for more data begin.
    fn urge(&mut self, was_urgent: bool, now: Instant) {
        if !was_urgent {
            (0..self.layout.dies()).for_each(|die| self.pump(die, now));
        }
    }

    /// Begins a program on a die if one is due and the die is free for it.
    fn pump(&mut self, index: u32, now: Instant) {
        let urgent = self.is_urgent();
        let die = &mut self.dies[index as usize];
        if !die.is_due(self.spec.flash.program_sectors, urgent) {
            return;
        }
        let free = die.free_for_program(now);
        if free > now && !die.has_waited_enough() {
            return self.arm(index, free);
        }
        self.begin_program(index, now);
    }

    /// Looks at a die again at `at`.
    fn arm(&mut self, index: u32, at: Instant) {
        let die = &mut self.dies[index as usize];
        if at < die.armed {
            die.armed = at;
            self.visits.add(at, index);
        }
    }

    fn begin_program(&mut self, index: u32, now: Instant) {
        let die = &mut self.dies[index as usize];
        let at = die.free_for_program(now);
        let sectors = die.take(self.spec.flash.program_sectors);
        let first = die.running()[0];
        let path = match first.to {
            For::Command { op } if die.last.op == op => die.last,
            For::Command { op } => Path { op, foreign: at.since(first.queued) },
            For::Buffer { .. } => Path { op: BACKGROUND, foreign: Span::ZERO },
        };
        let across = self.bus.time_of(sectors);
        let (begin, path) = self.channels[self.layout.channel(index)].occupy(at, across, path);
        let collect = self.collect(index, sectors, first.manner);
        let usual = self.programs.time(index);
        let program = self.slc.as_mut().map_or(usual, |slc| slc.time(index, begin, sectors, usual));
        let busy = across + program + collect;
        let end = begin + busy;
        if let Some(slc) = &mut self.slc {
            slc.ended(index, end);
        }
        self.dies[index as usize].begin(end, path);
        self.charge_program(index, begin, busy, sectors);
        self.arm(index, end);
    }

    /// How long a die collects for what it programs now.
    fn collect(&mut self, index: u32, sectors: u32, manner: WriteManner) -> Span {
        let Some(map) = &mut self.page_map else {
            let collected = |collection: &mut Collection| collection.programmed(index as usize, sectors, manner);
            return self.collection.as_mut().map_or(Span::ZERO, collected);
        };
        let pieces = self.dies[index as usize].running().iter();
        let spans = pieces.map(|piece| map.programmed(index as usize, piece.start, piece.sectors));
        spans.fold(Span::ZERO, |sum, span| sum + span)
    }

    /// These sectors are no longer needed.
    fn discard(&mut self, command: &Command) {
        if let Some(collection) = &mut self.collection {
            collection.discarded(command.sectors);
        }
        if let Some(map) = &mut self.page_map {
            let parts = self.layout.parts(command.start.0, command.sectors);
            parts.for_each(|part| map.discarded(part.die as usize, part.start, part.sectors));
        }
    }

    /// Charges a program's buffered pieces to the submitters that wrote them; a waiting command is charged when it
    /// ends.
    fn charge_program(&mut self, index: u32, mut from: Instant, busy: Span, sectors: u32) {
        let (mut rest, mut left) = (busy.as_ns(), u64::from(sectors));
        for piece in self.dies[index as usize].running() {
            let share = (u128::from(rest) * u128::from(piece.sectors) / u128::from(left)) as u64;
            (rest, left) = (rest - share, left - u64::from(piece.sectors));
            let until = from + Span::from_ns(share);
            let work = match piece.to {
                For::Buffer { .. } => {
                    let activity = Activity { transfer: Span::from_ns(share), ..Activity::default() };
                    self.ledger.charge(piece.submitter, &activity);
                    Of::Cached(piece.submitter)
                }
                For::Command { op } => {
                    Of::Command(self.on_way[op as usize].as_ref().expect("it waits for this program").command.rq)
                }
            };
            self.stints.note(2 * index + 1, work, from, until);
            from = until;
        }
    }

    /// A die's time has come.
    fn visit(&mut self, at: Instant, index: u32) {
        let die = &mut self.dies[index as usize];
        if die.armed > at {
            return;
        }
        die.armed = Instant::NEVER;
        match die.program_end() {
            Some(end) if end > at => return self.arm(index, end),
            Some(_) => self.end_program(at, index),
            None => {}
        }
        self.pump(index, at);
    }

    fn end_program(&mut self, at: Instant, index: u32) {
        let mut ended = core::mem::take(&mut self.ended);
        let last = self.dies[index as usize].last;
        self.dies[index as usize].end(&mut ended);
        for piece in ended.drain(..) {
            match piece.to {
                For::Buffer { epoch } => {
                    if let Some(buffer) = &mut self.buffer {
                        buffer.programmed(piece.start, piece.sectors, epoch);
                    }
                }
                For::Command { op } => {
                    let before = self.get(op).foreign;
                    let foreign = if last.op == op { before + last.foreign } else { before };
                    self.end_part(op, at, at, foreign);
                }
            }
        }
        self.ended = ended;
        self.drained(at);
    }

    /// There is room, and a flush may be over.
    fn drained(&mut self, at: Instant) {
        while let Some(&barrier) = self.barriers.front()
            && self.buffer.as_mut().is_none_or(|buffer| buffer.is_over(&barrier))
        {
            self.barriers.pop_front();
            let ready = self.get(barrier.op).ready;
            let (end, foreign) = (at.max(ready), at.since(ready) + self.get(barrier.op).foreign);
            self.end_part(barrier.op, end, end, foreign);
        }
        while let Some(&op) = self.waiting.front() {
            let (sectors, ready) = (self.get(op).command.sectors, self.get(op).ready);
            let Some(buffer) = self.buffer.as_mut().filter(|buffer| buffer.has_room(sectors)) else { return };
            let admitted = buffer.admit(sectors);
            self.waiting.pop_front();
            let on_way = self.get(op);
            if let SsdWork::Cached { epoch, .. } = &mut on_way.work {
                *epoch = admitted;
            }
            on_way.foreign += at.since(ready);
            self.events.add(at.max(ready), SsdEvent::Carry { op });
        }
    }

    /// A page waits in its die's register: it crosses the channel and, as it comes, the interface.
    fn sensed(&mut self, at: Instant, path: Path, die: u32, sectors: u32) {
        let across = self.bus.time_of(sectors);
        let (bus_begin, bus_path) = self.channels[self.layout.channel(die)].occupy(at, across, path);
        let (end, out_path) = self.wire.carry(Dir::Read, at, sectors, path);
        let media = bus_begin + across;
        let foreign = if media >= end { bus_path.foreign } else { out_path.foreign };
        self.end_part(path.op, media, media.max(end), foreign);
    }

    /// A write's data, or a hit's, begins to cross the interface.
    fn carry(&mut self, at: Instant, op: u32) {
        let &mut OnWay { command, work, foreign, .. } = self.get(op);
        let dir = if matches!(work, SsdWork::Hit) { Dir::Read } else { Dir::Write };
        let (end, path) = self.wire.carry(dir, at, command.sectors, Path { op, foreign });
        match work {
            SsdWork::Hit => self.end_part(op, at, end, path.foreign),
            _ => {
                self.get(op).foreign = path.foreign;
                self.events.add(end, SsdEvent::Arrived { op });
            }
        }
    }

    /// A write's data is in the drive.
    fn arrived(&mut self, at: Instant, op: u32) {
        let &mut OnWay { command, work, foreign, .. } = self.get(op);
        let (to, manner) = match work {
            SsdWork::Cached { epoch, manner } => (For::Buffer { epoch }, manner),
            SsdWork::Through { manner } => (For::Command { op }, manner),
            SsdWork::Read | SsdWork::Hit | SsdWork::Flush => return,
        };
        let mut parts = 0;
        for part in self.layout.parts(command.start.0, command.sectors) {
            let (start, sectors, submitter) = (part.start, part.sectors, command.submitter);
            self.dies[part.die as usize].push(ProgramPiece { start, sectors, manner, submitter, queued: at, to });
            if let (Some(buffer), For::Buffer { .. }) = (&mut self.buffer, to) {
                buffer.arrived(start, sectors);
            }
            parts += 1;
        }
        match to {
            For::Buffer { .. } => self.end_part(op, at, at, foreign),
            For::Command { .. } => self.get(op).left = parts,
        }
        for part in self.layout.parts(command.start.0, command.sectors).take(self.dies.len()) {
            self.pump(part.die, at);
        }
    }

    /// One part of a command is done with the flash at `media` and ends at `end`.
    fn end_part(&mut self, op: u32, media: Instant, end: Instant, foreign: Span) {
        let on_way = self.get(op);
        if end >= on_way.end {
            (on_way.end, on_way.media) = (end, media);
            if !matches!(on_way.work, SsdWork::Through { .. }) || on_way.left == 1 {
                on_way.foreign = foreign;
            }
        }
        on_way.left -= 1;
        if on_way.left == 0 {
            let on_way = *on_way;
            self.on_way[op as usize] = None;
            self.free.push(op);
            self.end(&on_way);
        }
    }

    /// Records a command's end: its time without what it waited for others.
    fn end(&mut self, on_way: &OnWay) {
        let OnWay { command, arrived, ready, end, media, foreign, .. } = *on_way;
        let own = end.since(arrived).saturating_sub(foreign);
        let overhead = own.min(ready.since(arrived)).min(self.spec.overhead.command);
        let rest = own.saturating_sub(overhead);
        let crossing = match on_way.work {
            SsdWork::Read => end.since(media).min(self.wire.time_of(Dir::Read, command.sectors)),
            SsdWork::Flush => Span::ZERO,
            SsdWork::Hit => self.wire.time_of(Dir::Read, command.sectors),
            SsdWork::Cached { .. } | SsdWork::Through { .. } => self.wire.time_of(Dir::Write, command.sectors),
        };
        let interface = crossing.min(rest);
        let service = Activity { overhead, interface, transfer: rest.saturating_sub(interface), ..Activity::default() };
        self.ledger.charge(command.submitter, &service);
        self.endings.add(Finished { rq: command.rq, at: end, outcome: CommandOutcome::Ok, service }, ());
    }

    fn end_early(&mut self, at: Instant, command: &Command, overhead: Span, outcome: CommandOutcome) {
        let service = Activity { overhead, ..Activity::default() };
        if outcome == CommandOutcome::Ok {
            self.ledger.charge(command.submitter, &service);
        }
        self.endings.add(Finished { rq: command.rq, at, outcome, service }, ());
    }

    /// The time of the next internal event, or never.
    fn upcoming(&self) -> Instant {
        self.events.next().min(self.visits.next())
    }

    /// Executes the next event.
    fn step(&mut self) {
        if self.visits.next() < self.events.next() {
            let visit = self.visits.take();
            return visit.map_or((), |(at, die)| self.visit(at, die));
        }
        match self.events.take() {
            Some((at, SsdEvent::Mapped { path })) => self.sense(path.op, at, path.foreign),
            Some((at, SsdEvent::Sensed { path, die, sectors })) => self.sensed(at, path, die, sectors),
            Some((at, SsdEvent::Carry { op })) => self.carry(at, op),
            Some((at, SsdEvent::Arrived { op })) => self.arrived(at, op),
            None => {}
        }
    }
}

/// What programs take in turn, if they differ.
fn program_times(spec: &SsdSpec) -> Vec<Span> {
    spec.tails.pages.map_or_else(Vec::new, |pages| pages.programs().to_vec())
}

impl Disk for Ssd {
    fn facts(&self) -> Facts {
        self.facts
    }

    fn start(&mut self, now: Instant, command: Command) {
        while self.upcoming() <= now {
            self.step();
        }
        let outcome = admit(&self.facts, self.in_flight, &command);
        self.in_flight += 1;
        let path = Path { op: BACKGROUND, foreign: Span::ZERO };
        let (ready, foreign) = self.controller.take(now, &command, path);
        if outcome != CommandOutcome::Ok {
            return self.end_early(ready, &command, self.spec.overhead.command, outcome);
        }
        match command.op {
            Op::Read => self.read(now, ready, command, foreign),
            Op::Write => self.write(now, ready, command, foreign),
            Op::Flush => self.flush(now, ready, command, foreign),
            // Zeroed sectors are unmapped.
            Op::Discard | Op::WriteZeroes => {
                self.discard(&command);
                self.end_early(ready, &command, self.spec.overhead.command, CommandOutcome::Ok);
            }
        }
    }

    fn next(&self) -> Option<Instant> {
        let next = self.endings.next().unwrap_or(Instant::NEVER).min(self.upcoming());
        (next != Instant::NEVER).then_some(next)
    }

    fn finish(&mut self, now: Instant) -> Option<Finished> {
        loop {
            let ending = self.endings.next().unwrap_or(Instant::NEVER);
            let event = self.upcoming();
            if event <= ending && event <= now {
                self.step();
                continue;
            }
            let (finished, ()) = self.endings.take(now)?;
            self.in_flight -= 1;
            return Some(finished);
        }
    }

    fn fetches(&self) -> Instant {
        self.controller.free()
    }

    fn in_flight(&self) -> u32 {
        self.in_flight
    }

    fn ledger(&self) -> Cow<'_, Ledger> {
        Cow::Borrowed(&self.ledger)
    }

    fn parts(&self) -> u32 {
        2 * self.layout.dies()
    }

    fn watch(&mut self) {
        self.stints.watch();
    }

    fn stints(&mut self, to: &mut Vec<Stint>) {
        self.stints.take(to);
    }
}
