//! The device's time, divided among the commands it has at each moment: of a microsecond with four commands, each gets
//! a quarter. So the tenants' times add up to the time in which the device was busy.
//!
//! **Rule** While the device is busy, the shard's thread looks up at least every [`BEAT`]. If it comes later than that
//! (the machine is busy, the process was stopped), then nobody knows what the device did meanwhile, and it counts for
//! two beats at most: the rest is the thread's own lateness, for which no tenant pays.

use blksched::{Instant, Span};

/// How often the thread looks up while the device is busy.
pub const BEAT: Span = Span::from_ms(10);

/// Fractions of a nanosecond are kept.
const PARTS: u64 = 1 << 10;

/// A clock that runs more slowly the more commands the device has.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeviceTime {
    at: Instant,
    in_flight: u64,
    /// How many commands have begun.
    begun: u64,
    shared: u64,
}

/// A time of that clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(u64);

impl DeviceTime {
    /// Whether the device has a command.
    pub fn is_busy(&self) -> bool {
        self.in_flight > 0
    }

    /// How many commands the device has.
    pub fn in_flight(&self) -> u32 {
        self.in_flight as u32
    }

    /// How many commands the device has ever been given.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// The thread looks up, possibly late. To be called first in each of its turns.
    pub fn look_up(&mut self, now: Instant) {
        let late = now.since(self.at + BEAT * 2);
        self.at += late;
        self.advance(now);
    }

    fn advance(&mut self, now: Instant) {
        let passed = now.since(self.at).as_ns();
        self.shared += passed.saturating_mul(PARTS).checked_div(self.in_flight).unwrap_or(0);
        self.at = self.at.max(now);
    }

    /// The device gets a command.
    pub fn begin(&mut self, now: Instant) -> Mark {
        self.advance(now);
        self.in_flight += 1;
        self.begun += 1;
        Mark(self.shared)
    }

    /// The device is done with it; returns the command's part of its time.
    pub fn end(&mut self, now: Instant, since: Mark) -> Span {
        self.advance(now);
        self.in_flight -= 1;
        Span::from_ns((self.shared - since.0) / PARTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_commands_had_adds_up_to_the_time_that_passed() {
        let at = |ms: u64| Instant::ZERO + Span::from_ms(ms);
        let mut time = DeviceTime::default();
        let alone = time.begin(at(100));
        let second = time.begin(at(104));
        assert_eq!(time.end(at(108), alone), Span::from_ms(6), "4 alone, and half of 4");
        assert_eq!(time.end(at(110), second), Span::from_ms(4), "half of 4, and 2 alone");
        let later = time.begin(at(200));
        assert_eq!(time.end(at(201), later), Span::from_ms(1), "what it was idle is nobody's");
    }

    #[test]
    fn the_threads_lateness_is_nobodys() {
        let at = |ms: u64| Instant::ZERO + Span::from_ms(ms);
        let mut time = DeviceTime::default();
        let command = time.begin(at(0));
        assert!(time.is_busy());
        for ms in [10, 20, 30] {
            time.look_up(at(ms));
        }
        // Half a second of nothing, then it looks up again.
        time.look_up(at(530));
        time.look_up(at(540));
        assert_eq!(time.end(at(545), command), Span::from_ms(30 + 20 + 10 + 5));
        assert!(!time.is_busy());
        for (gap, counts) in [(19, 19), (20, 20), (21, 20)] {
            let mut time = DeviceTime::default();
            let command = time.begin(at(0));
            time.look_up(at(gap));
            assert_eq!(time.end(at(gap), command), Span::from_ms(counts), "{gap} ms");
        }
    }
}
