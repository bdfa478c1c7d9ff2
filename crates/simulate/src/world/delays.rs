//! Processes that do not run in lockstep.

use blksched::Listener;

use super::{Observer, RaceOdds, Races, World};

impl<L: Listener, O: Observer> World<L, O> {
    /// The same with processes that do not run in lockstep: they are told of their I/O, and woken tasks run, after
    /// small delays drawn from `seed`. The queue must let its driver decide when woken tasks run (`Wakes::ByDriver`).
    pub fn with_races(mut self, seed: u64, odds: RaceOdds) -> World<L, O> {
        self.races = Some(Races::of(seed, odds));
        self
    }

    /// The same for a queue that decides itself when woken tasks run: only who is told of its I/O is told later.
    pub fn with_late_owners(mut self, seed: u64) -> World<L, O> {
        self.races = Some(Races::before_blk_mq(seed, self.sources.len()));
        self
    }
}
