//! The seeds of the random generators.

use blksched::SubmitterId;

use super::permutation::mix;

/// A job's settings about its seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seeds {
    /// Replaces the simulation's seed.
    pub randseed: Option<u64>,
    /// Offsets do not depend on the simulation's seed.
    pub offsets_repeat: bool,
    /// Nothing does.
    pub all_repeat: bool,
}

/// The purpose of a generator; each has its own, so that an additional draw in one changes nothing in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Offsets,
    Others,
    /// Lengths of I/Os, and which of them jump.
    Lengths,
    /// Which I/Os have a priority of their own.
    Priorities,
    /// Gaps between arrivals.
    Arrivals,
    /// Which file is next.
    Files,
}

/// The seed of jobs that repeat; any number would do.
const REPEATED: u64 = 0x89;

impl Seeds {
    /// Processes never share a seed.
    pub(super) fn of(&self, simulation: u64, submitter: SubmitterId, purpose: Purpose) -> u64 {
        let of_offsets = matches!(purpose, Purpose::Offsets | Purpose::Lengths);
        let repeats = self.all_repeat || (self.offsets_repeat && of_offsets);
        let seed = self.randseed.unwrap_or(if repeats { REPEATED } else { simulation });
        let which = u64::from(submitter.0) << 1 | (purpose == Purpose::Offsets) as u64;
        let which = which | (purpose as u64).saturating_sub(1) << 40;
        mix(mix(seed).wrapping_add(which.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }
}
