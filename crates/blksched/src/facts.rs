//! Data that the queue keeps for its elevator: facts about the device, and the elevator's deadline.

use crate::answer::{Hook, Hooks};
use crate::time::Instant;

/// Facts about the device, as the queue sees them at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceFacts {
    /// Does it seek?
    pub rotational: bool,
    /// How many requests it takes at a time.
    pub depth: u32,
    /// How many it has. A completing request no longer counts, a dispatched one counts once the answer is given.
    pub in_flight: u32,
    /// How many request slots the queue has (`nr_requests`).
    pub nr_requests: u32,
    /// The largest request \[512-byte sectors\].
    pub max_sectors: u32,
    /// The most pieces of memory in one.
    pub max_segments: u16,
    /// How many tags a word of the tag map has, for `Admission::Shallow`.
    pub tags_per_word: u32,
}

/// From when on an elevator is asked for its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// Is it asked whenever anything happens? Otherwise it announces a deadline that moves.
    pub(crate) asked: bool,
    /// `Instant::NEVER`: it has none.
    pub(crate) at: Instant,
}

impl Due {
    pub(crate) fn of(hooks: Hooks) -> Due {
        let asked = hooks.has(Hook::Deadline);
        Due { asked, at: if asked { Instant::ZERO } else { Instant::NEVER } }
    }

    /// May its deadline have come?
    #[inline(always)]
    pub(crate) fn may_be(self, now: Instant) -> bool {
        self.at <= now
    }

    /// May it have one?
    #[inline(always)]
    pub(crate) fn may_come(self) -> bool {
        self.at != Instant::NEVER
    }

    /// Is this the deadline that it has?
    pub(crate) fn agrees(self, deadline: Option<Instant>) -> bool {
        self.asked || self.at == deadline.unwrap_or(Instant::NEVER)
    }
}
