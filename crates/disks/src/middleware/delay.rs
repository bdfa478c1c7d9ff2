//! **What for**: a slower path to the disk: a network, an expander, a hypervisor.
//!
//! **Rule**: every command ends `time` later than in the inner disk, plus an evenly distributed part of `jitter`, drawn
//! from the disk's seed in the order of the inner completions. Commands may overtake each other. `rare` is a second
//! delay that a command has with the probability `rare_chance`, exponentially distributed around that mean.

use blksched::{Command, Instant, Span};

use crate::draw::Draws;
use crate::endings::Endings;
use crate::{DelaySpec, Disk, Facts, Finished};

/// A disk whose commands complete later.
pub(crate) struct Delay {
    inner: Box<dyn Disk>,
    spec: DelaySpec,
    draws: Draws,
    held: Endings<()>,
    held_count: u32,
}

impl Delay {
    pub(crate) fn new(inner: Box<dyn Disk>, spec: &DelaySpec, seed: u64) -> Delay {
        let depth = inner.facts().depth as usize;
        Delay { inner, spec: *spec, draws: Draws::new(seed), held: Endings::with_capacity(depth), held_count: 0 }
    }

    fn draw(&mut self) -> Span {
        let usual = self.spec.time + self.draws.up_to(self.spec.jitter);
        match self.spec.rare {
            Some(rare) if self.draws.happens(rare.chance) => usual + self.draws.exponential(rare.mean),
            _ => usual,
        }
    }
}

impl Disk for Delay {
    fn facts(&self) -> Facts {
        self.inner.facts()
    }

    fn start(&mut self, now: Instant, command: Command) {
        assert!(self.in_flight() < self.facts().depth, "command started with the disk full");
        self.inner.start(now, command);
    }

    fn next(&self) -> Option<Instant> {
        self.inner.next().into_iter().chain(self.held.next()).min()
    }

    fn finish(&mut self, now: Instant) -> Option<Finished> {
        while let Some(finished) = self.inner.finish(now) {
            let at = finished.at + self.draw();
            self.held.add(Finished { at, ..finished }, ());
            self.held_count += 1;
        }
        let (finished, ()) = self.held.take(now)?;
        self.held_count -= 1;
        Some(finished)
    }

    fn in_flight(&self) -> u32 {
        self.inner.in_flight() + self.held_count
    }

    as_inside!(with its trace);
}
