//! **What for**: a slower path to the disk: a network, an expander, a hypervisor.
//!
//! **Rule**: every command ends `time` later than in the inner disk, plus an evenly distributed part of `jitter`, drawn
//! from the disk's seed in the order of the inner completions. Commands may overtake each other.

use blksched::{Command, Instant, Span};

use crate::endings::Endings;
use crate::{CommandTrace, DelaySpec, Disk, Facts, Finished};

/// A disk whose commands complete later.
pub(crate) struct Delay {
    inner: Box<dyn Disk>,
    spec: DelaySpec,
    random: u64,
    held: Endings<()>,
    held_count: u32,
}

impl Delay {
    pub(crate) fn new(inner: Box<dyn Disk>, spec: &DelaySpec, seed: u64) -> Delay {
        let depth = inner.facts().depth as usize;
        Delay { inner, spec: *spec, random: seed, held: Endings::with_capacity(depth), held_count: 0 }
    }

    fn draw(&mut self) -> Span {
        // The upper half of a 128-bit product, from 0 to `jitter` inclusive.
        let limit = u128::from(self.spec.jitter.as_ns()) + 1;
        self.spec.time + Span::from_ns(((u128::from(next(&mut self.random)) * limit) >> 64) as u64)
    }
}

/// The next number of a splitmix64 sequence.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
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

    fn fetches(&self) -> Instant {
        self.inner.fetches()
    }

    fn in_flight(&self) -> u32 {
        self.inner.in_flight() + self.held_count
    }

    as_inside!();

    fn trace(&self) -> Option<&CommandTrace> {
        self.inner.trace()
    }
}
