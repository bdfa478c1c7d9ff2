//! The object of a measurement: anything that takes commands and reports their completion. It is a model in virtual
//! time, or a real path by the wall clock, which the command line provides.

use blksched::author::RequestId;
use blksched::{Command, Instant, Op, Sector, SubmitterId};

use crate::{Disk, DiskSpec};

/// A disk to be measured.
pub trait Target {
    /// What its host knows about it.
    fn facts(&self) -> TargetFacts;

    /// The present time.
    fn now(&self) -> Instant;

    /// Submits a command now; `slot` is below [`TargetFacts::depth`] and free.
    ///
    /// # Errors
    /// If the host refuses.
    fn start(&mut self, slot: u32, op: Op, start: u64, sectors: u32) -> Result<(), String>;

    /// Waits for the next command to end.
    ///
    /// # Errors
    /// If it failed.
    fn wait(&mut self) -> Result<CommandEnded, String>;

    /// Lets time pass with nothing in flight.
    fn rest(&mut self, until: Instant);
}

/// What is known before anything is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetFacts {
    /// Its name.
    pub name: String,
    /// Capacity \[512-byte sectors\].
    pub sectors: u64,
    /// The smallest command and every alignment \[512-byte sectors\].
    pub block_sectors: u32,
    /// The most commands at a time.
    pub depth: u32,
    /// The largest command worth trying \[512-byte sectors\].
    pub max_sectors: u32,
    /// Whether it may be written, so that all its data is lost.
    pub access: ProbeAccess,
    /// How soon completions are noticed.
    pub clock: ProbeClock,
    /// Whether the host knows that nothing in it turns (`rotational` is 0).
    pub never_turns: bool,
}

/// How soon completions are noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeClock {
    /// At once.
    Virtual,
    /// Later, when the host has time.
    Wall,
}

/// What a measurement may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeAccess {
    /// Reads only.
    ReadOnly,
    /// Everything on it may be destroyed.
    Destroy,
}

/// A command has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandEnded {
    /// The slot.
    pub slot: u32,
    /// The time.
    pub at: Instant,
}

/// A model in virtual time.
pub struct Modelled {
    name: String,
    disk: Box<dyn Disk>,
    now: Instant,
    access: ProbeAccess,
}

impl Modelled {
    /// A disk at rest.
    pub fn new(spec: &DiskSpec, seed: u64, access: ProbeAccess) -> Modelled {
        Modelled { name: spec.name.clone(), disk: spec.build(seed), now: Instant::ZERO, access }
    }

    /// The model.
    pub fn disk(&self) -> &dyn Disk {
        &*self.disk
    }
}

impl Target for Modelled {
    fn facts(&self) -> TargetFacts {
        let facts = self.disk.facts();
        TargetFacts {
            name: self.name.clone(),
            sectors: facts.sectors,
            block_sectors: 1,
            depth: facts.depth,
            max_sectors: facts.max_sectors,
            access: self.access,
            clock: ProbeClock::Virtual,
            never_turns: false,
        }
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn start(&mut self, slot: u32, op: Op, start: u64, sectors: u32) -> Result<(), String> {
        let (rq, start, submitter) = (RequestId::from_index(slot), Sector(start), SubmitterId(1));
        self.disk.start(self.now, Command { rq, op, start, sectors, fua: false, submitter });
        Ok(())
    }

    fn wait(&mut self) -> Result<CommandEnded, String> {
        loop {
            let then = self.disk.next().ok_or("nothing is in flight")?;
            if let Some(finished) = self.disk.finish(then) {
                self.now = finished.at;
                return Ok(CommandEnded { slot: finished.rq.index() as u32, at: finished.at });
            }
        }
    }

    fn rest(&mut self, until: Instant) {
        while let Some(step) = self.disk.next().filter(|&step| step <= until) {
            self.disk.finish(step);
        }
        self.now = self.now.max(until);
    }
}
