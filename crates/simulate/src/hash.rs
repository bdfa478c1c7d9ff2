//! One number for everything a run did: the same bytes in, the same number out, on every platform.

use blksched::{Command, Instant, Op};

/// A running hash over what the device was asked to do, when, and when it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceHash(u64);

impl Default for TraceHash {
    fn default() -> TraceHash {
        TraceHash(0xcbf2_9ce4_8422_2325)
    }
}

impl TraceHash {
    /// The number.
    pub fn value(self) -> u64 {
        self.0
    }

    pub(crate) fn issued(&mut self, now: Instant, command: &Command) {
        let op = match command.op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Discard => 2,
            Op::Flush => 3,
            Op::WriteZeroes => 4,
        };
        self.mix(now.as_ns());
        self.mix(command.start.0);
        self.mix(u64::from(command.sectors) << 2 | op);
    }

    pub(crate) fn completed(&mut self, now: Instant, index: usize) {
        self.mix(now.as_ns());
        self.mix(index as u64);
    }

    /// FNV-1a by words, with a rotation so that high bits count too.
    fn mix(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }
}

impl core::fmt::Display for TraceHash {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
