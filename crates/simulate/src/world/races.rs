//! Which task is faster: the small delays that processes and the kernel's worker have on a real host, drawn from a
//! seed.
//!
//! **Rule** A process is notified of its I/O a moment after the completion, and a woken task asks for its tag a moment
//! after that. If one completion wakes both, they race for one processor: with a probability of 0.6 the owner of the
//! completed request runs first and, if it asks at once, has the tag. Perfect lockstep would always let the same one
//! win, and the other would starve. The worker that runs the queue (kblockd) is in the same race: with a probability of
//! 0.76 it asks the elevator before any task that the completion woke runs, otherwise after all of them, and then I/O
//! that they submit at once is there when the elevator is asked.
//! **Origin** docs/behaviour/blk-mq-6.x.md#t, traced on
//! 6.18 (loop device): the owner was told 10 to 12 µs after the completion, the sleeper 20 to 22 µs, both on one
//! processor; the owner had the tag in 98 of 129 cases. 0.5 to 0.75 gave the measured shares; 0.6 FIT; it is the
//! host's: on another 107 of 496 (testdata/reality). The worker issued a request before the owner inserted one in 1143
//! of 1504 traced cases with fio at ordinary priority, and in 45 of 2178 at real-time priority, above the worker's
//! (6.18, loop device, a writer and a reader under bfq); on one emulated processor of 6.1 the owner was first in 397 of
//! 402, the worker in 9 of 126. The delays are shorter than traced, because a real host's own cost is not a matter of
//! chance: where processors cost something (`world/work.rs`), their work comes on top of the draws.
//!
//! Before blk-mq only owners are told later (a completion runs the queue itself, a woken sleeper has its slot): a
//! moment, and 10 µs for each other process that is ahead, as the second task was later in that trace. How often one is
//! ahead is FIT (as often as others ran before the worker), whatever the number of processors, which is not known of
//! those hosts: which process gets its turn hangs on it under CFQ, whose newest queue preempts the last. Some spread is
//! needed: if each owner always asked before the next completion, CFQ would serve the same processes for ever.

use blksched::Span;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Which task runs first on a host among those that one completion wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RaceOdds {
    /// The percentage of the completions that wake a sleeper after which the owner of the request runs first.
    pub owner_first: u32,
    /// The percentage of completions after which the kernel's worker that runs the queue runs before any process.
    pub worker_first: u32,
}

impl RaceOdds {
    /// The names in settings.
    pub const NAMES: [&str; 2] = ["owner_first", "worker_first"];

    /// Sets the one of this name, in percent; false if there is none of this name.
    ///
    /// # Errors
    /// If it is not a percentage.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool, String> {
        let part = || {
            let part = value.parse().ok().filter(|part| *part <= 100);
            part.ok_or_else(|| format!("`{value}` is not a value of {name}: expected a number from 0 to 100"))
        };
        match name {
            "owner_first" => self.owner_first = part()?,
            "worker_first" => self.worker_first = part()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Default for RaceOdds {
    /// A host that was not described, with processes of ordinary priority.
    fn default() -> RaceOdds {
        RaceOdds { owner_first: 60, worker_first: 76 }
    }
}

/// The delay of a task that runs first.
const SOON: core::ops::Range<u64> = 200..2_000;
/// The delay of a task that runs later.
const LATER: core::ops::Range<u64> = 4_000..8_000;
/// The delay of a worker that runs after all of them.
const LAST: core::ops::Range<u64> = 9_000..13_000;

/// What one process that is ahead takes.
const ONE_AHEAD: Span = Span::from_us(10);
/// The percentage of owners with another one ahead.
const AHEAD: u32 = 24;

/// The random draws of one run.
#[derive(Clone, Debug)]
pub(super) struct Races {
    random: Pcg64Mcg,
    odds: RaceOdds,
    /// Before blk-mq: how many other processes there are.
    others: Option<u64>,
}

/// One completion's delays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lap {
    /// Until the owner of the I/O is told.
    pub(super) owner: Span,
    /// Until a woken task runs.
    pub(super) sleeper: Span,
    /// Whether the owner runs before any sleeper.
    pub(super) owner_first: bool,
}

impl Races {
    pub(super) fn of(seed: u64, odds: RaceOdds) -> Races {
        // Other random numbers than the workloads' of the same seed.
        let random = Pcg64Mcg::seed_from_u64(seed ^ 0x7261_6365);
        Races { random, odds, others: None }
    }

    /// Those of a host before blk-mq with this many processes.
    pub(super) fn before_blk_mq(seed: u64, processes: usize) -> Races {
        let odds = RaceOdds { worker_first: 100, ..RaceOdds::default() };
        Races { others: Some((processes as u64).saturating_sub(1)), ..Races::of(seed, odds) }
    }

    /// How long processes that are ahead take.
    fn ahead(&mut self) -> Span {
        let ahead = (0..self.others.unwrap_or(0)).take_while(|_| self.random.random_range(0..100) < AHEAD).count();
        ONE_AHEAD * ahead as u64
    }

    /// The delay of the worker that a completion calls, unless all others run first.
    pub(super) fn worker(&mut self) -> Option<Span> {
        // Where the answer is always the same, nothing is drawn.
        let first = self.odds.worker_first;
        let is_first = first >= 100 || self.random.random_range(0..100) < first;
        (!is_first).then(|| Span::from_ns(self.random.random_range(LAST)))
    }

    /// The delays of one completion; `contested` if it wakes both an owner and a sleeper.
    pub(super) fn lap(&mut self, contested: bool) -> Lap {
        let soon = Span::from_ns(self.random.random_range(SOON));
        if !contested {
            return Lap { owner: soon + self.ahead(), sleeper: soon, owner_first: false };
        }
        let later = Span::from_ns(self.random.random_range(LATER));
        if self.random.random_range(0..100) < self.odds.owner_first {
            Lap { owner: soon, sleeper: later, owner_first: true }
        } else {
            Lap { owner: later, sleeper: soon, owner_first: false }
        }
    }

    /// The delay of a further task that the same completion woke. Each has a draw of its own: otherwise a task that a
    /// policy woke would always get the tag before one that slept for it, and a reader beside throttled writes would
    /// starve.
    pub(super) fn further_sleeper(&mut self, lap: Lap) -> Span {
        Span::from_ns(self.random.random_range(if lap.owner_first { LATER } else { SOON }))
    }
}
