//! Which bios are throttled, and how urgent they are.
//!
//! **Origin** docs/behaviour/blk-wbt.md#2.
//! **In the kernel** `bio_to_wbt_flags`, `wbt_should_throttle`.

use super::super::mq::MqEra;
use crate::request::{Bio, Op, Waiter};

/// The properties of a bio that the throttle uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its operation.
    pub op: Op,
    /// Whether a process waits for it.
    pub sync: bool,
    /// Whether its submitter may send more soon: O_DIRECT writes and journal commits, together with `sync`.
    pub idle: bool,
    /// Whether it comes from the periodic flusher or the background threshold.
    pub background: bool,
    /// Whether it is metadata, or otherwise preferred.
    pub meta: bool,
    /// Whether it is swap.
    pub swap: bool,
    /// Whether the submitting thread reclaims memory.
    pub reclaim: bool,
}

/// Three independent counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Counter {
    /// Ordinary writes.
    Write,
    /// Writes of a process that reclaims memory.
    Reclaim,
    /// Discards.
    Discard,
}

/// The thread that asks whether there is room for a bio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    /// That of its submitter.
    Submitter,
    /// One that wakes its submitter.
    Waker,
}

impl Counter {
    /// In the order in which their queues are woken.
    pub const ALL: [Counter; 3] = [Counter::Write, Counter::Reclaim, Counter::Discard];
}

impl Kind {
    /// The kind of a bio.
    pub fn of(bio: &Bio) -> Kind {
        Kind {
            op: bio.op,
            sync: bio.waiter == Waiter::Sync,
            idle: bio.waiter == Waiter::Sync && bio.op == Op::Write && !bio.hints.write_back,
            background: bio.hints.background,
            meta: bio.hints.meta,
            swap: false,
            reclaim: false,
        }
    }

    pub(super) fn is_read(self) -> bool {
        self.op == Op::Read
    }

    pub(super) fn is_discard(self) -> bool {
        self.op == Op::Discard
    }

    pub(super) fn is_background(self) -> bool {
        self.background
    }

    /// Whether it is urgent: a process waits for it, it is metadata, or it frees memory. 6.1 tests whether the *thread
    /// that asks* frees memory. When a sleeper is woken that is the waker's thread, which does not.
    pub(super) fn is_urgent(self, era: MqEra, asks: Asks) -> bool {
        let for_memory = match era {
            MqEra::Linux6_1 => self.reclaim && asks == Asks::Submitter,
            MqEra::Linux6_12 => self.swap,
        };
        self.sync || self.meta || for_memory
    }

    /// The counter to which it belongs; reads and direct writes have none.
    pub(super) fn counter(self, era: MqEra) -> Option<Counter> {
        let for_memory = match era {
            MqEra::Linux6_1 => self.reclaim,
            MqEra::Linux6_12 => self.swap,
        };
        match self.op {
            Op::Read | Op::WriteZeroes => None,
            Op::Write if self.sync && self.idle => None,
            Op::Write | Op::Flush | Op::Discard if for_memory => Some(Counter::Reclaim),
            Op::Write | Op::Flush => Some(Counter::Write),
            Op::Discard => Some(Counter::Discard),
        }
    }
}
