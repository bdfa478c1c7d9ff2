//! One process of a job as a state machine: when it submits what, and when it is done.

use core::ops::Range;

use blksched::{Bio, Dir, Durability, Instant, Op, PerDir, Priority, Span, SubmitterId, Tag};
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

mod command;
mod offsets;
mod pace;
mod permutation;
mod reap;
mod seeds;
mod sizes;
mod skew;

use super::settings::{Durable, RateProcess};
use crate::{Delivered, Emission, Source};
pub(crate) use command::Command;
use offsets::Offsets;
pub(crate) use offsets::{Area, Pattern};
pub(crate) use pace::Limit;
use pace::Pace;
pub(crate) use reap::Batch;
use reap::Reaper;
pub(crate) use seeds::Seeds;
pub(crate) use sizes::Sizes;

/// What a process is to do: a job's settings with everything resolved.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub submitter: SubmitterId,
    /// Submitters 0 to this, exclusively, must have exited before it begins.
    pub behind: u32,
    /// And so must these.
    pub wait_for: Range<u32>,
    pub priority: Priority,
    pub commands: PerDir<Vec<Command>>,
    pub pattern: Pattern,
    pub area: Area,
    /// 0: writes only, 100: reads only \[%\].
    pub reads_percent: u32,
    /// To transfer in all; `u64::MAX` if only time ends it.
    pub bytes: u64,
    pub ios: u64,
    pub runtime: Span,
    pub startdelay: (Span, Span),
    pub batch: Batch,
    pub durable: Durable,
    /// A flush after so many writes.
    pub flush_after: Option<u64>,
    /// And one at the end.
    pub flush_at_end: bool,
    pub thinktime: Span,
    pub thinktime_blocks: u64,
    pub limits: PerDir<Limit>,
    pub rate_process: RateProcess,
    pub seeds: Seeds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// This many submitters before a stonewall have not exited.
    Behind(u32),
    /// It begins then.
    Begins(Instant),
    Running,
    Finished,
}

/// Its state.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    script: Script,
    phase: Phase,
    startdelay: Span,
    offsets: Offsets,
    directions: Pcg64Mcg,
    priorities: Pcg64Mcg,
    pace: PerDir<Pace>,
    /// When `runtime` is over.
    end: Instant,
    /// It submits nothing more: time is over, or an I/O failed.
    stopped: bool,
    /// It sleeps for a request slot.
    asleep: bool,
    /// Nothing before then: it thinks, or has just heard of something.
    ready: Instant,
    reaper: Reaper,
    /// I/Os left of the burst being submitted.
    burst: u32,
    /// The flush that it waits for.
    flush: Option<Tag>,
    writes_since_flush: u64,
    flushed_at_end: bool,
    failed: bool,
    next_tag: u64,
    submitted_ios: u64,
    submitted_bytes: u64,
    since_thinking: u64,
}

impl Process {
    pub fn new(script: Script, seed: u64) -> Process {
        let purpose = |purpose| Pcg64Mcg::seed_from_u64(script.seeds.of(seed, script.submitter, purpose));
        let mut others = purpose(seeds::Purpose::Others);
        let (from, to) = (script.startdelay.0.as_ns(), script.startdelay.1.as_ns());
        let startdelay = Span::from_ns(others.random_range(from..=to));
        let begins = Phase::Begins(super::RUN_BEGINS + startdelay);
        let of_offsets = purpose(seeds::Purpose::Offsets);
        let mut arrivals = purpose(seeds::Purpose::Arrivals);
        Process {
            phase: match script.awaited() {
                0 => begins,
                awaited => Phase::Behind(awaited),
            },
            startdelay,
            offsets: Offsets::new(&script.pattern, script.area, of_offsets, purpose(seeds::Purpose::Lengths)),
            directions: others,
            priorities: purpose(seeds::Purpose::Priorities),
            pace: PerDir::from_fn(|dir| Pace::new(script.limits[dir], script.rate_process, arrivals.next_u64())),
            end: Instant::NEVER,
            stopped: false,
            asleep: false,
            ready: Instant::ZERO,
            reaper: Reaper::new(script.batch),
            burst: 0,
            flush: None,
            writes_since_flush: 0,
            flushed_at_end: false,
            failed: false,
            next_tag: 0,
            submitted_ios: 0,
            submitted_bytes: 0,
            since_thinking: 0,
            script,
        }
    }

    fn begin(&mut self, now: Instant) {
        self.phase = Phase::Running;
        self.end = now + self.script.runtime;
        self.ready = now;
        for dir in Dir::BOTH {
            self.pace[dir].begin(now);
        }
    }

    fn submits_no_more(&self) -> bool {
        self.stopped || self.submitted_ios >= self.script.ios || self.submitted_bytes >= self.script.bytes
    }

    fn uses(&self, dir: Dir) -> bool {
        match dir {
            Dir::Read => self.script.reads_percent > 0,
            Dir::Write => self.script.reads_percent < 100,
        }
    }

    fn wants_flush(&self) -> bool {
        self.script.flush_after.is_some_and(|writes| self.writes_since_flush >= writes)
    }

    /// All is done but the flush at the end.
    fn flushes_at_end(&self) -> bool {
        self.script.flush_at_end && !self.flushed_at_end && !self.failed
    }

    /// When the next I/O may go, if that does not hang on a completion.
    fn may_submit_at(&self) -> Option<Instant> {
        let thinks = !self.script.thinktime.is_zero() && self.since_thinking >= self.script.thinktime_blocks;
        if self.asleep || thinks || self.flush.is_some() || !self.reaper.has_room() {
            return None;
        }
        if self.wants_flush() {
            return Some(self.ready);
        }
        let due = Dir::BOTH.into_iter().filter(|&dir| self.uses(dir)).map(|dir| self.pace[dir].due()).min();
        Some(due.map_or(self.ready, |due| due.max(self.ready)))
    }

    /// Drawn by the mix; but a direction whose rate says wait lets the other go first.
    fn direction(&mut self, now: Instant) -> Dir {
        let drawn = match self.script.reads_percent {
            0 => return Dir::Write,
            100 => return Dir::Read,
            percent if self.directions.random_range(0..100) < percent => Dir::Read,
            _ => Dir::Write,
        };
        if self.pace[drawn].due() > now { drawn.other() } else { drawn }
    }

    fn tag(&mut self) -> u64 {
        self.next_tag += 1;
        self.next_tag - 1
    }

    fn submit(&mut self, now: Instant) -> Bio {
        let dir = self.direction(now);
        let (start, sectors) = self.offsets.next(dir);
        let bytes = u64::from(sectors) * 512;
        let priority =
            command::priority(&self.script.commands, (dir, sectors), self.script.priority, &mut self.priorities);
        self.reaper.submitted();
        self.submitted_ios += 1;
        self.submitted_bytes = self.submitted_bytes.saturating_add(bytes);
        self.since_thinking += 1;
        self.pace[dir].submitted(bytes);
        let bio = Bio { priority, ..Bio::read(self.tag(), self.script.submitter, start, sectors) };
        if dir == Dir::Read {
            return bio;
        }
        self.writes_since_flush += 1;
        let durability = Durability { fua: self.script.durable == Durable::Yes, ..Durability::default() };
        Bio { op: Op::Write, durability, ..bio }
    }

    /// The process sleeps until it is done; asynchronous I/O goes on meanwhile.
    fn flush(&mut self) -> Bio {
        self.writes_since_flush = 0;
        let tag = self.tag();
        self.flush = Some(Tag(tag));
        Bio { priority: self.script.priority, ..Bio::flush(tag, self.script.submitter) }
    }

    fn done(&mut self, now: Instant, tag: Tag, failed: bool) {
        self.failed |= failed;
        self.stopped |= failed || now >= self.end;
        self.ready = self.ready.max(now);
        if self.flush == Some(tag) {
            self.flush = None;
            return;
        }
        let known = tag.0 < self.next_tag && !self.reaper.is_idle();
        assert!(known, "{tag:?} was never submitted, or twice completed");
        self.reaper.completed();
        let thinks = !self.script.thinktime.is_zero() && self.since_thinking >= self.script.thinktime_blocks;
        if thinks && self.reaper.is_idle() && !self.submits_no_more() {
            self.since_thinking = 0;
            self.ready = now + self.script.thinktime;
        }
    }

    /// Nothing is left but to flush, or to exit.
    fn end(&mut self, out: &mut Vec<Emission>) {
        if self.flushes_at_end() {
            self.flushed_at_end = true;
            out.extend([Emission::Submit(self.flush()), Emission::Waits]);
        } else {
            self.phase = Phase::Finished;
            out.push(Emission::Exit);
        }
    }

    fn may_submit(&self, now: Instant) -> bool {
        !self.submits_no_more() && self.may_submit_at().is_some_and(|at| at <= now)
    }

    /// One I/O of a burst, or the end of the burst.
    fn go_on(&mut self, now: Instant, out: &mut Vec<Emission>) {
        let before = out.len();
        if self.may_submit(now) {
            self.reaper.reap();
            if self.wants_flush() {
                self.burst = 0;
                out.push(Emission::Submit(self.flush()));
            } else {
                self.burst = if self.burst == 0 { self.script.batch.submit } else { self.burst } - 1;
                out.push(Emission::Submit(self.submit(now)));
            }
        }
        let ends = self.burst == 0 || self.wants_flush() || !self.may_submit(now) || !self.reaper.is_filling();
        if ends && (out.len() > before || self.burst > 0) {
            self.burst = 0;
            out.push(Emission::Waits);
        }
    }

    fn is_over(&self) -> bool {
        self.submits_no_more() && self.reaper.is_idle() && self.flush.is_none() && self.burst == 0
    }
}

impl Script {
    /// How many submitters must have exited before it begins.
    fn awaited(&self) -> u32 {
        let others = self.wait_for.end.saturating_sub(self.wait_for.start.max(self.behind));
        self.behind + others
    }

    fn awaits(&self, other: SubmitterId) -> bool {
        other.0 < self.behind || self.wait_for.contains(&other.0)
    }
}

impl Source for Process {
    fn next(&self) -> Option<Instant> {
        match self.phase {
            Phase::Behind(_) | Phase::Finished => None,
            Phase::Begins(at) => Some(at),
            Phase::Running if self.burst > 0 => Some(self.ready),
            Phase::Running if self.submits_no_more() => self.is_over().then_some(self.ready.min(self.end)),
            Phase::Running if self.flush.is_some() => None,
            Phase::Running => self.may_submit_at().map(|at| at.min(self.end)),
        }
    }

    fn emit(&mut self, now: Instant, out: &mut Vec<Emission>) {
        if self.phase == Phase::Finished || self.next().is_none_or(|next| now < next) {
            return;
        }
        if matches!(self.phase, Phase::Begins(_)) {
            self.begin(now);
        }
        self.stopped |= now >= self.end;
        if self.is_over() {
            self.end(out);
        } else {
            self.go_on(now, out);
        }
    }

    fn delivered(&mut self, now: Instant, what: Delivered) {
        match what {
            Delivered::Done { tag, failed } => self.done(now, tag, failed),
            Delivered::Awake => {
                self.asleep = false;
                self.ready = self.ready.max(now);
            }
            Delivered::Told { .. } => {}
            Delivered::Exited(other) => {
                if let Phase::Behind(left) = self.phase
                    && self.script.awaits(other)
                {
                    let begins = (super::RUN_BEGINS + self.startdelay).max(now);
                    self.phase = if left > 1 { Phase::Behind(left - 1) } else { Phase::Begins(begins) };
                }
            }
        }
    }

    fn asleep(&mut self) {
        self.asleep = true;
        self.burst = 0;
    }

    fn is_finished(&self) -> bool {
        self.phase == Phase::Finished
    }

    fn submitter(&self) -> SubmitterId {
        self.script.submitter
    }
}
