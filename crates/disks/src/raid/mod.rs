//! Arrays of disks: levels 0, 1, 5, 6 and 10, over members of any kind.
//!
//! The files: [`layout`] maps sectors to members, [`parity`] says what a write to a stripe with parity reads and
//! writes, [`stripes`] gathers such writes, [`rebuild`] says when a replaced member is filled, [`member`] is a disk and
//! the commands that wait for it. This file splits commands, sends the pieces, advances the member with the earliest
//! event, and combines the completions; [`batch`] does that for pages of the stripe cache and for windows of the
//! rebuild.
//!
//! Adjacent pieces on a member are sent as one command. A command ends with its last piece. A flush goes to every
//! member. A discard goes to members without parity, and is ignored with it. Failed members get no commands: mirrors
//! are read elsewhere, and with parity their data is computed from the rest of its stripe.
//!
//! **Limits**: computing parity takes no time; a failed piece makes the command fail, even with redundancy; reads do
//! not use the stripe cache; a rebuild does not wait for writes to the same stripes, nor they for it.

use std::borrow::Cow;
use std::collections::VecDeque;

use blksched::author::index::Tournament;
use blksched::{Command, Instant, Op, Sector};

use crate::disk::admit;
use crate::endings::Endings;
use crate::{Activity, CommandOutcome, Disk, Facts, Finished, Ledger, MirrorReads, RaidSpec, Stint};

mod batch;
mod layout;
mod member;
mod parity;
mod rebuild;
mod stripes;

use batch::PageBatch;
use layout::Layout;
pub(crate) use member::{Member, Owner};
use parity::MemberPiece;
use rebuild::Rebuild;
use stripes::{DueEntry, Stripes};

/// A command in progress.
#[derive(Clone, Copy, Debug)]
struct RaidJob {
    command: Command,
    /// For a write with parity: its first sector that has not joined a page of the stripe cache yet.
    at: u64,
    /// Pieces, or pages of the stripe cache, that have not ended.
    left: u32,
    outcome: CommandOutcome,
    /// The service of what ended last.
    last: Activity,
}

/// An array.
pub(crate) struct Raid {
    facts: Facts,
    layout: Layout,
    reads: MirrorReads,
    members: Vec<Member>,
    /// The next event of each member.
    upcoming: Tournament<Instant>,
    /// Members that have worked since this was last asked, each once.
    worked: Vec<u32>,
    /// How many parts precede those of each member.
    parts_before: Vec<u32>,
    max_sectors: u64,
    jobs: Vec<Option<RaidJob>>,
    free: Vec<u32>,
    stripes: Stripes,
    /// Writes with parity some of whose pages have found no place in the stripe cache yet, oldest first.
    arriving: VecDeque<u32>,
    /// When the stripe cache was last given something.
    given: Instant,
    batches: Vec<Option<PageBatch>>,
    rebuild: Option<Rebuild>,
    endings: Endings<()>,
    in_flight: u32,
    /// Scratch for a command's pieces.
    pieces: Vec<MemberPiece>,
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
        let layout = spec.rebuild.map_or(layout, |rebuild| layout.rebuilding(rebuild.percent));
        let speeds = spec.rebuild.map_or((1, 1), |rebuild| (rebuild.sync_speed_min, rebuild.sync_speed_max));
        let rebuild =
            layout.rebuilding.map(|(member, done)| Rebuild::new(member, done, layout.member_sectors(), speeds));
        let mut upcoming = Tournament::default();
        (0..).zip(&members).for_each(|(index, member)| _ = upcoming.set(index, member.disk.next()));
        let parts_before = members.iter().scan(0, |parts, member| {
            let before = *parts;
            *parts += member.disk.parts();
            Some(before)
        });
        let parts_before = parts_before.collect();
        Raid {
            upcoming,
            worked: Vec::new(),
            parts_before,
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
            stripes: Stripes::new(spec.stripe_cache_size, spec.preread_bypass_threshold),
            arriving: VecDeque::new(),
            given: Instant::ZERO,
            batches: Vec::new(),
            rebuild,
            endings: Endings::with_capacity(spec.depth as usize),
            in_flight: 0,
            pieces: Vec::new(),
        }
    }

    fn job(&mut self, job: u32) -> &mut RaidJob {
        self.jobs[job as usize].as_mut().expect("a command ends once")
    }

    /// Begins a command.
    fn begin(&mut self, now: Instant, job: u32) {
        let command = self.job(job).command;
        self.pieces.clear();
        match command.op {
            Op::Write | Op::WriteZeroes if self.layout.parities() > 0 => {
                self.arriving.push_back(job);
                return self.gather(now, Vec::new());
            }
            Op::Flush => {
                let alive = (0..self.layout.members).filter(|member| !self.layout.has_failed(*member));
                self.pieces.extend(alive.map(|member| MemberPiece { member, start: 0, end: 0 }));
            }
            Op::Discard if self.layout.parities() > 0 => {}
            Op::Read => self.cut_read(&command),
            Op::Write | Op::WriteZeroes | Op::Discard => self.cut_mirrored(&command),
        }
        let sent = self.send(now, Owner::Job(job), command);
        self.job(job).left = sent;
        if sent == 0 {
            self.end(now, job);
        }
    }

    fn cut_read(&mut self, command: &Command) {
        for part in self.layout.parts(command.start.0, end(command)) {
            let first = self.layout.data(part.stripe, part.column);
            let start = part.stripe * self.layout.chunk + part.low;
            let end = start + part.high - part.low;
            if self.layout.parities() > 0 && self.layout.lacks(first, end) {
                parity::rebuild(&self.layout, &part, &mut self.pieces);
                continue;
            }
            let piece = MemberPiece { member: self.mirror(first, start, end), start, end };
            self.members[piece.member as usize].head_to(piece.end);
            self.pieces.push(piece);
        }
        if self.layout.failed > 0 || self.rebuild.is_some() {
            parity::read_once(&mut self.pieces);
        }
    }

    fn cut_mirrored(&mut self, command: &Command) {
        for part in self.layout.parts(command.start.0, end(command)) {
            let first = self.layout.data(part.stripe, part.column);
            let start = part.stripe * self.layout.chunk + part.low;
            let mirrors = first..first + self.layout.mirrors();
            for member in mirrors.filter(|member| !self.layout.has_failed(*member)) {
                let piece = MemberPiece { member, start, end: start + part.high - part.low };
                self.members[member as usize].head_to(piece.end);
                self.pieces.push(piece);
            }
        }
    }

    /// The mirror to read `start..end` from, among those from `first` on.
    fn mirror(&self, first: u32, start: u64, end: u64) -> u32 {
        let mut mirrors = (first..first + self.layout.mirrors()).filter(|member| !self.layout.lacks(*member, end));
        let key = |&index: &u32| {
            let member = &self.members[index as usize];
            let distance = member.distance(start);
            (distance > 0, member.busy(), distance)
        };
        match self.reads {
            MirrorReads::First => mirrors.next().unwrap_or(first),
            MirrorReads::Balanced => mirrors.min_by_key(key).unwrap_or(first),
        }
    }

    /// Sends the pieces, adjacent ones as one command like `model`, none longer than the members accept; returns their
    /// number.
    fn send(&mut self, now: Instant, owner: Owner, model: Command) -> u32 {
        let mut pieces = core::mem::take(&mut self.pieces);
        // A stable sort: consecutive pieces of a member stay in order.
        pieces.sort_by_key(|piece| (piece.member, piece.start));
        let mut sent = 0;
        for run in pieces.chunk_by(|one, next| one.member == next.member && one.end == next.start) {
            let (mut start, end) = (run[0].start, run[run.len() - 1].end);
            loop {
                let sectors = (end - start).min(self.max_sectors);
                let piece = Command { start: Sector(start), sectors: sectors as u32, ..model };
                self.members[run[0].member as usize].send(now, owner, piece);
                start += sectors;
                sent += 1;
                if start == end {
                    break;
                }
            }
            self.look_at(run[0].member);
        }
        self.pieces = pieces;
        sent
    }

    /// A member was given something, or has made progress.
    fn look_at(&mut self, index: u32) {
        let member = &mut self.members[index as usize];
        self.upcoming.set(index as usize, member.disk.next());
        if member.has_news() {
            self.worked.push(index);
        }
    }

    /// A member's command has ended.
    fn ended(&mut self, owner: Owner, finished: &Finished) {
        match owner {
            Owner::Job(job) => self.part_ended(job, finished.at, finished.outcome, finished.service),
            Owner::Batch(batch) => self.batch_ended(batch, finished),
            Owner::Window(place) => self.window_ended(place, finished.at),
        }
    }

    /// A piece of a command, or of its part of the stripe cache, has ended.
    fn part_ended(&mut self, job: u32, at: Instant, outcome: CommandOutcome, service: Activity) {
        let it = self.job(job);
        it.left -= 1;
        it.last = service;
        if outcome != CommandOutcome::Ok {
            it.outcome = outcome;
        }
        // A write that is still arriving has more pages to come.
        if it.left == 0 && it.at >= end(&it.command) {
            self.end(at, job);
        }
    }

    fn end(&mut self, at: Instant, job: u32) {
        let RaidJob { command, outcome, last: service, .. } = *self.job(job);
        self.jobs[job as usize] = None;
        self.free.push(job);
        self.endings.add(Finished { rq: command.rq, at, outcome, service }, ());
    }

    /// The next event inside, and its time.
    fn upcoming(&self) -> Option<(Instant, RaidEvent)> {
        let member = self.upcoming.first().map(|(at, index)| (at, RaidEvent::Member(index as u32)));
        let busy = self.in_flight > 0;
        let rebuild = self.rebuild.as_ref().and_then(|rebuild| Some((rebuild.next(busy)?, RaidEvent::Rebuild)));
        member.into_iter().chain(rebuild).min()
    }

    /// When what is held in the stripe cache is released, unless something ends earlier.
    fn release_at(&self) -> Option<Instant> {
        self.stripes.waits_for_the_moment().then_some(self.given)
    }

    /// Lets the members progress until `now`, in order of time.
    fn advance(&mut self, now: Instant) {
        loop {
            let event = self.upcoming().filter(|(at, _)| *at <= now);
            let release = self.release_at().filter(|&at| at < now);
            match (event, release) {
                (Some((at, _)), Some(release)) if release < at => self.release(release),
                (None, Some(release)) => self.release(release),
                (Some((at, RaidEvent::Member(index))), _) => {
                    while let Some((owner, finished)) = self.members[index as usize].finish(at) {
                        self.ended(owner, &finished);
                    }
                    self.look_at(index);
                }
                (Some((at, RaidEvent::Rebuild)), _) => self.begin_window(at),
                (None, None) => return,
            }
        }
    }
}

/// Internal events; at the same time, those of members come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RaidEvent {
    Member(u32),
    Rebuild,
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
        if outcome != CommandOutcome::Ok {
            return self.endings.add(Finished { rq: command.rq, at: now, outcome, service: Activity::default() }, ());
        }
        let job = self.free.pop().expect("`admit` has counted");
        let by_cache = matches!(command.op, Op::Write | Op::WriteZeroes) && self.layout.parities() > 0;
        let at = if by_cache { command.start.0 } else { end(&command) };
        self.jobs[job as usize] = Some(RaidJob { command, at, left: 0, outcome, last: Activity::default() });
        self.begin(now, job);
    }

    fn next(&self) -> Option<Instant> {
        let inside = self.upcoming().map(|(at, _)| at);
        inside.into_iter().chain(self.release_at()).chain(self.endings.next()).min()
    }

    fn finish(&mut self, now: Instant) -> Option<Finished> {
        self.advance(now);
        // What ends now may be answered with writes that complete held stripes.
        if self.endings.next().is_none_or(|next| next > now) && self.release_at().is_some_and(|at| at <= now) {
            self.release(now);
            self.advance(now);
        }
        let (finished, ()) = self.endings.take(now)?;
        self.in_flight -= 1;
        if self.in_flight == 0
            && let Some(rebuild) = &mut self.rebuild
        {
            rebuild.is_left_alone(finished.at);
        }
        Some(finished)
    }

    fn in_flight(&self) -> u32 {
        self.in_flight
    }

    fn ledger(&self) -> Cow<'_, Ledger> {
        Cow::Owned(Ledger::of_all(self.members.iter().map(|member| &*member.disk)))
    }

    fn parts(&self) -> u32 {
        self.members.iter().map(|member| member.disk.parts()).sum()
    }

    fn watch(&mut self) {
        self.members.iter_mut().for_each(Member::watch);
        (0..self.members.len() as u32).for_each(|index| self.look_at(index));
    }

    fn stints(&mut self, to: &mut Vec<Stint>) {
        self.worked.sort_unstable();
        for index in self.worked.drain(..) {
            self.members[index as usize].stints(self.parts_before[index as usize], to);
        }
    }
}
