//! One process of a job as a state machine: when it submits what, and when it is done.

use blksched::{Bio, Dir, Instant, Op, PerDir, Priority, Sector, Span, SubmitterId, Tag};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

mod offsets;
mod pace;
mod permutation;
mod seeds;

use super::settings::Order;
use crate::{Delivered, Emission, Source};
use offsets::Offsets;
pub(crate) use pace::Limit;
use pace::Pace;
pub(crate) use seeds::Seeds;

/// What a process is to do: a job's settings with everything resolved.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub submitter: SubmitterId,
    /// Submitters 0 to this, exclusively, must have exited before it begins.
    pub behind: u32,
    pub priority: Priority,
    pub order: Order,
    pub norandommap: bool,
    /// 0: writes only, 100: reads only \[%\].
    pub reads_percent: u32,
    pub start: Sector,
    pub blocks: PerDir<u64>,
    pub block_sectors: PerDir<u32>,
    /// To transfer in all; `u64::MAX` if only time ends it.
    pub bytes: u64,
    pub ios: u64,
    pub runtime: Span,
    pub startdelay: (Span, Span),
    pub depth: u32,
    pub thinktime: Span,
    pub thinktime_blocks: u64,
    pub limits: PerDir<Limit>,
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
    pace: PerDir<Pace>,
    /// When `runtime` is over.
    end: Instant,
    /// It submits nothing more: time is over, or an I/O failed.
    stopped: bool,
    /// It sleeps for a request slot.
    asleep: bool,
    /// Nothing before then: it thinks, or has just heard of something.
    ready: Instant,
    in_flight: u32,
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
        Process {
            phase: if script.behind > 0 { Phase::Behind(script.behind) } else { begins },
            startdelay,
            offsets: Offsets::new(&script, purpose(seeds::Purpose::Offsets)),
            directions: others,
            pace: PerDir::from_fn(|dir| Pace::new(script.limits[dir])),
            end: Instant::NEVER,
            stopped: false,
            asleep: false,
            ready: Instant::ZERO,
            in_flight: 0,
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

    /// When the next I/O may go, if that does not hang on a completion.
    fn may_submit_at(&self) -> Option<Instant> {
        let thinks = !self.script.thinktime.is_zero() && self.since_thinking >= self.script.thinktime_blocks;
        if self.asleep || thinks || self.in_flight >= self.script.depth {
            return None;
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

    fn submit(&mut self, now: Instant) -> Bio {
        let dir = self.direction(now);
        let sectors = self.script.block_sectors[dir];
        let start = self.offsets.next(dir);
        let bytes = u64::from(sectors) * 512;
        let bio = Bio::read(self.submitted_ios, self.script.submitter, start, sectors);
        let op = match dir {
            Dir::Read => Op::Read,
            Dir::Write => Op::Write,
        };
        self.in_flight += 1;
        self.submitted_ios += 1;
        self.submitted_bytes = self.submitted_bytes.saturating_add(bytes);
        self.since_thinking += 1;
        self.pace[dir].submitted(bytes);
        Bio { op, priority: self.script.priority, ..bio }
    }

    fn done(&mut self, now: Instant, tag: Tag, failed: bool) {
        assert!(self.in_flight > 0 && tag.0 < self.submitted_ios, "{tag:?} was never submitted, or twice completed");
        self.in_flight -= 1;
        self.stopped |= failed || now >= self.end;
        self.ready = self.ready.max(now);
        let thinks = !self.script.thinktime.is_zero() && self.since_thinking >= self.script.thinktime_blocks;
        if thinks && self.in_flight == 0 && !self.submits_no_more() {
            self.since_thinking = 0;
            self.ready = now + self.script.thinktime;
        }
    }
}

impl Source for Process {
    fn next(&self) -> Option<Instant> {
        match self.phase {
            Phase::Behind(_) | Phase::Finished => None,
            Phase::Begins(at) => Some(at),
            Phase::Running if self.submits_no_more() => (self.in_flight == 0).then_some(self.ready.min(self.end)),
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
        if self.submits_no_more() {
            if self.in_flight == 0 {
                self.phase = Phase::Finished;
                out.push(Emission::Exit);
            }
        } else if self.may_submit_at().is_some_and(|at| at <= now) {
            out.push(Emission::Submit(self.submit(now)));
            out.push(Emission::Waits);
        }
    }

    fn delivered(&mut self, now: Instant, what: Delivered) {
        match what {
            Delivered::Done { tag, failed } => self.done(now, tag, failed),
            Delivered::Awake => {
                self.asleep = false;
                self.ready = self.ready.max(now);
            }
            Delivered::Exited(other) => {
                if let Phase::Behind(left) = self.phase
                    && other.0 < self.script.behind
                {
                    let begins = (super::RUN_BEGINS + self.startdelay).max(now);
                    self.phase = if left > 1 { Phase::Behind(left - 1) } else { Phase::Begins(begins) };
                }
            }
        }
    }

    fn asleep(&mut self) {
        self.asleep = true;
    }

    fn is_finished(&self) -> bool {
        self.phase == Phase::Finished
    }

    fn submitter(&self) -> SubmitterId {
        self.script.submitter
    }
}
