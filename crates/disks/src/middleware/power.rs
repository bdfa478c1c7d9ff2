//! **What for**: a drive that sleeps when nothing is asked of it, and takes time to wake.
//!
//! **Rule**: when no command has been in the drive for `idle`, the next one waits for `wake`, and so does what comes
//! meanwhile. At time zero the drive is awake.
//!
//! **Origin**: NVMe's Autonomous Power State Transition: a drive names idle times, and an exit latency for each state
//! (NVM Express Base Specification, Identify Controller, power state descriptors: ENLAT, EXLAT); Linux lets it sleep
//! where the sum stays below 100 ms (MEMORY). SATA's DevSleep and a disk's parked heads are the same rule.
//!
//! **Limits**: one state, not several one below the other; programs that are still running do not keep it awake.
//!
//! **Costs when wrong**: a load with pauses would see none of the milliseconds that the first command after each takes.

use std::collections::VecDeque;

use blksched::{Command, Instant};

use crate::{Disk, Facts, Finished, PowerSpec};

/// A disk that sleeps.
pub(crate) struct Power {
    inner: Box<dyn Disk>,
    spec: PowerSpec,
    /// When the last command ended.
    ended: Instant,
    /// When it is awake.
    awake: Instant,
    /// Commands that wait for that.
    waiting: VecDeque<Command>,
}

impl Power {
    pub(crate) fn new(inner: Box<dyn Disk>, spec: &PowerSpec) -> Power {
        let (ended, awake, waiting) = (Instant::ZERO, Instant::ZERO, VecDeque::new());
        Power { inner, spec: *spec, ended, awake, waiting }
    }

    /// It is awake: all that waited go in.
    fn open(&mut self) {
        for command in core::mem::take(&mut self.waiting) {
            self.inner.start(self.awake, command);
        }
    }
}

impl Disk for Power {
    fn facts(&self) -> Facts {
        self.inner.facts()
    }

    fn start(&mut self, now: Instant, command: Command) {
        assert!(self.in_flight() < self.facts().depth, "command started with the disk full");
        if self.in_flight() == 0 && now.since(self.ended) > self.spec.idle {
            self.awake = now + self.spec.wake;
        }
        if now >= self.awake {
            self.open();
            return self.inner.start(now, command);
        }
        self.waiting.push_back(command);
    }

    fn next(&self) -> Option<Instant> {
        let wakes = (!self.waiting.is_empty()).then_some(self.awake);
        self.inner.next().into_iter().chain(wakes).min()
    }

    fn finish(&mut self, now: Instant) -> Option<Finished> {
        // What a sleeping disk still does for itself is done before it wakes.
        while !self.waiting.is_empty() && self.awake <= now {
            match self.inner.next().filter(|next| *next < self.awake) {
                Some(next) => drop(self.inner.finish(next)),
                None => self.open(),
            }
        }
        let finished = self.inner.finish(now)?;
        self.ended = finished.at;
        Some(finished)
    }

    fn in_flight(&self) -> u32 {
        self.inner.in_flight() + self.waiting.len() as u32
    }

    as_inside!(with its trace);
}
