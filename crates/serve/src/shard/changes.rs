//! Which changes of an export are in flight, and which must wait for that.

use std::collections::VecDeque;

/// An export's changes in flight: writes, TRIM, zeroes.
#[derive(Debug, Default)]
pub struct Changes {
    /// How many there are.
    outstanding: u32,
    /// How those in flight hold the export.
    access: HoldMode,
    /// Those that wait, in order.
    waiting: VecDeque<u32>,
}

/// How a change holds its export, like a lock: shared with others of its kind, or exclusively.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HoldMode {
    /// With others.
    #[default]
    Shared,
    /// Alone.
    Exclusive,
}

impl Changes {
    /// Whether one more may begin; if so, it has.
    pub fn begin(&mut self, access: HoldMode) -> bool {
        let alone = access == HoldMode::Exclusive;
        if self.access == HoldMode::Exclusive || (alone && self.outstanding > 0) {
            return false;
        }
        (self.outstanding, self.access) = (self.outstanding + 1, access);
        true
    }

    /// One has ended.
    pub fn end(&mut self) {
        (self.outstanding, self.access) = (self.outstanding - 1, HoldMode::Shared);
    }
    /// Whether some wait; a new one then waits behind them.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The one that waits longest.
    pub fn first_waiting(&self) -> Option<u32> {
        self.waiting.front().copied()
    }

    /// It waits behind the others.
    pub fn wait(&mut self, number: u32) {
        self.waiting.push_back(number);
    }

    /// The one that waited longest has begun.
    pub fn first_has_begun(&mut self) {
        self.waiting.pop_front();
    }
}
