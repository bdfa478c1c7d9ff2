//! Outcomes that a kernel's scheduler of processes decides, not the file system.
//!
//! **Rule** the end of a log write wakes jbd2 and everybody who waits for a block in it at once. Whether the commit
//! block or a woken process's next data are sent first is a race; the loser waits for one more trip. Measured: data
//! first in 9 of 20, 10 of 15 and 10 of 14 cases with 2, 4 and 8 processes.

use std::collections::{BTreeMap, VecDeque};

use blksched::{Instant, Span};

/// How long jbd2 takes to send the commit block when the end of its log write also woke others.
#[derive(Clone, Debug)]
pub enum JournalRace {
    /// It is always first.
    First,
    /// Drawn: in 55 of a hundred cases the woken processes are first.
    Drawn {
        /// The generator's state.
        state: u64,
    },
    /// As recorded, for each transaction that has a log in this order, whether it woke anybody or not.
    Recorded(VecDeque<Span>),
}

/// What the woken processes need to send their next data \[us\]: 130 to 150 recorded.
const LATE: Span = Span::from_us(300);

/// Of a hundred log ends that wake somebody, those after which data are first (29 of 49 recorded).
const DATA_FIRST: u64 = 59;

impl JournalRace {
    /// The delay of the next commit block, whose log's end woke others or did not.
    pub(super) fn delay(&mut self, woke: bool) -> Span {
        match self {
            JournalRace::First => Span::ZERO,
            JournalRace::Recorded(delays) => delays.pop_front().unwrap_or(Span::ZERO),
            JournalRace::Drawn { .. } if !woke => Span::ZERO,
            JournalRace::Drawn { state } => {
                // Any generator would do: splitmix64.
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut drawn = *state;
                drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                let drawn = drawn ^ (drawn >> 31);
                if drawn % 100 < DATA_FIRST { LATE } else { Span::ZERO }
            }
        }
    }
}

/// The clock of inodes' times: it moves with the kernel's tick.
///
/// **Rule** a write opens a handle only if the file's time changes, and time has the resolution of the tick: 4 ms at
/// HZ 250. A second write within one tick dirties no metadata and so never waits. A tick whose interrupt is served late
/// begins late; the next one does not.
#[derive(Clone, Debug, Default)]
pub struct TickPhase {
    first: Span,
    /// By the tick's number, how much later it begins than its time is.
    late: BTreeMap<u64, Span>,
}

impl TickPhase {
    /// The length of a tick.
    pub const TICK: Span = Span::from_ms(4);

    /// The clock whose first tick begins this long after the beginning.
    pub fn at(first: Span) -> TickPhase {
        TickPhase { first, late: BTreeMap::new() }
    }

    /// The tick of this moment begins only with it, if it would have begun before.
    #[must_use]
    pub fn with_late(mut self, moment: Instant) -> TickPhase {
        let (tick, since) = self.nominal(moment);
        let late = self.late.entry(tick).or_default();
        *late = since.max(*late);
        self
    }

    /// The number of the tick that should have begun last, and how long ago.
    fn nominal(&self, now: Instant) -> (u64, Span) {
        let since = now.as_ns() + TickPhase::TICK.as_ns() - self.first.as_ns();
        (since / TickPhase::TICK.as_ns(), Span::from_ns(since % TickPhase::TICK.as_ns()))
    }

    /// How long ago the tick of this moment should have begun.
    pub fn since(&self, now: Instant) -> Span {
        self.nominal(now).1
    }

    /// Whether no tick begins between two moments.
    pub fn is_same_tick(&self, one: Instant, other: Instant) -> bool {
        self.tick(one) == self.tick(other)
    }

    /// The tick at this moment.
    pub(super) fn tick(&self, now: Instant) -> u64 {
        let (tick, since) = self.nominal(now);
        let is_late = self.late.get(&tick).is_some_and(|late| since < *late);
        tick.saturating_sub(u64::from(is_late))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_that_is_served_late_begins_late_and_the_next_one_does_not() {
        let at = |us: u64| Instant::from_ns(us * 1000);
        let clock = TickPhase::at(Span::from_us(1500));
        assert_eq!([1499, 1500, 5499, 5500, 9500].map(|us| clock.tick(at(us))), [0, 1, 1, 2, 3]);
        let late = clock.with_late(at(5700));
        assert_eq!([1499, 1500, 5500, 5699, 5700, 9500].map(|us| late.tick(at(us))), [0, 1, 1, 1, 2, 3]);
    }
}
