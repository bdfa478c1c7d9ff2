//! Who is faster: the small delays that processes have on a real host, drawn from a seed.
//!
//! **Rule** A process hears of its I/O a moment after the completion, and a woken task asks for its tag a moment after
//! that. If one completion wakes both, they race for one processor: with a probability of 0.6 the owner of the
//! completed request runs first and, if it asks at once, has the tag. Perfect lockstep would always let the same one
//! win, and whoever loses would starve.
//! **Origin** docs/behaviour/blk-mq-6.x.md#t, traced on 6.18 (loop device): the owner was told 10 to 12 µs after the
//! completion, the sleeper 20 to 22 µs, both on one processor; the owner had the tag in 98 of 129 cases. 0.5 to 0.75
//! gave the measured shares; 0.6 FIT; it is the host's: on another 107 of 496 (testdata/reality). The delays are
//! shorter than traced, because a real host's own cost is not a matter of chance: where processors cost something
//! (`world/work.rs`), their work comes on top of the draws.

use blksched::Span;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Of a hundred completions that wake a sleeper, the owner runs first in this many, on a host that nobody described.
const OWNER_FIRST: u32 = 60;
/// Whoever runs first does so within this.
const SOON: core::ops::Range<u64> = 200..2_000;
/// Whoever runs behind does so within this.
const LATER: core::ops::Range<u64> = 4_000..8_000;

/// The draws of one run.
#[derive(Clone, Debug)]
pub(super) struct Races {
    random: Pcg64Mcg,
    owner_first: u32,
}

/// One completion's delays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lap {
    /// Until the owner of the I/O hears of it.
    pub(super) owner: Span,
    /// Until a task that was woken runs.
    pub(super) sleeper: Span,
    /// Whether the owner runs before any sleeper.
    pub(super) owner_first: bool,
}

impl Races {
    /// `owner_first`: of a hundred, where the host is known.
    pub(super) fn of(seed: u64, owner_first: Option<u32>) -> Races {
        // Other draws than the workloads' of the same seed.
        let random = Pcg64Mcg::seed_from_u64(seed ^ 0x7261_6365);
        Races { random, owner_first: owner_first.unwrap_or(OWNER_FIRST) }
    }

    /// The delays of one completion; `contested` if it wakes both an owner and a sleeper.
    pub(super) fn lap(&mut self, contested: bool) -> Lap {
        let soon = Span::from_ns(self.random.random_range(SOON));
        if !contested {
            return Lap { owner: soon, sleeper: soon, owner_first: false };
        }
        let later = Span::from_ns(self.random.random_range(LATER));
        if self.random.random_range(0..100) < self.owner_first {
            Lap { owner: soon, sleeper: later, owner_first: true }
        } else {
            Lap { owner: later, sleeper: soon, owner_first: false }
        }
    }

    /// The delay of a further task that the same completion woke. Each has a draw of its own: otherwise a task that a
    /// policy woke would always have the tag before one that slept for it, and a reader beside throttled writes starve.
    pub(super) fn further_sleeper(&mut self, lap: Lap) -> Span {
        Span::from_ns(self.random.random_range(if lap.owner_first { LATER } else { SOON }))
    }
}
