//! The elements of measurements: single commands, closed loops, scripts; and the remaining time.

use core::ops::ControlFlow;

use blksched::{Instant, Op, Span};

use super::ProbeError;
use super::target::{ProbeAccess, ProbeClock, Target, TargetFacts};

/// A target, a source of random places, and a callback for progress.
pub struct Session<'t> {
    target: &'t mut dyn Target,
    facts: TargetFacts,
    random: Random,
    limit: Span,
    began: Instant,
    stage: &'static str,
    written: u64,
    /// The number of repetitions, relative to those in five minutes.
    scale: f64,
    /// The same for the held-back loads.
    held_scale: f64,
    /// The part of the limit kept for the held-back loads.
    kept: Span,
    progress: &'t mut dyn FnMut(ProbeProgress) -> ControlFlow<()>,
}

/// The progress of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeProgress {
    /// What is being measured.
    pub stage: &'static str,
    /// Since the beginning.
    pub elapsed: Span,
    /// What it may take in all.
    pub limit: Span,
}

/// One command: when it was submitted, and when it completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timed {
    pub(super) begun: Instant,
    pub(super) ended: Instant,
}

impl Timed {
    /// \[ns\]
    pub(super) fn latency(self) -> f64 {
        self.ended.since(self.begun).as_ns() as f64
    }
}

/// A step of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProbeStep {
    pub(super) op: Op,
    pub(super) start: u64,
    pub(super) sectors: u32,
}

/// How long a rest may delay the answer to an interrupt.
const HEARD: Span = Span::from_ms(50);

impl<'t> Session<'t> {
    pub(super) fn new(
        target: &'t mut dyn Target,
        seed: u64,
        limit: Span,
        progress: &'t mut dyn FnMut(ProbeProgress) -> ControlFlow<()>,
    ) -> Session<'t> {
        let (facts, began) = (target.facts(), target.now());
        let scale = (limit.as_secs_f64() / 300.0).clamp(0.5, 2.0);
        let (random, kept) = (Random::new(seed), Span::ZERO);
        Session { target, facts, random, limit, began, stage: "", written: 0, scale, held_scale: scale, kept, progress }
    }

    pub(super) fn facts(&self) -> &TargetFacts {
        &self.facts
    }

    pub(super) fn limit(&self) -> Span {
        self.limit
    }

    /// How many repetitions to make, if `count` are right for five minutes in all.
    pub(super) fn scaled(&self, count: u64) -> u64 {
        (count as f64 * self.scale) as u64
    }

    /// Uses `other`'s number of repetitions.
    pub(super) fn scaled_as(mut self, other: &Session<'_>) -> Session<'t> {
        (self.scale, self.held_scale) = (other.scale, other.held_scale);
        self
    }

    /// The same for the held-back loads.
    pub(super) fn held(&self, count: u64) -> u64 {
        (count as f64 * self.held_scale) as u64
    }

    /// From now on the time is up `span` before the limit; `scale` is for the held-back loads then.
    pub(super) fn keep(&mut self, span: Span, scale: f64) {
        (self.kept, self.held_scale) = (span, scale);
    }

    /// Makes the kept time available.
    pub(super) fn release(&mut self) {
        self.kept = Span::ZERO;
    }

    /// The time at which this part of the remaining time will be over.
    pub(super) fn part_of_left(&self, part: f64) -> Instant {
        self.target.now() + Span::from_ns((self.left().as_secs_f64() * part * 1e9) as u64)
    }

    /// How much time the present measurement has left.
    pub(super) fn left(&self) -> Span {
        self.limit.saturating_sub(self.kept).saturating_sub(self.elapsed())
    }

    /// Sets what is measured from now on.
    pub(super) fn stage(&mut self, stage: &'static str) -> Result<(), ProbeError> {
        self.stage = stage;
        self.tick()
    }

    /// How much was written so far \[sectors\].
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// The time since the beginning.
    pub(super) fn elapsed(&self) -> Span {
        self.target.now().since(self.began)
    }

    fn tick(&mut self) -> Result<(), ProbeError> {
        let progress = ProbeProgress { stage: self.stage, elapsed: self.elapsed(), limit: self.limit };
        match (self.progress)(progress) {
            ControlFlow::Continue(()) if progress.elapsed > self.limit.saturating_sub(self.kept) => {
                Err(ProbeError::TimeIsUp)
            }
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ProbeError::Interrupted),
        }
    }

    /// A whole number below `bound`.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    /// From 0 to 1.
    pub(super) fn unit(&mut self) -> f64 {
        self.random.unit()
    }

    /// `sector` aligned to a block, so that `sectors` fit after it.
    pub(super) fn aligned(&self, sector: u64, sectors: u32) -> u64 {
        let block = u64::from(self.facts.block_sectors);
        let last = self.facts.sectors.saturating_sub(sectors.into());
        sector.min(last) / block * block
    }

    /// A random place for `sectors`, on a boundary of 4 KiB.
    pub(super) fn place(&mut self, sectors: u32) -> u64 {
        let last = self.facts.sectors.saturating_sub(sectors.into()) / 8;
        self.below(last.max(1)) * 8
    }

    /// The smallest command.
    pub(super) fn block(&self) -> u32 {
        self.facts.block_sectors
    }

    /// Rests for this long, or until the time is up or the user interrupts, which the next command then reports.
    pub(super) fn rest(&mut self, span: Span) {
        let until = self.target.now() + span.min(self.left() + Span::from_us(1));
        if self.facts.clock == ProbeClock::Virtual {
            return self.target.rest(until);
        }
        while self.target.now() < until && !matches!(self.tick(), Err(ProbeError::Interrupted)) {
            self.target.rest(until.min(self.target.now() + HEARD));
        }
    }

    /// One command alone.
    pub(super) fn one(&mut self, op: Op, start: u64, sectors: u32) -> Result<Timed, ProbeError> {
        self.tick()?;
        let start = self.aligned(start, sectors);
        let begun = self.hand_over(0, op, start, sectors)?;
        let ended = self.target.wait().map_err(ProbeError::Failed)?;
        Ok(Timed { begun, ended: ended.at })
    }

    pub(super) fn read(&mut self, start: u64, sectors: u32) -> Result<Timed, ProbeError> {
        self.one(Op::Read, start, sectors)
    }

    fn hand_over(&mut self, slot: u32, op: Op, start: u64, sectors: u32) -> Result<Instant, ProbeError> {
        if op != Op::Read && self.facts.access == ProbeAccess::ReadOnly {
            return Err(ProbeError::Failed("a write without --destroy".to_owned()));
        }
        if op == Op::Write {
            self.written += u64::from(sectors);
        }
        let begun = self.target.now();
        self.target.start(slot, op, start, sectors).map_err(ProbeError::Failed)?;
        Ok(begun)
    }

    /// Keeps `depth` commands in flight until `steps` are used up; the results are in the order of the steps.
    pub(super) fn closed_loop(
        &mut self,
        depth: u32,
        steps: impl IntoIterator<Item = ProbeStep>,
    ) -> Result<Vec<Timed>, ProbeError> {
        self.closed_loop_until(Instant::NEVER, depth, steps)
    }

    /// The same; no command begins after this time.
    pub(super) fn closed_loop_until(
        &mut self,
        until: Instant,
        depth: u32,
        steps: impl IntoIterator<Item = ProbeStep>,
    ) -> Result<Vec<Timed>, ProbeError> {
        let mut steps = steps.into_iter().fuse();
        let depth = depth.clamp(1, self.facts.depth);
        let mut free: Vec<u32> = (0..depth).rev().collect();
        let mut in_flight = vec![0; depth as usize];
        let mut done: Vec<Timed> = Vec::new();
        loop {
            while let Some(&slot) = free.last()
                && self.target.now() < until
                && let Some(ProbeStep { op, start, sectors }) = steps.next()
            {
                free.pop();
                let start = self.aligned(start, sectors);
                let begun = self.hand_over(slot, op, start, sectors)?;
                in_flight[slot as usize] = done.len();
                done.push(Timed { begun, ended: begun });
            }
            if free.len() == depth as usize {
                return Ok(done);
            }
            let ended = self.target.wait().map_err(ProbeError::Failed)?;
            done[in_flight[ended.slot as usize]].ended = ended.at;
            free.push(ended.slot);
            if let Err(stop) = self.tick() {
                while free.len() < depth as usize {
                    free.push(self.target.wait().map_err(ProbeError::Failed)?.slot);
                }
                return Err(stop);
            }
        }
    }

    /// Like a closed loop, with two kinds at once: `first` keeps `first_depth` in flight, `second` the rest of `depth`,
    /// until `first` is used up.
    pub(super) fn two_loops(
        &mut self,
        first: (u32, &mut dyn Iterator<Item = ProbeStep>),
        second: (u32, &mut dyn Iterator<Item = ProbeStep>),
    ) -> Result<[Vec<Timed>; 2], ProbeError> {
        let depth = (first.0 + second.0).min(self.facts.depth);
        let first_depth = first.0.min(depth);
        let mut done: [Vec<Timed>; 2] = Default::default();
        let mut in_flight = vec![usize::MAX; depth as usize];
        let mut left = 0;
        for slot in 0..depth {
            let which = usize::from(slot >= first_depth);
            let source: &mut dyn Iterator<Item = ProbeStep> = if which == 0 { first.1 } else { second.1 };
            left += self.next_of(slot, source, &mut done[which], &mut in_flight)?;
        }
        let mut over = false;
        while left > 0 {
            let ended = self.target.wait().map_err(ProbeError::Failed)?;
            left -= 1;
            let which = usize::from(ended.slot >= first_depth);
            done[which][in_flight[ended.slot as usize]].ended = ended.at;
            if over || self.tick().is_err() {
                over = true;
                continue;
            }
            let source: &mut dyn Iterator<Item = ProbeStep> = if which == 0 { first.1 } else { second.1 };
            let more = self.next_of(ended.slot, source, &mut done[which], &mut in_flight)?;
            over = which == 0 && more == 0;
            left += more;
        }
        self.tick()?;
        Ok(done)
    }

    fn next_of(
        &mut self,
        slot: u32,
        source: &mut dyn Iterator<Item = ProbeStep>,
        done: &mut Vec<Timed>,
        in_flight: &mut [usize],
    ) -> Result<usize, ProbeError> {
        let Some(ProbeStep { op, start, sectors }) = source.next() else { return Ok(0) };
        let start = self.aligned(start, sectors);
        let begun = self.hand_over(slot, op, start, sectors)?;
        in_flight[slot as usize] = done.len();
        done.push(Timed { begun, ended: begun });
        Ok(1)
    }
}

/// xorshift64*: the same places on every platform.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let random = u128::from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d));
        ((random * u128::from(bound)) >> 64) as u64
    }

    pub(super) fn unit(&mut self) -> f64 {
        self.below(1 << 53) as f64 / (1u64 << 53) as f64
    }
}
