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
    /// Drawn: in 59 of a hundred cases (`DATA_FIRST`) the woken processes are first.
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

/// The kernel's count of ticks, by which it sets its timers.
#[derive(Clone, Copy, Debug)]
pub struct JiffyCount {
    per_second: u64,
    /// The count at the beginning, and how long after it the next tick is.
    count: u64,
    next: Span,
}

impl Default for JiffyCount {
    fn default() -> JiffyCount {
        JiffyCount::from(250, 0, Span::ZERO)
    }
}

impl JiffyCount {
    /// So many ticks a second, this many before the beginning, and the next one so long after it.
    pub fn from(per_second: u64, count: u64, next: Span) -> JiffyCount {
        JiffyCount { per_second: per_second.max(1), count, next }
    }

    fn length(&self) -> u64 {
        1_000_000_000 / self.per_second
    }

    fn at(&self, now: Instant) -> u64 {
        self.count + (now.as_ns() + self.length()).saturating_sub(self.next.as_ns()) / self.length()
    }

    fn begin(&self, tick: u64) -> Instant {
        let since = tick.saturating_sub(self.count) * self.length();
        Instant::from_ns((since + self.next.as_ns()).saturating_sub(self.length()))
    }

    /// When a timer goes off that is set now for this long, and rounded up to whole seconds.
    ///
    /// **Rule** the second is one of the count's, and on the way there the timer has a grain: 64 ticks for some
    /// seconds, 8 for one. Verified: all 7 commits by the timer in recordings 25, 26, 28, 30, 33 and 44.
    pub(super) fn whole_second(&self, now: Instant, after: Span) -> Instant {
        let ticks = self.at(now);
        let due = (ticks + after.as_ns().div_ceil(self.length())).next_multiple_of(self.per_second);
        let mut grain = 1;
        while due - ticks >= 63 * grain {
            grain *= 8;
        }
        self.begin((due + 1).next_multiple_of(grain))
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
    fn commits_by_the_timer_come_when_they_were_recorded() {
        // Recording 25: tick 4296356737 began at most 0.2 ms before 30222.57 ms.
        let jiffies = JiffyCount::from(250, 4_296_356_737 - 7556, Span::from_us(2400));
        let ms = |at: Instant| at.as_ns() / 1_000_000;
        let due = |us: u64| ms(jiffies.whole_second(Instant::from_ns(us * 1000), Span::from_secs(5)));
        assert_eq!([due(1_130), due(30_222_603)], [5386, 35_338]);
    }

    #[test]
    fn a_tick_that_is_served_late_begins_late_and_the_next_one_does_not() {
        let at = |us: u64| Instant::from_ns(us * 1000);
        let clock = TickPhase::at(Span::from_us(1500));
        assert_eq!([1499, 1500, 5499, 5500, 9500].map(|us| clock.tick(at(us))), [0, 1, 1, 2, 3]);
        let late = clock.with_late(at(5700));
        assert_eq!([1499, 1500, 5500, 5699, 5700, 9500].map(|us| late.tick(at(us))), [0, 1, 1, 1, 2, 3]);
    }
}
