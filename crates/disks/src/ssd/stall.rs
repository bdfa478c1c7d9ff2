//! **What for**: a drive that programs many writes at once, and stops taking more when it has as many again.
//!
//! **Rule**: writes are gathered, `every` at a time; a group is programmed for `time`, one after the other. Meanwhile
//! the next group is gathered. When that one is full, too, no write is taken until the first is programmed. Reads go
//! on.
//!
//! **Origin**: two consumer drives, measured (fio, random writes of 4 KiB, on three hosts): with several writes in
//! flight some 64 go as fast as the link, then those in flight wait, 8 to 9 ms on two hosts, 4 on the third. One write
//! at a time waits for less, by about what 64 of them take (5 to 7 ms), and three such drives in an array, each written
//! to at two thirds of that rate, hardly ever stop: both follow from the second group. What a read would meet is not
//! known: there is no mixed measurement.
//!
//! **Limits**: one of these drives, one write at a time, stops half as often on one host, and on the third not at all,
//! though it writes faster there than its groups are programmed: something else takes those writes.
//!
//! **Costs when wrong**: the median of such a drive's writes at depth 4 is right and its p99 a hundredth; without the
//! second group, slow writers would wait that never do.

use blksched::{Instant, Span};

use crate::StallSpec;

/// The group that is gathered, and the one that is programmed.
#[derive(Clone, Debug)]
pub(super) struct Stall {
    spec: StallSpec,
    gathered: u32,
    /// Since when the gathered one has had room.
    since: Instant,
    /// When the other one is done.
    programmed: Instant,
}

impl Stall {
    pub(super) fn new(spec: StallSpec) -> Stall {
        Stall { spec, gathered: 0, since: Instant::ZERO, programmed: Instant::ZERO }
    }

    /// When a write that could be taken at `ready` is, and how long it waits for that.
    pub(super) fn take(&mut self, ready: Instant) -> (Instant, Span) {
        let at = ready.max(self.since);
        self.gathered += 1;
        if self.gathered == self.spec.every {
            self.gathered = 0;
            self.since = at.max(self.programmed);
            self.programmed = self.since + self.spec.time;
        }
        (at, at.since(ready))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(times: &[u64]) -> Vec<u64> {
        let mut stall = Stall::new(StallSpec { every: 3, time: Span::from_ms(8) });
        let take = |ms: &u64| stall.take(Instant::ZERO + Span::from_ms(*ms)).0.as_ns() / 1_000_000;
        times.iter().map(take).collect()
    }

    #[test]
    fn a_group_is_gathered_while_another_is_programmed() {
        // The first is programmed from 1 to 9 ms, the second until 17, the third until 25.
        assert_eq!(taken(&[0, 0, 1, 2, 3, 4, 5, 6, 7, 8]), [0, 0, 1, 2, 3, 4, 9, 9, 9, 17]);
    }

    #[test]
    fn what_comes_no_faster_than_it_is_programmed_never_waits() {
        let slow: Vec<u64> = (0..30).map(|nth| nth * 3).collect();
        assert_eq!(taken(&slow), slow);
        let mut stall = Stall::new(StallSpec { every: 1, time: Span::from_ms(8) });
        let ms = |ms| Instant::ZERO + Span::from_ms(ms);
        assert_eq!(stall.take(ms(1)), (ms(1), Span::ZERO));
        assert_eq!(stall.take(ms(2)), (ms(2), Span::ZERO));
        assert_eq!(stall.take(ms(3)), (ms(9), Span::from_ms(6)));
    }
}
