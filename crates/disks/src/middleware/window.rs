//! **What for**: a drive or a controller that works on few of the commands that it has taken.
//!
//! **Rule**: at most `commands` are with the disk inside; the others wait, in order of arrival. So a few commands that
//! wait for one busy die keep all others out, although the host may have sent many more.
//!
//! **Origin**: an inference from a measured cloud NVMe drive (docs/disks.md): a twentieth of its write rate costs it a
//! seventh of its read rate, which its dies alone would not. USB's bulk-only transport takes one command at a time.
//!
//! **Costs when wrong**: beside writes such a drive would carry as many reads as its dies can.

use std::collections::VecDeque;

use blksched::{Command, Instant};

use crate::{Disk, Facts, Finished};

/// A disk that gets so many commands at a time.
pub(crate) struct CommandWindow {
    inner: Box<dyn Disk>,
    commands: u32,
    waiting: VecDeque<Command>,
}

impl CommandWindow {
    pub(crate) fn new(inner: Box<dyn Disk>, commands: u32) -> CommandWindow {
        CommandWindow { inner, commands, waiting: VecDeque::new() }
    }
}

impl Disk for CommandWindow {
    fn facts(&self) -> Facts {
        self.inner.facts()
    }

    fn start(&mut self, now: Instant, command: Command) {
        assert!(self.in_flight() < self.facts().depth, "command started with the disk full");
        match self.inner.in_flight() < self.commands {
            true => self.inner.start(now, command),
            false => self.waiting.push_back(command),
        }
    }

    fn next(&self) -> Option<Instant> {
        self.inner.next()
    }

    fn finish(&mut self, now: Instant) -> Option<Finished> {
        let finished = self.inner.finish(now)?;
        if let Some(command) = self.waiting.pop_front() {
            self.inner.start(finished.at, command);
        }
        Some(finished)
    }

    fn in_flight(&self) -> u32 {
        self.inner.in_flight() + self.waiting.len() as u32
    }

    as_inside!(with its trace);
}
