//! The disk that consists of disks: levels 0, 1, 5, 6 and 10, over members of any kind.
//!
//! What happens where: [`layout`] says which member holds what, [`parity`] what a write to a stripe with parity reads
//! and writes, [`member`] is a disk and the commands that wait for it. This file cuts commands, sends the pieces and
//! puts the ends together.
//!
//! Neighbouring pieces on a member go as one command. A command ends with its last piece; a write with parity reads
//! first, and then writes. Two such writes to the same stripe go one after the other, in order of arrival. A flush goes
//! to every member. A discard goes to members without parity, and is ignored with it. Members that have failed get
//! nothing: mirrors are read elsewhere, and what lay on one with parity is worked out from the rest of its stripe.
//!
//! **Limits**: parity costs no time of its own; writes to a stripe are not collected to full stripes; a piece that
//! fails lets the command fail, redundancy or not; nothing is rebuilt.

use std::borrow::Cow;
use std::collections::VecDeque;

use blksched::{Command, Instant, Op, Sector};

use crate::disk::admit;
use crate::endings::Endings;
use crate::{Activity, Disk, Facts, Finished, Ledger, MirrorReads, Outcome, RaidSpec, Stint};

mod layout;
mod member;
mod parity;

use layout::{Layout, Part};
use member::Member;
use parity::Piece;

/// How far a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Waits for a write to the same stripe.
    Queued,
    /// Reads what the parity needs.
    Reading,
    /// Does what it came for.
    Doing,
}

/// A command on its way.
#[derive(Clone, Copy, Debug)]
struct Job {
    command: Command,
    phase: Phase,
    /// Pieces that have not ended.
    left: u32,
    outcome: Outcome,
    /// The service of the piece that ended last in each phase.
    before: Activity,
    last: Activity,
}

/// An array.
pub(crate) struct Raid {
    facts: Facts,
    layout: Layout,
    reads: MirrorReads,
    members: Vec<Member>,
    max_sectors: u64,
    jobs: Vec<Option<Job>>,
    free: Vec<u32>,
    /// Writes with parity that have arrived and not ended, oldest first.
    writers: VecDeque<u32>,
    endings: Endings<()>,
    in_flight: u32,
    /// Room for a command's parts and pieces.
    parts: Vec<Part>,
    pieces: Vec<Piece>,
}

impl Raid {
    pub(crate) fn new(spec: &RaidSpec, seed: u64) -> Raid {
        let build = |(index, member): (usize, &crate::DiskSpec)| {
            Member::new(member.build(seed.wrapping_add((index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))))
        };
        let members: Vec<Member> = spec.members.iter().enumerate().map(build).collect();
        let facts = || members.iter().map(|member| member.disk.facts());
        let smallest = facts().map(|facts| facts.sectors).min().expect("an array has members");
        let layout = Layout::new(spec.level, members.len() as u32, spec.chunk_sectors, smallest);
        let layout = layout.without(spec.failed);
        Raid {
            facts: Facts {
                sectors: layout.sectors(),
                rotational: facts().any(|facts| facts.rotational),
                depth: spec.depth,
                max_sectors: spec.max_sectors,
                volatile_cache: facts().any(|facts| facts.volatile_cache),
                fua: facts().all(|facts| facts.fua),
            },
            layout,
            reads: spec.reads,
            max_sectors: u64::from(facts().map(|facts| facts.max_sectors).min().expect("an array has members")),
            members,
            jobs: vec![None; spec.depth as usize],
            free: (0..spec.depth).rev().collect(),
            writers: VecDeque::new(),
            endings: Endings::with_capacity(spec.depth as usize),
            in_flight: 0,
            parts: Vec::new(),
            pieces: Vec::new(),
        }
    }

    fn job(&mut self, job: u32) -> &mut Job {
        self.jobs[job as usize].as_mut().expect("a command ends once")
    }

    /// Begins a command that need not wait for another.
    fn begin(&mut self, now: Instant, job: u32) {
        let command = self.job(job).command;
        self.pieces.clear();
        match command.op {
            Op::Write | Op::WriteZeroes if self.layout.parities() > 0 => {
                return self.begin_parity(now, job, Phase::Reading);
            }
            Op::Flush => {
                let alive = (0..self.layout.members).filter(|member| !self.layout.has_failed(*member));
                self.pieces.extend(alive.map(|member| Piece { member, start: 0, end: 0 }));
            }
            Op::Discard if self.layout.parities() > 0 => {}
            Op::Read => self.cut_read(&command),
            Op::Write | Op::WriteZeroes | Op::Discard => self.cut_mirrored(&command),
        }
        self.send(now, job, Phase::Doing, command.op);
    }

    /// The pieces of a write with parity, stripe by stripe; without anything to read it writes at once.
    fn begin_parity(&mut self, now: Instant, job: u32, phase: Phase) {
        let command = self.job(job).command;
        let mut parts = core::mem::take(&mut self.parts);
        parts.clear();
        parts.extend(self.layout.parts(command.start.0, end(&command)));
        self.pieces.clear();
        for stripe in parts.chunk_by(|one, next| one.stripe == next.stripe) {
            match phase {
                Phase::Doing => parity::writes(&self.layout, stripe, &mut self.pieces),
                Phase::Reading | Phase::Queued => parity::reads(&self.layout, stripe, &mut self.pieces),
            }
        }
        self.parts = parts;
        if self.pieces.is_empty() && phase == Phase::Reading {
            return self.begin_parity(now, job, Phase::Doing);
        }
        self.send(now, job, phase, if phase == Phase::Doing { Op::Write } else { Op::Read });
    }

    fn cut_read(&mut self, command: &Command) {
        for part in self.layout.parts(command.start.0, end(command)) {
            let first = self.layout.data(part.stripe, part.column);
            if self.layout.parities() > 0 && self.layout.has_failed(first) {
                parity::rebuild(&self.layout, &part, &mut self.pieces);
                continue;
            }
            let start = part.stripe * self.layout.chunk + part.low;
            let piece = Piece { member: self.mirror(first, start), start, end: start + part.high - part.low };
            self.members[piece.member as usize].head_to(piece.end);
            self.pieces.push(piece);
        }
        if self.layout.failed > 0 {
            parity::read_once(&mut self.pieces);
        }
    }

    fn cut_mirrored(&mut self, command: &Command) {
        for part in self.layout.parts(command.start.0, end(command)) {
            let first = self.layout.data(part.stripe, part.column);
            let start = part.stripe * self.layout.chunk + part.low;
            let mirrors = first..first + self.layout.mirrors();
            for member in mirrors.filter(|member| !self.layout.has_failed(*member)) {
                let piece = Piece { member, start, end: start + part.high - part.low };
                self.members[member as usize].head_to(piece.end);
                self.pieces.push(piece);
            }
        }
    }

    /// The mirror to read `sector` from, among those from `first` on.
    fn mirror(&self, first: u32, sector: u64) -> u32 {
        let mut mirrors = (first..first + self.layout.mirrors()).filter(|member| !self.layout.has_failed(*member));
        let key = |&index: &u32| {
            let member = &self.members[index as usize];
            let distance = member.distance(sector);
            (distance > 0, member.busy(), distance)
        };
        match self.reads {
            MirrorReads::First => mirrors.next().unwrap_or(first),
            MirrorReads::Balanced => mirrors.min_by_key(key).unwrap_or(first),
        }
    }

    /// Sends the pieces, neighbours as one command, none longer than the members take.
    fn send(&mut self, now: Instant, job: u32, phase: Phase, op: Op) {
        let command = self.job(job).command;
        let mut pieces = core::mem::take(&mut self.pieces);
        // Stable: of a member's pieces, those that follow each other come in order.
        pieces.sort_by_key(|piece| (piece.member, piece.start));
        let mut sent = 0;
        for run in pieces.chunk_by(|one, next| one.member == next.member && one.end == next.start) {
            let (mut start, end) = (run[0].start, run[run.len() - 1].end);
            loop {
                let sectors = (end - start).min(self.max_sectors);
                let piece = Command { op, start: Sector(start), sectors: sectors as u32, ..command };
                self.members[run[0].member as usize].send(now, job, piece);
                start += sectors;
                sent += 1;
                if start == end {
                    break;
                }
            }
        }
        self.pieces = pieces;
        let it = self.job(job);
        (it.phase, it.left) = (phase, sent);
        if sent == 0 {
            self.end(now, job);
        }
    }

    /// A member's command has ended.
    fn ended(&mut self, job: u32, finished: &Finished) {
        let it = self.job(job);
        it.left -= 1;
        it.last = finished.service;
        if finished.outcome != Outcome::Ok {
            it.outcome = finished.outcome;
        }
        if it.left > 0 {
            return;
        }
        if it.phase == Phase::Reading && it.outcome == Outcome::Ok {
            it.before = it.last;
            self.begin_parity(finished.at, job, Phase::Doing);
        } else {
            self.end(finished.at, job);
        }
    }

    fn end(&mut self, at: Instant, job: u32) {
        let Job { command, outcome, before, last, .. } = *self.job(job);
        let mut service = last;
        service += &before;
        self.jobs[job as usize] = None;
        self.free.push(job);
        self.endings.add(Finished { rq: command.rq, at, outcome, service }, ());
        if let Some(place) = self.writers.iter().position(|&writer| writer == job) {
            self.writers.remove(place);
            self.begin_writers(at);
        }
    }

    /// Begins every write that no older one to a stripe of its keeps back.
    fn begin_writers(&mut self, at: Instant) {
        for place in 0..self.writers.len() {
            let job = self.writers[place];
            if self.job(job).phase == Phase::Queued && !self.is_kept_back(place) {
                self.job(job).phase = Phase::Reading;
                self.begin(at, job);
            }
        }
    }

    /// Does an older write touch a stripe of this one's?
    fn is_kept_back(&self, place: usize) -> bool {
        let stripes = |&job: &u32| {
            let command = self.jobs[job as usize].expect("a writer has not ended").command;
            self.layout.stripes(command.start.0, end(&command))
        };
        let (first, behind) = stripes(&self.writers[place]);
        self.writers.iter().take(place).map(stripes).any(|(low, high)| low < behind && first < high)
    }

    /// Lets the members go on until `now`, in order of time.
    fn advance(&mut self, now: Instant) {
        loop {
            let next = self.members.iter().enumerate().filter_map(|(index, member)| Some((member.disk.next()?, index)));
            let Some((at, index)) = next.min().filter(|(at, _)| *at <= now) else { return };
            while let Some((job, finished)) = self.members[index].finish(at) {
                self.ended(job, &finished);
            }
        }
    }
}

fn end(command: &Command) -> u64 {
    command.start.0 + u64::from(command.sectors)
}

impl Disk for Raid {
    fn facts(&self) -> Facts {
        self.facts
    }

    fn start(&mut self, now: Instant, command: Command) {
        self.advance(now);
        let outcome = admit(&self.facts, self.in_flight, &command);
        self.in_flight += 1;
        if outcome != Outcome::Ok {
            return self.endings.add(Finished { rq: command.rq, at: now, outcome, service: Activity::default() }, ());
        }
        let job = self.free.pop().expect("`admit` has counted");
        let (before, last) = (Activity::default(), Activity::default());
        self.jobs[job as usize] = Some(Job { command, phase: Phase::Queued, left: 0, outcome, before, last });
        if command.op == Op::Write && self.layout.parities() > 0 {
            self.writers.push_back(job);
            self.begin_writers(now);
        } else {
            self.begin(now, job);
        }
    }

    fn next(&self) -> Option<Instant> {
        self.members.iter().filter_map(|member| member.disk.next()).chain(self.endings.next()).min()
    }

    fn finish(&mut self, now: Instant) -> Option<Finished> {
        self.advance(now);
        let (finished, ()) = self.endings.take(now)?;
        self.in_flight -= 1;
        Some(finished)
    }

    fn in_flight(&self) -> u32 {
        self.in_flight
    }

    fn ledger(&self) -> Cow<'_, Ledger> {
        let mut sum = Ledger::default();
        self.members.iter().for_each(|member| sum.add(&member.disk.ledger()));
        Cow::Owned(sum)
    }

    fn parts(&self) -> u32 {
        self.members.iter().map(|member| member.disk.parts()).sum()
    }

    fn watch(&mut self) {
        self.members.iter_mut().for_each(Member::watch);
    }

    fn stints(&mut self, to: &mut Vec<Stint>) {
        let mut first = 0;
        for member in &mut self.members {
            member.stints(first, to);
            first += member.disk.parts();
        }
    }
}
