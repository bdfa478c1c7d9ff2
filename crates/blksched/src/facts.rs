//! Data that the queue keeps for its elevator: facts about the device, and the elevator's deadline.

use crate::time::Instant;

/// Facts about the device, as the queue sees them at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceFacts {
    /// Whether it seeks.
    pub rotational: bool,
    /// The number of requests it takes at a time.
    pub depth: u32,
    /// The number of requests it has. A completing request no longer counts; a dispatched one counts once the answer is
    /// given.
    pub in_flight: u32,
    /// The number of the queue's request slots (`nr_requests`).
    pub nr_requests: u32,
    /// The largest request \[512-byte sectors\].
    pub max_sectors: u32,
    /// The most memory segments in one request.
    pub max_segments: u16,
    /// The number of tags in a word of the tag map, for `Admission::Shallow`.
    pub tags_per_word: u32,
}

/// The time from which an elevator is asked for its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// Whether it is asked after every event. Otherwise it announces a deadline that moves.
    pub(crate) asked: bool,
    /// `Instant::NEVER` if it has none.
    pub(crate) at: Instant,
}

impl Due {
    /// Of an elevator that announces each change of its deadline, or does not.
    pub(crate) fn of(announces: bool) -> Due {
        let asked = !announces;
        Due { asked, at: if asked { Instant::ZERO } else { Instant::NEVER } }
    }

    /// Whether it may have a deadline.
    #[inline(always)]
    pub(crate) fn may_come(self) -> bool {
        self.at != Instant::NEVER
    }

    /// Whether this is its deadline.
    pub(crate) fn agrees(self, deadline: Option<Instant>) -> bool {
        self.asked || self.at == deadline.unwrap_or(Instant::NEVER)
    }
}
