//! Outcomes that a kernel's scheduler of processes decides, not the file system.
//!
//! **Rule** the end of a log write wakes jbd2 and everybody who waits for a block in it at once. Whether the commit
//! block or a woken process's next data are sent first is a race; the loser waits for one more trip. Measured: data
//! first in 9 of 20, 10 of 15 and 10 of 14 cases with 2, 4 and 8 processes.

use std::collections::VecDeque;

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
/// HZ 250. A second write within one tick dirties no metadata and so never waits.
#[derive(Clone, Copy, Debug, Default)]
pub struct TickPhase(
    /// When the first tick is, after the beginning.
    pub Span,
);

impl TickPhase {
    /// The length of a tick.
    pub const TICK: Span = Span::from_ms(4);

    /// The tick at this moment.
    pub(super) fn tick(self, now: Instant) -> u64 {
        (now.since(Instant::ZERO).as_ns() + TickPhase::TICK.as_ns() - self.0.as_ns()) / TickPhase::TICK.as_ns()
    }
}
