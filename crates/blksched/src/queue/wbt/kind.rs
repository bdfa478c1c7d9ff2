//! Which bios are throttled, and how urgent they are.
//!
//! **In the kernel** `bio_to_wbt_flags`, `wbt_should_throttle`.

#![doc(alias = "bio_to_wbt_flags")]
#![doc(alias = "wbt_should_throttle")]

use super::super::mq::MqEra;
use crate::request::{Bio, Op, Waiter};

/// What the throttle knows of a bio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// What it asks for.
    pub op: Op,
    /// Somebody waits for it.
    pub sync: bool,
    /// Its submitter may send more soon: O_DIRECT writes and journal commits, with `sync`.
    pub idle: bool,
    /// The periodic flusher's, or the background threshold's.
    pub background: bool,
    /// Metadata, or of a preference.
    pub meta: bool,
    /// Swap.
    pub swap: bool,
    /// The submitting thread reclaims memory.
    pub reclaim: bool,
}

/// Three independent counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// Ordinary writes.
    Write,
    /// Of a process that reclaims memory.
    Reclaim,
    /// Discards.
    Discard,
}

impl Counter {
    /// In the order in which they are woken.
    pub const ALL: [Counter; 3] = [Counter::Write, Counter::Reclaim, Counter::Discard];
}

impl Kind {
    /// A bio's kind.
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

    /// Somebody waits for it.
    pub(super) fn is_urgent(self, era: MqEra) -> bool {
        let for_memory = match era {
            MqEra::Linux6_1 => self.reclaim,
            MqEra::Linux6_12 => self.swap,
        };
        self.sync || self.meta || for_memory
    }

    /// Where it counts; reads and direct writes do nowhere.
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
