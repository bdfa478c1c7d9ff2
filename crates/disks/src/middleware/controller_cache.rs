//! **What for**: a RAID controller's memory with a battery, in front of a disk or an array.
//!
//! **Rule**: a write ends `time` after it came, if there is room for it; otherwise it waits, in order of arrival, until
//! there is. What is held is written to the disk behind in that order, `at_once` commands at a time, and keeps its room
//! until it is there. A read of what is held in one piece ends after `time`, too; any other goes to the disk. A flush
//! has nothing to do. A write larger than the memory passes it.
//!
//! **Origin**: what such a controller's manual calls a flash- or battery-backed write cache (512 MiB to 4 GiB).
//!
//! **Limits**: it neither sorts nor joins what it writes; nothing is overwritten while it is held; it does not read
//! ahead; a write that fails behind it is lost (as it would be: the controller then fails the disk).
//!
//! **Costs when wrong**: a burst of writes would take as long as the disks behind, and each sync a revolution of them.

use std::collections::VecDeque;

use blksched::author::RequestId;
use blksched::{Command, Instant, Op};

use crate::endings::Endings;
use crate::raid::{Member, Owner};
use crate::{Activity, CommandOutcome, CommandTrace, ControllerCacheSpec, Disk, Facts, Finished};

/// A disk behind a controller's memory.
pub(crate) struct ControllerCache {
    inner: Member,
    facts: Facts,
    spec: ControllerCacheSpec,
    /// Held, the oldest first; `None` where one has been written.
    held: VecDeque<Option<Command>>,
    /// The number of the oldest, by which it is known to the disk behind.
    first_held: u32,
    /// How many of them, from the oldest on, were sent there, and how many of these have not ended.
    sent: usize,
    writing: u32,
    held_sectors: u64,
    /// Writes that wait for room.
    waiting: VecDeque<Command>,
    /// Ended here, not yet returned.
    endings: Endings<()>,
    ended_here: u32,
    passed: u32,
}

impl ControllerCache {
    pub(crate) fn new(inner: Box<dyn Disk>, spec: &ControllerCacheSpec) -> ControllerCache {
        let facts = Facts { volatile_cache: false, ..inner.facts() };
        let depth = facts.depth as usize;
        ControllerCache {
            inner: Member::new(inner),
            facts,
            spec: *spec,
            held: VecDeque::new(),
            first_held: 0,
            sent: 0,
            writing: 0,
            held_sectors: 0,
            waiting: VecDeque::new(),
            endings: Endings::with_capacity(depth),
            ended_here: 0,
            passed: 0,
        }
    }

    fn end(&mut self, now: Instant, command: &Command, outcome: CommandOutcome) {
        let at = now + self.spec.time;
        self.endings.add(Finished { rq: command.rq, at, outcome, service: Activity::default() }, ());
        self.ended_here += 1;
    }

    fn has_room(&self, sectors: u32) -> bool {
        self.held_sectors + u64::from(sectors) <= self.spec.size_sectors
    }

    /// Takes a write into memory.
    fn hold(&mut self, now: Instant, command: Command) {
        self.held_sectors += u64::from(command.sectors);
        self.held.push_back(Some(command));
        self.end(now, &command, CommandOutcome::Ok);
        self.drain(now);
    }

    /// Writes what is held, as much at a time as may be.
    fn drain(&mut self, now: Instant) {
        while self.writing < self.spec.at_once
            && let Some(&Some(command)) = self.held.get(self.sent)
        {
            let number = self.first_held.wrapping_add(self.sent as u32);
            (self.sent, self.writing) = (self.sent + 1, self.writing + 1);
            self.inner.send(now, Owner::Window(number), command);
        }
    }

    /// One has been written: there is room.
    fn written(&mut self, at: Instant, number: u32) {
        let index = number.wrapping_sub(self.first_held) as usize;
        let command = self.held[index].take().expect("each is written once");
        self.held_sectors -= u64::from(command.sectors);
        self.writing -= 1;
        while let Some(None) = self.held.front() {
            self.held.pop_front();
            (self.first_held, self.sent) = (self.first_held.wrapping_add(1), self.sent - 1);
        }
        while let Some(&command) = self.waiting.front()
            && self.has_room(command.sectors)
        {
            self.waiting.pop_front();
            self.hold(at, command);
        }
        self.drain(at);
    }

    fn holds(&self, command: &Command) -> bool {
        let end = |command: &Command| command.start.0 + u64::from(command.sectors);
        let within = |held: &Command| held.start <= command.start && end(command) <= end(held);
        self.held.iter().flatten().any(within)
    }

    /// Whether it lies within the disk; what does not is left to that to refuse.
    fn is_inside(&self, command: &Command) -> bool {
        let end = command.start.0.checked_add(u64::from(command.sectors));
        end.is_some_and(|end| end <= self.facts.sectors)
    }

    fn pass(&mut self, now: Instant, command: Command) {
        self.passed += 1;
        self.inner.send(now, Owner::Job(command.rq.index() as u32), command);
    }
}

impl Disk for ControllerCache {
    fn facts(&self) -> Facts {
        self.facts
    }

    fn start(&mut self, now: Instant, command: Command) {
        assert!(self.in_flight() < self.facts.depth, "command started with the disk full");
        let is_held = command.op == Op::Write && self.is_inside(&command);
        match command.op {
            Op::Write if !is_held || u64::from(command.sectors) > self.spec.size_sectors => self.pass(now, command),
            Op::Write if self.waiting.is_empty() && self.has_room(command.sectors) => self.hold(now, command),
            Op::Write => self.waiting.push_back(command),
            Op::Read if self.is_inside(&command) && self.holds(&command) => self.end(now, &command, CommandOutcome::Ok),
            Op::Flush => self.end(now, &command, CommandOutcome::Ok),
            Op::Read | Op::Discard | Op::WriteZeroes => self.pass(now, command),
        }
    }

    fn next(&self) -> Option<Instant> {
        self.inner.disk.next().into_iter().chain(self.endings.next()).min()
    }

    fn finish(&mut self, now: Instant) -> Option<Finished> {
        loop {
            let inside = self.inner.disk.next().unwrap_or(Instant::NEVER);
            let here = self.endings.next().unwrap_or(Instant::NEVER);
            if here <= inside {
                let (finished, ()) = self.endings.take(now)?;
                self.ended_here -= 1;
                return Some(finished);
            }
            if inside > now {
                return None;
            }
            match self.inner.finish(inside) {
                Some((Owner::Window(number), finished)) => self.written(finished.at, number),
                Some((Owner::Job(rq) | Owner::Batch(rq), finished)) => {
                    self.passed -= 1;
                    return Some(Finished { rq: RequestId::from_index(rq), ..finished });
                }
                None => {}
            }
        }
    }

    fn in_flight(&self) -> u32 {
        self.passed + self.ended_here + self.waiting.len() as u32
    }

    fn ledger(&self) -> std::borrow::Cow<'_, crate::Ledger> {
        self.inner.disk.ledger()
    }

    fn parts(&self) -> u32 {
        self.inner.disk.parts()
    }

    fn watch(&mut self) {
        self.inner.watch();
    }

    fn stints(&mut self, to: &mut Vec<crate::Stint>) {
        self.inner.stints(0, to);
    }

    fn trace(&self) -> Option<&CommandTrace> {
        self.inner.disk.trace()
    }
}
