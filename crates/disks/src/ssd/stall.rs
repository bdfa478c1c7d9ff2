//! **What for**: a drive that stops taking writes at regular intervals.
//!
//! **Rule**: after every so many writes no write is taken for `time`; those that arrive meanwhile wait. Reads go on.
//!
//! **Origin**: two consumer drives, measured (fio, random writes of 4 KiB, on two hosts): with several writes in flight
//! some 64 go as fast as the link, then those in flight wait, 8 to 9 ms on one host, 4 on the other. What the drive
//! does meanwhile is not known, nor what a read would meet: there is no mixed measurement.
//!
//! **Limits**: one write at a time hardly ever waited on those drives (fewer than one in 100), and here one in `every`
//! does.
//!
//! **Costs when wrong**: the median of such a drive's writes at depth 4 is right and its p99 a hundredth.

use blksched::{Instant, Span};

use crate::StallSpec;

/// The writes since the last pause.
#[derive(Clone, Debug)]
pub(super) struct Stall {
    spec: StallSpec,
    taken: u32,
    until: Instant,
}

impl Stall {
    pub(super) fn new(spec: StallSpec) -> Stall {
        Stall { spec, taken: 0, until: Instant::ZERO }
    }

    /// When a write that could be taken at `ready` is, and how long it waits for that.
    pub(super) fn take(&mut self, ready: Instant) -> (Instant, Span) {
        let at = ready.max(self.until);
        self.taken += 1;
        if self.taken == self.spec.every {
            (self.taken, self.until) = (0, at + self.spec.time);
        }
        (at, at.since(ready))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_third_write_is_followed_by_a_pause() {
        let mut stall = Stall::new(StallSpec { every: 3, time: Span::from_ms(8) });
        let ms = |ms| Instant::ZERO + Span::from_ms(ms);
        let taken: Vec<Instant> = [0, 0, 1, 2, 3, 4, 40].map(|at| stall.take(ms(at)).0).to_vec();
        assert_eq!(taken, [0, 0, 1, 9, 9, 9, 40].map(ms));
        assert_eq!(stall.take(ms(41)), (ms(41), Span::ZERO), "a pause that nobody meets costs nothing");
    }
}
