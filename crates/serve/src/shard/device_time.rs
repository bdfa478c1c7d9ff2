//! The device's time, divided among the commands it has at each moment: of a microsecond with four commands, each gets
//! a quarter. So the tenants' times add up to the time in which the device was busy.

use blksched::{Instant, Span};

/// Fractions of a nanosecond are kept.
const PARTS: u64 = 1 << 10;

/// A clock that runs more slowly the more commands the device has.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeviceTime {
    at: Instant,
    in_flight: u64,
    shared: u64,
}

/// A time of that clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(u64);

impl DeviceTime {
    fn advance(&mut self, now: Instant) {
        let passed = now.since(self.at).as_ns();
        self.shared += passed.saturating_mul(PARTS).checked_div(self.in_flight).unwrap_or(0);
        self.at = self.at.max(now);
    }

    /// The device gets a command.
    pub fn begin(&mut self, now: Instant) -> Mark {
        self.advance(now);
        self.in_flight += 1;
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
}
