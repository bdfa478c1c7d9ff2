//! The shard's clock: real, or set by a test.

use std::time::Instant as Real;

use blksched::Instant;

/// The time since the shard began.
pub enum Clock {
    /// Real time.
    Since(Real),
    /// The time set by a test.
    #[cfg(test)]
    Told(Instant),
}

impl Clock {
    /// A clock that begins now.
    pub fn start() -> Clock {
        Clock::Since(Real::now())
    }

    /// The present time.
    pub fn now(&self) -> Instant {
        match self {
            Clock::Since(born) => Instant::from_ns(u64::try_from(born.elapsed().as_nanos()).unwrap_or(u64::MAX)),
            #[cfg(test)]
            Clock::Told(now) => *now,
        }
    }

    /// Advances by this much at once.
    #[cfg(test)]
    pub fn pass(&mut self, time: std::time::Duration) {
        match self {
            Clock::Since(born) => *born = born.checked_sub(time).expect("a clock that has run for a while"),
            Clock::Told(now) => *now += blksched::Span::from_ns(time.as_nanos() as u64),
        }
    }
}
