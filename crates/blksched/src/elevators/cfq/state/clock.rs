//! The unit of time: jiffies or nanoseconds.
//!
//! **Rule** Until 4.7 a kernel's CFQ counted jiffies, so 8 ms of idling are two ticks at 250 per second, the first of
//! them partly over. 4.20 counts nanoseconds; one jiffy remains as the minimum charge of a slice, as half of the
//! shortest slice of a kind of load, and as the tolerance of "about to end".
//! **Origin** docs/behaviour/elevators-4.20.md#t. With nanoseconds come two quirks: a queue's key ([`Clock::stored`])
//! is compared unsigned, and the idle class's key no longer grows with the last of its tree.
//! **In the kernel** `jiffies`, `ktime_get_ns`.

use crate::elevators::cfq::rules::Clock;
use crate::time::{Instant, Jiffies, Span, Tick};

/// Keys compare unsigned, so the clock must be later than the farthest that keys reach back; a clock that starts at 0,
/// as in simulations, counts as if the machine had been up for this long.
const UPTIME: Span = Span::from_secs(100);

impl Clock {
    pub(crate) fn unit(self, hz: u32) -> Jiffies {
        match self {
            Clock::Jiffies => Jiffies::new(hz),
            Clock::Nanoseconds => Jiffies::NANOSECONDS,
        }
    }

    /// One jiffy in units of this clock.
    pub(crate) fn jiffy(self, hz: u32) -> Tick {
        match self {
            Clock::Jiffies => 1,
            Clock::Nanoseconds => u64::from(Jiffies::NANOSECONDS.hz()) / u64::from(hz),
        }
    }

    /// Converts a service key to the form stored in its tree, and back: nanoseconds sort as unsigned numbers, so a
    /// negative key comes last.
    pub(crate) fn stored(self, key: i64) -> i64 {
        match self {
            Clock::Jiffies => key,
            Clock::Nanoseconds => key ^ i64::MIN,
        }
    }

    /// The offset to add to all service keys if the elevator was attached at `born`.
    pub(crate) fn head_start(self, born: Instant) -> i64 {
        match self {
            Clock::Jiffies => 0,
            Clock::Nanoseconds => UPTIME.saturating_sub(born.since(Instant::ZERO)).as_ns() as i64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jiffy_at_250_ticks_per_second_is_4_ms() {
        assert_eq!([Clock::Jiffies, Clock::Nanoseconds].map(|clock| clock.jiffy(250)), [1, 4_000_000]);
        assert_eq!(Clock::Nanoseconds.unit(250).ticks(Span::from_us(8)), 8000);
    }

    #[test]
    fn a_key_before_zero_comes_last_in_nanoseconds_and_first_in_ticks() {
        let order = |clock: Clock| clock.stored(-1) < clock.stored(1);
        assert!(order(Clock::Jiffies) && !order(Clock::Nanoseconds));
        assert_eq!(Clock::Nanoseconds.stored(Clock::Nanoseconds.stored(-7)), -7);
    }

    #[test]
    fn a_simulation_that_begins_at_zero_counts_as_a_machine_that_is_up() {
        let starts = [0, 40, 200].map(|s| Clock::Nanoseconds.head_start(Instant::ZERO + Span::from_secs(s)));
        assert_eq!(starts, [100_000_000_000, 60_000_000_000, 0]);
    }
}
