//! **What for**: a record of what passed through a disk, for tests and for its driver.
//!
//! **Rule**: each completion is recorded, with the time at which its command arrived; the last `capacity` of them are
//! kept. Nothing else changes.

use std::collections::VecDeque;

use blksched::{Command, Instant};

use crate::{Activity, CommandOutcome, Disk, Facts, Finished};

/// One command and its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandRecord {
    /// The command.
    pub command: Command,
    /// When it was started.
    pub started: Instant,
    /// When it completed.
    pub ended: Instant,
    /// Whether it succeeded.
    pub outcome: CommandOutcome,
    /// The disk's own work for it.
    pub service: Activity,
}

/// The last commands, oldest first.
#[derive(Clone, Debug)]
pub struct CommandTrace {
    capacity: usize,
    records: VecDeque<CommandRecord>,
    seen: u64,
}

impl CommandTrace {
    /// The records that are kept, in order of completion.
    pub fn records(&self) -> impl ExactSizeIterator<Item = &CommandRecord> {
        self.records.iter()
    }

    /// Commands that have ended, kept or not.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    fn push(&mut self, record: CommandRecord) {
        if self.records.len() == self.capacity {
            self.records.pop_front();
        }
        self.records.push_back(record);
        self.seen += 1;
    }
}

/// A disk that records its commands; read them with [`Disk::trace`].
pub struct Tracer {
    inner: Box<dyn Disk>,
    /// By request index.
    on_way: Vec<Option<(Instant, Command)>>,
    trace: CommandTrace,
}

impl Tracer {
    /// A tracer around `inner` that keeps the last `capacity` commands.
    ///
    /// # Panics
    /// If `capacity` is 0.
    pub fn new(inner: Box<dyn Disk>, capacity: u32) -> Tracer {
        assert!(capacity > 0, "a tracer that keeps nothing");
        let trace = CommandTrace { capacity: capacity as usize, records: VecDeque::new(), seen: 0 };
        Tracer { inner, on_way: Vec::new(), trace }
    }
}

impl Disk for Tracer {
    fn facts(&self) -> Facts {
        self.inner.facts()
    }

    fn start(&mut self, now: Instant, command: Command) {
        let index = command.rq.index();
        if index >= self.on_way.len() {
            self.on_way.resize(index + 1, None);
        }
        self.on_way[index] = Some((now, command));
        self.inner.start(now, command);
    }

    fn next(&self) -> Option<Instant> {
        self.inner.next()
    }

    fn finish(&mut self, now: Instant) -> Option<Finished> {
        let finished = self.inner.finish(now)?;
        let Finished { rq, at, outcome, service } = finished;
        if let Some((started, command)) = self.on_way[rq.index()].take() {
            self.trace.push(CommandRecord { command, started, ended: at, outcome, service });
        }
        Some(finished)
    }

    fn in_flight(&self) -> u32 {
        self.inner.in_flight()
    }

    as_inside!();

    fn trace(&self) -> Option<&CommandTrace> {
        Some(&self.trace)
    }
}
