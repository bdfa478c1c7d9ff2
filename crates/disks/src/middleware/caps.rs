//! **What for**: a volume with limits: a cloud volume, or one that shares a disk with others.
//!
//! **Rule**: two buckets, of operations and of bytes. A command takes its operations (one for every `unit` of data) and
//! its bytes out of them, in order of arrival, and goes to the inner disk when both have enough; until then it waits.
//! Buckets fill at their rate up to `credits`, and are emptied no faster than `burst`. Flushes and discards pass
//! freely.
//!
//! **Origin**: EBS describes its volumes this way: operations per second counted in units, bytes per second, and for
//! gp2 credits that are spent at the burst rate.

use std::collections::VecDeque;

use blksched::{Command, Instant, Op};

use crate::{CapSpec, CapsSpec, Disk, Facts, Finished};

/// A disk whose commands are admitted by rate.
pub(crate) struct Caps {
    inner: Box<dyn Disk>,
    unit_sectors: u64,
    operations: Bucket,
    bytes: Bucket,
    /// In order of arrival, with the time when each may go.
    waiting: VecDeque<(Instant, Command)>,
}

impl Caps {
    pub(crate) fn new(inner: Box<dyn Disk>, spec: &CapsSpec) -> Caps {
        let (operations, bytes) = (Bucket::new(&spec.operations), Bucket::new(&spec.bytes));
        Caps { inner, unit_sectors: spec.unit_sectors, operations, bytes, waiting: VecDeque::new() }
    }

    /// Passes those whose time has come to the disk inside.
    fn let_through(&mut self, now: Instant) {
        while let Some(&(at, command)) = self.waiting.front().filter(|(at, _)| *at <= now) {
            self.waiting.pop_front();
            self.inner.start(at, command);
        }
    }
}

/// Tokens that arrive at one rate and are spent at another.
#[derive(Clone, Debug)]
struct Bucket {
    spec: CapSpec,
    /// Tokens times 10^9, as of `at`; negative while a command waits for them.
    tokens: i128,
    at: Instant,
    /// When the burst rate admits the next command.
    free: Instant,
}

const SCALE: i128 = 1_000_000_000;

impl Bucket {
    /// Full at first.
    fn new(spec: &CapSpec) -> Bucket {
        let tokens = i128::from(spec.credits) * SCALE;
        Bucket { spec: *spec, tokens, at: Instant::ZERO, free: Instant::ZERO }
    }

    /// Takes `count` tokens, at `now` at the earliest; returns when the last of them is available.
    fn take(&mut self, now: Instant, count: u64) -> Instant {
        let full = i128::from(self.spec.credits) * SCALE;
        let come = i128::from(now.since(self.at).as_ns()) * i128::from(self.spec.rate);
        self.tokens = (self.tokens + come).min(full) - i128::from(count) * SCALE;
        self.at = self.at.max(now);
        // Debt is paid off at the rate; and the burst rate applies in any case.
        let debt = (-self.tokens).max(0);
        let paid = self.at.as_ns() + (debt / i128::from(self.spec.rate)) as u64;
        let pace = i128::from(count) * SCALE / i128::from(self.spec.burst);
        self.free = self.free.max(now) + blksched::Span::from_ns(pace as u64);
        Instant::from_ns(paid).max(self.free)
    }
}

impl Disk for Caps {
    fn facts(&self) -> Facts {
        self.inner.facts()
    }

    fn start(&mut self, now: Instant, command: Command) {
        assert!(self.in_flight() < self.facts().depth, "command started with the disk full");
        self.let_through(now);
        let at = match command.op {
            Op::Read | Op::Write => {
                let sectors = u64::from(command.sectors);
                let operations = self.operations.take(now, sectors.div_ceil(self.unit_sectors).max(1));
                operations.max(self.bytes.take(now, sectors * 512))
            }
            _ => now,
        };
        let at = self.waiting.back().map_or(at, |(last, _)| at.max(*last));
        match at > now {
            true => self.waiting.push_back((at, command)),
            false => self.inner.start(now, command),
        }
    }

    fn next(&self) -> Option<Instant> {
        self.inner.next().into_iter().chain(self.waiting.front().map(|(at, _)| *at)).min()
    }

    fn finish(&mut self, now: Instant) -> Option<Finished> {
        loop {
            // One at a time, so that the disk inside gets each at its time.
            let next = self.waiting.front().map(|(at, _)| *at).filter(|at| *at <= now);
            let Some(next) = next else { return self.inner.finish(now) };
            if let Some(finished) = self.inner.finish(next) {
                return Some(finished);
            }
            self.let_through(next);
        }
    }

    fn in_flight(&self) -> u32 {
        self.inner.in_flight() + self.waiting.len() as u32
    }

    as_inside!(with its trace);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_go_at_the_burst_rate_and_then_the_rate_holds() {
        let mut bucket = Bucket::new(&CapSpec { rate: 100, burst: 1_000, credits: 50 });
        let times: Vec<u64> = (0..60).map(|_| bucket.take(Instant::ZERO, 1).as_ns() / 1_000_000).collect();
        assert_eq!((times[0], times[49]), (1, 50), "a thousand a second while there are credits");
        assert_eq!((times[50], times[59]), (51, 100), "then what has come meanwhile, a hundred a second");
        let later = Instant::from_ns(10_000_000_000);
        assert_eq!(bucket.take(later, 1).since(later).as_ns(), 1_000_000, "and they come back");
    }
}
