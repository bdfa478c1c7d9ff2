//! One process of a job as a state machine: when it submits what, and when it is done.

use core::cell::Cell;
use std::sync::Arc;

use crate::fio::ddir::{Ddir, PerDdir};
use blksched::{Bio, Durability, Hints, Instant, Op, Sector, Span, SubmitterId, Tag};
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

mod block_map;
mod choose;
mod command;
mod files;
mod floor;
mod flow;
mod log;
mod offsets;
mod pace;
mod permutation;
mod plain;
mod profile;
mod read_back;
mod reap;
mod script;
mod seeds;
mod sizes;
mod skew;
mod slept;
mod think;
mod trouble;

use crate::{Delivered, Emission, LoneBurst, Source, Trouble};
pub(crate) use command::PriorityShare;
pub(crate) use files::{FileArea, FileSet, Pieces};
use files::{FileSeeds, FilesInUse};
use floor::Floor;
pub(crate) use floor::RateFloor;
use flow::Flow;
pub(crate) use flow::{FlowPlan, MAX_WEIGHT};
use log::Log;
pub(crate) use log::{LogEntry, LogPlan};
pub(crate) use offsets::{Area, Pattern};
use pace::Pace;
pub(crate) use pace::RateLimit;
pub(super) use permutation::mix;
use profile::Profile;
pub(crate) use profile::{DepthFound, LatencyTarget};
use read_back::ReadBack;
pub(crate) use read_back::{ReadBackOrder, ReadBackPlan};
pub(crate) use reap::Batching;
use reap::{CompleteIo, Reaper};
pub(crate) use script::Script;
pub(crate) use seeds::Seeds;
pub(crate) use sizes::Sizes;
use slept::Slept;
pub(crate) use think::ThinkTime;
use think::Thinking;
use trouble::Ages;
pub(crate) use trouble::EndsProcesses;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// This many submitters before a stonewall have not exited.
    Behind(u32),
    /// It begins at this time.
    Begins(Instant),
    Running,
    Finished,
}

/// A system call that returns when its I/O is done, whatever the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockingCall {
    Flush,
    Trim,
}

/// The state of a process.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    script: Arc<Script>,
    phase: Phase,
    startdelay: Span,
    files: FilesInUse,
    /// How many passes it has made, where passes end early.
    passes: u64,
    directions: Pcg64Mcg,
    priorities: Pcg64Mcg,
    pace: PerDdir<Pace>,
    /// When its `runtime` ends.
    end: Instant,
    /// It submits nothing more: time is over, or an I/O failed.
    stopped: bool,
    /// It sleeps for a request slot.
    asleep: bool,
    /// It does nothing before this time: it thinks, or was just told of something.
    ready: Instant,
    reaper: Reaper,
    slept: Slept,
    /// Calls that have returned but whose end is not yet reported.
    returned: Vec<Tag>,
    /// I/Os left in the burst being submitted.
    burst: u32,
    /// The call in which it sleeps.
    call: Option<(BlockingCall, Tag)>,
    /// Trimmed and about to be written: sector and length.
    trimmed: Option<(Sector, u32)>,
    writes_since_flush: u64,
    flushed_at_end: bool,
    /// One of two flushes at the end of a pass has been made.
    flushed_between: bool,
    read_back: Option<ReadBack>,
    trouble: Trouble,
    ages: Ages,
    floor: Option<Floor>,
    profile: Option<Profile>,
    flow: Option<Flow>,
    log: Option<Log>,
    /// When results begin to count.
    counts: Instant,
    next_tag: u64,
    submitted_ios: u64,
    submitted_bytes: u64,
    thinking: Thinking,
    /// The cached time of its next call, if it was computed; valid until something happens.
    upcoming: Cell<Option<Option<Instant>>>,
    /// Whether it takes the short path ([`plain`]).
    plain: bool,
}

impl Process {
    /// A process of a run with this seed; it begins `later` than its script says.
    pub fn new(script: Arc<Script>, later: Span, seed: u64) -> Process {
        let purpose = |purpose| Pcg64Mcg::seed_from_u64(script.seeds.of(seed, script.submitter, purpose));
        let mut others = purpose(seeds::Purpose::Others);
        let (from, to) = (script.startdelay.0.as_ns(), script.startdelay.1.as_ns());
        let startdelay = later + Span::from_ns(others.random_range(from..=to));
        let begins = Phase::Begins(super::RUN_BEGINS + startdelay);
        let of = |purpose| script.seeds.of(seed, script.submitter, purpose);
        let file_seeds = FileSeeds {
            offsets: of(seeds::Purpose::Offsets),
            lengths: of(seeds::Purpose::Lengths),
            service: of(seeds::Purpose::Files),
        };
        let mut arrivals = purpose(seeds::Purpose::Arrivals);
        Process {
            phase: match script.awaited() {
                0 => begins,
                awaited => Phase::Behind(awaited),
            },
            startdelay,
            files: FilesInUse::new(script.files.clone(), script.pattern.clone(), file_seeds),
            passes: 0,
            directions: others,
            priorities: purpose(seeds::Purpose::Priorities),
            pace: PerDdir::from_fn(|dir| Pace::new(script.limits[dir], script.rate_process, arrivals.next_u64())),
            end: Instant::NEVER,
            stopped: false,
            asleep: false,
            ready: Instant::ZERO,
            reaper: Reaper::new(script.batch),
            slept: Slept::default(),
            returned: Vec::new(),
            burst: 0,
            call: None,
            trimmed: None,
            writes_since_flush: 0,
            flushed_at_end: false,
            flushed_between: false,
            read_back: script.read_back.map(ReadBack::new),
            trouble: Trouble::default(),
            ages: Ages::default(),
            floor: script.floor.map(Floor::new),
            profile: script.profile.map(Profile::new),
            flow: script.flow.clone().map(|flow| Flow::new(flow, script.submitter)),
            log: script.log.clone().map(Log::new),
            counts: Instant::NEVER,
            next_tag: 0,
            submitted_ios: 0,
            submitted_bytes: 0,
            thinking: Thinking::new(script.think),
            upcoming: Cell::new(None),
            plain: plain::is_plain(&script),
            script,
        }
    }

    fn begin(&mut self, now: Instant, out: &mut Vec<Emission>) {
        self.phase = Phase::Running;
        self.counts = now + self.script.ramp;
        self.end = self.counts + self.script.runtime;
        self.ready = now;
        self.thinking.begin(now);
        self.floor.iter_mut().for_each(|floor| floor.begin(now));
        if let Some(profile) = &mut self.profile {
            profile.begin(now);
            self.reaper.set_depth(1);
        }
        self.flow.iter_mut().for_each(|flow| flow.begin(out));
        self.log.iter_mut().for_each(|log| log.begin(now));
        for ddir in Ddir::ALL {
            self.pace[ddir].begin(now);
        }
    }

    fn submits_no_more(&self) -> bool {
        if let Some(back) = &self.read_back
            && (back.is_reading() || back.is_through(self.submitted_bytes))
        {
            return self.stopped || back.is_through(self.submitted_bytes);
        }
        let is_done = self.submitted_ios >= self.script.ios || self.submitted_bytes >= self.script.bytes;
        self.stopped || is_done || self.log.as_ref().is_some_and(Log::is_over)
    }

    /// Whether it is reading back what it has written.
    fn reads_back(&self) -> bool {
        self.read_back.as_ref().is_some_and(ReadBack::is_reading)
    }

    /// Turns to reading back what was written, or to another pass; false if there is neither.
    fn turns(&mut self) -> bool {
        let may = !self.flushes_at_end() && !self.stopped;
        may && self.read_back.as_mut().is_some_and(|back| back.turn(self.submitted_bytes))
    }

    /// Whether it has to think before it continues; reading back needs no think time.
    fn thinks(&self) -> bool {
        self.thinking.is_due() && !self.reads_back()
    }

    fn wants_flush(&self) -> bool {
        let by_option = self.script.flush_after.is_some_and(|writes| self.writes_since_flush >= writes);
        (by_option && !self.reads_back()) || self.log.as_ref().is_some_and(Log::wants_flush)
    }

    /// Whether everything is done except the flush at the end.
    fn flushes_at_end(&self) -> bool {
        self.script.flush_at_end && !self.flushed_at_end && self.trouble.gave_up.is_none()
    }

    /// Whether it waits for completions.
    fn waits(&self) -> bool {
        let flows = self.flow.as_ref().is_none_or(|flow| flow.may_go_at().is_some());
        self.thinks() || self.submits_no_more() || !flows
    }

    /// How many completions it takes now.
    fn takes(&self) -> usize {
        let busy = self.asleep || self.call.is_some() || self.burst > 0;
        if busy { 0 } else { self.reaper.takes(self.waits()) }
    }

    /// When the next I/O may go, unless that depends on a completion.
    fn may_submit_at(&self) -> Option<Instant> {
        if self.asleep || self.thinks() || self.call.is_some() || !self.reaper.has_room() {
            return None;
        }
        if self.reads_back() {
            return Some(self.ready);
        }
        let ready = self.ready.max(self.log.as_ref().map_or(Instant::ZERO, Log::due));
        if self.wants_flush() {
            return Some(ready);
        }
        let due = self.choices().iter().map(|ddir| self.pace[*ddir].due()).min();
        let flow = self.flow.as_ref().map_or(Some(Instant::ZERO), Flow::may_go_at)?;
        Some(due.map_or(ready, |due| due.max(ready)).max(flow))
    }

    fn tag(&mut self) -> u64 {
        self.next_tag += 1;
        self.next_tag - 1
    }

    fn submit(&mut self, now: Instant) -> Option<Bio> {
        let Some((dir, (start, sectors))) = self.choose(now) else {
            self.burst = 0;
            match &mut self.read_back {
                Some(back) => back.cut(),
                None => self.stopped = true,
            }
            return None;
        };
        let bytes = u64::from(sectors) * 512;
        let priority =
            command::priority(&self.script.commands, (dir, sectors), self.script.priority, &mut self.priorities);
        self.reaper.submitted();
        self.slept.submitted(self.next_tag);
        self.submitted_ios += 1;
        if !self.reads_back() {
            self.counted(now, dir, bytes);
        }
        let group = self.script.group;
        let bio = Bio { priority, group, ..Bio::read(self.tag(), self.script.submitter, start, sectors) };
        self.ages.submitted(&self.script, bio.tag, (now, dir, bytes));
        match dir {
            Ddir::Read => return Some(bio),
            Ddir::Write => {
                self.writes_since_flush += 1;
                self.read_back.iter_mut().for_each(|back| back.wrote((start, sectors)));
            }
            Ddir::Trim => self.call = Some((BlockingCall::Trim, bio.tag)),
        }
        let fua = dir == Ddir::Write && self.script.written_as == Op::Write && self.script.durable.is_required();
        let op = if dir == Ddir::Write { self.script.written_as } else { dir.op() };
        let hints = Hints { req_sync: op == Op::Write, ..bio.hints };
        Some(Bio { op, hints, durability: Durability { fua, ..Durability::default() }, ..bio })
    }

    /// An I/O that the job does in its own right.
    fn counted(&mut self, now: Instant, dir: Ddir, bytes: u64) {
        if now >= self.counts {
            // Those before belonged to the ramp (tried).
            (self.submitted_ios, self.counts) = (1, Instant::NEVER);
        }
        self.submitted_bytes = self.submitted_bytes.saturating_add(bytes);
        self.thinking.submitted(now);
        self.pace[dir].submitted(bytes);
    }

    /// Begins a flush, during which the process sleeps; asynchronous I/O goes on meanwhile.
    fn flush(&mut self) -> Bio {
        // If a pass ends with a flush, there is another one before the next pass (tried).
        let between = self.submitted_bytes > 0 && self.submitted_bytes.is_multiple_of(self.script.pass);
        self.flushed_between = between && !self.flushed_between;
        if !self.flushed_between {
            self.writes_since_flush = 0;
        }
        let tag = self.tag();
        self.call = Some((BlockingCall::Flush, Tag(tag)));
        let (priority, group) = (self.script.priority, self.script.group);
        Bio { priority, group, ..Bio::flush(tag, self.script.submitter) }
    }

    fn came_back(&mut self, now: Instant, tag: Tag, failed: bool) {
        self.stopped |= now >= self.end;
        self.ready = self.ready.max(now);
        assert!(tag.0 < self.next_tag, "{tag:?} was never submitted");
        let Some((call, _)) = self.call.take_if(|(_, awaited)| *awaited == tag) else {
            return self.reaper.completed(CompleteIo { tag, failed });
        };
        self.judge(now, tag, failed);
        self.returned.push(tag);
        if call == BlockingCall::Trim {
            self.reaper.returned();
            self.thinking.taken(now);
        }
    }

    /// Takes completions, and reports them.
    fn take(&mut self, now: Instant, out: &mut Vec<Emission>) {
        let over = |tag| Emission::Taken { tag, accepted: None };
        out.extend(self.returned.drain(..).map(over));
        while self.takes() > 0 {
            for _ in 0..self.takes() {
                let Some(CompleteIo { tag, failed }) = self.reaper.take() else { break };
                out.push(Emission::Taken { tag, accepted: self.slept.accepted(tag) });
                self.judge(now, tag, failed);
                if !self.reads_back() {
                    self.thinking.taken(now);
                }
            }
            self.reaper.settle();
            if self.reaper.has_room() && !self.waits() {
                break;
            }
        }
        if self.thinks() && self.reaper.is_empty() && !self.stopped {
            self.think(now);
        }
    }

    /// Before it sleeps for its rate it takes everything in flight.
    fn look_ahead(&mut self, now: Instant) {
        let rated = !self.reads_back()
            && self.choices().iter().map(|ddir| self.pace[*ddir].due()).min().is_some_and(|due| due > now);
        if rated && !self.asleep && self.burst == 0 && self.call.is_none() && !self.wants_flush() {
            self.reaper.empty();
        }
    }

    fn think(&mut self, now: Instant) {
        let (awake, moved) = self.thinking.think(now);
        self.ready = awake;
        Ddir::ALL.into_iter().for_each(|ddir| self.pace[ddir].moved(moved));
    }

    /// Nothing is left but to flush or to exit.
    fn end(&mut self, out: &mut Vec<Emission>) {
        if self.flushes_at_end() {
            self.flushed_at_end = true;
            out.extend([Emission::Submit(self.flush()), Emission::Waits]);
        } else {
            self.phase = Phase::Finished;
            self.flow.iter_mut().for_each(|flow| flow.leave(out));
            self.script.ends.tell(self.script.submitter, self.trouble, out);
            out.push(Emission::Exit);
        }
    }

    fn may_submit(&self, now: Instant) -> bool {
        !self.submits_no_more() && self.may_submit_at().is_some_and(|at| at <= now)
    }

    /// Submits one I/O of a burst, or ends the burst.
    fn go_on(&mut self, now: Instant, out: &mut Vec<Emission>) {
        let before = out.len();
        if self.may_submit(now) {
            if self.wants_flush() {
                if let Some(log) = self.log.as_mut().filter(|log| log.wants_flush()) {
                    log.submit(now);
                }
                self.burst = 0;
                out.push(Emission::Submit(self.flush()));
            } else {
                if self.burst == 0 {
                    self.slept.begin();
                    self.burst = self.script.batch.submit;
                }
                self.burst -= 1;
                if let Some(bio) = self.submit(now) {
                    out.push(Emission::Submit(bio));
                    self.flow.iter_mut().for_each(|flow| flow.submitted(now, out));
                }
                if self.thinking.is_due_at_once() {
                    self.think(now);
                }
            }
        }
        if out.len() == before && self.may_end(now) && !self.turns() {
            // Its last pass over its files is over.
            return self.end(out);
        }
        let ends = self.burst == 0 || self.wants_flush() || !self.may_submit(now);
        if ends && (out.len() > before || self.burst > 0) {
            self.burst = 0;
            self.slept.over(now);
            out.push(Emission::Waits);
            if self.reaper.has_room() && !self.reads_back() {
                self.thinking.look(now);
            }
        }
    }

    /// What it does after it has taken its completions.
    fn emit_rest(&mut self, now: Instant, out: &mut Vec<Emission>) {
        if self.may_end(now) && !self.turns() {
            self.end(out);
        } else {
            self.go_on(now, out);
        }
        self.look_ahead(now);
    }

    /// Whether it is over, and no think time is left.
    fn may_end(&self, now: Instant) -> bool {
        self.is_over() && (self.stopped || self.ready <= now)
    }

    fn is_over(&self) -> bool {
        let nothing_out = self.reaper.is_empty() && self.returned.is_empty() && self.call.is_none();
        let thinks = self.thinks() && !self.stopped;
        self.submits_no_more() && nothing_out && self.burst == 0 && !self.asleep && !thinks
    }
}

impl Process {
    /// Computes the time of its next call from its state.
    fn work_out_next(&self) -> Option<Instant> {
        if self.is_underway() {
            return self.next_plainly();
        }
        match self.phase {
            Phase::Behind(_) | Phase::Finished => None,
            Phase::Begins(at) => Some(at),
            Phase::Running if self.asleep => None,
            Phase::Running if self.burst > 0 || !self.returned.is_empty() || self.takes() > 0 => Some(self.ready),
            Phase::Running if self.submits_no_more() => self.is_over().then_some(self.ready.min(self.end)),
            Phase::Running if self.call.is_some() => None,
            Phase::Running => self.may_submit_at().map(|at| at.min(self.end)),
        }
    }
}

impl Source for Process {
    fn next(&self) -> Option<Instant> {
        let next = self.upcoming.get().unwrap_or_else(|| self.work_out_next());
        self.upcoming.set(Some(next));
        next
    }

    fn emit(&mut self, now: Instant, out: &mut Vec<Emission>) {
        if self.phase == Phase::Finished || self.next().is_none_or(|next| now < next) {
            return;
        }
        self.upcoming.set(None);
        if self.goes_plainly(now) {
            return self.emit_plainly(now, out);
        }
        if matches!(self.phase, Phase::Begins(_)) {
            self.begin(now, out);
        }
        self.flow.iter_mut().for_each(|flow| flow.look(now));
        self.stopped |= now >= self.end;
        if self.burst == 0 {
            self.take(now, out);
        }
        self.emit_rest(now, out);
    }

    fn turn(&mut self, now: Instant, out: &mut Vec<Emission>) -> Option<LoneBurst> {
        if !self.goes_plainly(now) || now < self.ready {
            self.emit(now, out);
            return None;
        }
        self.upcoming.set(None);
        self.turn_plainly(now, out)
    }

    fn done(&mut self, now: Instant, tag: Tag, failed: bool) -> Option<Instant> {
        self.upcoming.set(None);
        if self.goes_plainly(now) {
            return self.done_plainly(now, tag, failed);
        }
        self.came_back(now, tag, failed);
        self.work_out_next()
    }

    fn delivered(&mut self, now: Instant, what: Delivered) {
        self.upcoming.set(None);
        match what {
            Delivered::Done { tag, failed } => self.came_back(now, tag, failed),
            Delivered::Awake => {
                self.asleep = false;
                self.ready = self.ready.max(now);
                if self.burst == 0 {
                    self.slept.over(now);
                }
                self.look_ahead(now);
            }
            Delivered::Told { word, .. } => self.told(now, word),
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
        self.upcoming.set(None);
        self.asleep = true;
        self.slept.sleeps();
    }

    fn takes_completions(&self) -> bool {
        true
    }

    fn sleeps_for_slots(&self) -> bool {
        !self.script.offloads
    }

    fn is_finished(&self) -> bool {
        self.phase == Phase::Finished
    }

    fn awaits_exits(&self) -> bool {
        matches!(self.phase, Phase::Behind(_))
    }

    fn submitter(&self) -> SubmitterId {
        self.script.submitter
    }

    fn trouble(&self) -> Trouble {
        self.trouble
    }
}
