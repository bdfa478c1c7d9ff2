//! A run's hash: two runs with the same issues and deliveries have the same number.

use core::fmt;

use blksched::{Command, Delivery, Instant, Next, Op, Outcome};

/// FNV-1a over every answer, issue and delivery, with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceHash(u64);

impl Default for TraceHash {
    fn default() -> TraceHash {
        TraceHash(0xCBF2_9CE4_8422_2325)
    }
}

impl TraceHash {
    fn put(&mut self, word: u64) {
        for byte in word.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }

    pub(super) fn answered(&mut self, now: Instant, next: &Next) {
        self.put(now.as_ns());
        match next {
            Next::Issue(command) => self.issued(command),
            Next::Idle { until, .. } => {
                self.put(1);
                self.put(until.as_ns());
            }
            Next::Wait => self.put(2),
            Next::Empty => self.put(3),
            Next::Full => self.put(4),
            Next::Plugged { .. } => self.put(5),
        }
    }

    fn issued(&mut self, command: &Command) {
        let op = match command.op {
            Op::Read => 10,
            Op::Write => 11,
            Op::Discard => 12,
            Op::Flush => 13,
            Op::WriteZeroes => 14,
        };
        let Command { rq, start, sectors, fua, submitter, .. } = *command;
        for word in [op, rq.index() as u64, start.0, sectors.into(), fua.into(), submitter.0.into()] {
            self.put(word);
        }
    }

    pub(super) fn delivered(&mut self, now: Instant, delivery: Delivery) {
        self.put(now.as_ns());
        let (kind, name) = match delivery {
            Delivery::Done { tag, outcome: Outcome::Ok } => (20, tag.0),
            Delivery::Done { tag, outcome: Outcome::Failed } => (21, tag.0),
            Delivery::Awake(submitter) => (22, submitter.0.into()),
            Delivery::Runnable(task) => (23, task.0.into()),
        };
        self.put(kind);
        self.put(name);
    }
}

impl fmt::Display for TraceHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blksched::Tag;

    #[test]
    fn another_time_another_outcome_and_another_order_are_another_trace() {
        let of = |deliveries: &[(u64, u64, Outcome)]| {
            let mut hash = TraceHash::default();
            for &(ns, tag, outcome) in deliveries {
                hash.delivered(Instant::from_ns(ns), Delivery::Done { tag: Tag(tag), outcome });
            }
            hash
        };
        let (a, b) = ((1, 7, Outcome::Ok), (1, 8, Outcome::Ok));
        assert_eq!(of(&[a, b]), of(&[a, b]));
        assert_ne!(of(&[a, b]), of(&[b, a]));
        assert_ne!(of(&[a]), of(&[(2, 7, Outcome::Ok)]));
        assert_ne!(of(&[a]), of(&[(1, 7, Outcome::Failed)]));
    }
}
