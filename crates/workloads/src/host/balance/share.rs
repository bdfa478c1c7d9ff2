//! The devices' shares of the dirty limit: the one that writes more may have more dirty memory.
//!
//! **Rule** a device's share is its part of all pages that were written. Every [`PERIOD`] everything counted so far
//! counts half.
//! **Origin** the form is verified with a recording of a device beside others: 83 samples of `BdiDirtyThresh` differ by
//! 1 % of the limit in the mean. The period is MEMORY, 3 s: the recordings agree with 1.5 to 2.5 s as well, since only
//! one of the recorded devices was busy.
//!
//! In the kernel: `fprop`, `VM_COMPLETIONS_PERIOD_LEN`.

use blksched::{Instant, Span};

/// After this time, what was written counts half.
const PERIOD: Span = Span::from_secs(3);

/// What each device wrote.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    written: Vec<f64>,
    period: u64,
}

impl Shares {
    pub fn new(devices: usize) -> Shares {
        Shares { written: vec![0.0; devices], period: 0 }
    }

    pub fn wrote(&mut self, now: Instant, device: usize, pages: u64) {
        self.age(now);
        self.written[device] += pages as f64;
    }

    /// A device's share, 0 to 1. Of a memory with a single device it is 1 from the beginning.
    pub fn of(&mut self, now: Instant, device: usize) -> f64 {
        if self.written.len() == 1 {
            return 1.0;
        }
        self.age(now);
        let all: f64 = self.written.iter().sum();
        if all > 0.0 { self.written[device] / all } else { 0.0 }
    }

    fn age(&mut self, now: Instant) {
        let period = now.as_ns() / PERIOD.as_ns();
        let halvings = (period - self.period).min(64) as i32;
        if halvings > 0 {
            self.written.iter_mut().for_each(|pages| *pages /= 2.0_f64.powi(halvings));
            self.period = period;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn a_share_is_what_was_written_and_old_writes_count_less() {
        let mut shares = Shares::new(2);
        assert_eq!([shares.of(at(0), 0), shares.of(at(0), 1)], [0.0, 0.0], "nobody has written");
        shares.wrote(at(0), 0, 300);
        shares.wrote(at(0), 1, 100);
        assert_eq!([shares.of(at(1), 0), shares.of(at(1), 1)], [0.75, 0.25]);
        // Two periods later the old writes count a quarter.
        shares.wrote(at(6_000), 1, 100);
        assert_eq!(shares.of(at(6_000), 1), 125.0 / 200.0);
        assert_eq!(shares.of(at(600_000), 1), 125.0 / 200.0, "age alone changes no share");
    }

    #[test]
    fn a_single_device_has_everything() {
        assert_eq!(Shares::new(1).of(at(0), 0), 1.0);
    }
}
