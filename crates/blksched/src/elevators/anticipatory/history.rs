//! A process's think time between two reads and its seek distance; and the same for new processes.
//!
//! **Rule** Moving averages in fixed point: each sample `x` moves `total` by an eighth towards 256·x, and `samples` by
//! an eighth towards 256; the mean is their quotient, rounded. Think time counts from the last completion if nothing is
//! in flight, otherwise it is 0; it is at most one tick less than 20 ms. A seek is capped at four times the mean plus 1
//! GiB (64 MiB once there are three samples). The first sample of each process also moves the averages over new
//! processes.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#a.4 and #c5.
//! **In the kernel** `as_update_thinktime`, `as_update_seekdist`, `new_ttime_mean`, `ttime_mean`, `seek_mean`,
//! `as_update_iohist`, `new_seek_mean`.

use crate::request::Sector;
use crate::time::Tick;

/// A moving average; `total` and `samples` in 256ths.
#[derive(Clone, Copy, Debug, Default)]
struct Average {
    samples: u64,
    total: u64,
    mean: u64,
}

fn towards(value: u64, sample: u64) -> u64 {
    (value.saturating_mul(7).saturating_add(sample.saturating_mul(256))) / 8
}

impl Average {
    const NONE: Average = Average { samples: 0, total: 0, mean: 0 };

    /// Adds a sample; `half` is added so that the quotient is rounded.
    fn add(&mut self, x: u64, half: impl Fn(u64) -> u64) {
        self.samples = towards(self.samples, 1);
        self.total = towards(self.total, x);
        self.mean = self.total.saturating_add(half(self.samples)) / self.samples;
    }
}

/// The think time and seek distance of one process.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct History {
    think: Average,
    seek: Average,
    /// The end of the last read queued, if any was.
    last_end: Option<Sector>,
}

/// The think time and seek distance of new processes: averages over first samples.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Newcomers {
    think_total: u64,
    seek_total: u64,
}

impl Newcomers {
    /// Mean think time \[ticks\].
    pub(super) fn think(self) -> Tick {
        self.think_total / 256
    }

    /// Mean seek \[sectors\].
    pub(super) fn seek(self) -> u64 {
        self.seek_total / 256
    }
}

/// The effect of a read on the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HistoryUpdate {
    /// It was the first: there is no sample yet.
    First,
    /// It was the second: the process stayed.
    Stayed,
    Known,
}

impl History {
    pub(super) const NEW: History = History { think: Average::NONE, seek: Average::NONE, last_end: None };

    /// Whether there is no sample yet of its think time.
    pub(super) fn is_new(&self) -> bool {
        self.think.samples == 0
    }

    /// Mean think time \[ticks\], if there is a sample.
    pub(super) fn think(&self) -> Option<Tick> {
        (!self.is_new()).then_some(self.think.mean)
    }

    /// Mean seek \[sectors\], if there is a sample.
    pub(super) fn seek(&self) -> Option<u64> {
        (self.seek.samples > 0).then_some(self.seek.mean)
    }

    /// Adds a read of this process, or one so close that it counts as its own, from `start` to `end`, after a think
    /// time.
    pub(super) fn learn(
        &mut self,
        think: Tick,
        start: Sector,
        end: Sector,
        newcomers: &mut Newcomers,
    ) -> HistoryUpdate {
        let Some(last) = self.last_end.replace(end) else { return HistoryUpdate::First };
        let is_new = self.is_new();
        let distance = start.distance(last);
        if is_new {
            newcomers.think_total = towards(newcomers.think_total, think);
        }
        if self.seek.samples == 0 {
            newcomers.seek_total = towards(newcomers.seek_total, distance);
        }
        self.think.add(think, |_| 128);
        self.seek.add(self.cut(distance), |samples| samples / 2);
        if is_new { HistoryUpdate::Stayed } else { HistoryUpdate::Known }
    }

    fn cut(&self, distance: u64) -> u64 {
        let slack = if self.seek.samples <= 60 { 2 * 1024 * 1024 } else { 2 * 1024 * 64 };
        distance.min(self.seek.mean.saturating_mul(4).saturating_add(slack))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads of eight sectors at these starts, each after this many ticks.
    fn reader(reads: &[(u64, Tick)]) -> (History, Newcomers, Vec<HistoryUpdate>) {
        let (mut history, mut newcomers) = (History::default(), Newcomers::default());
        let updates =
            reads.iter().map(|&(start, think)| history.learn(think, Sector(start), Sector(start + 8), &mut newcomers));
        let updates = updates.collect();
        (history, newcomers, updates)
    }

    #[test]
    fn the_first_read_teaches_nothing_and_the_second_that_the_process_stays() {
        let (history, _, updates) = reader(&[(0, 9), (8, 3), (16, 3)]);
        assert_eq!(updates, [HistoryUpdate::First, HistoryUpdate::Stayed, HistoryUpdate::Known]);
        assert_eq!((history.think.samples, history.think(), history.seek()), (60, Some(5), Some(0)));
    }

    #[test]
    fn a_mean_follows_its_samples_and_starts_too_high_by_the_rounding() {
        let (history, ..) = reader(&[(0, 0), (8, 2)]);
        assert_eq!((history.think.total, history.think()), (64, Some(6)));
        let (history, ..) = reader(&[(0, 2); 60]);
        assert_eq!(history.think(), Some(2));
    }

    #[test]
    fn a_far_seek_counts_as_a_gibibyte_at_first() {
        let (history, newcomers, _) = reader(&[(0, 0), (1 << 40, 0)]);
        assert_eq!(history.seek(), Some(2 * 1024 * 1024));
        assert_eq!(newcomers.seek(), ((1 << 40) - 8) / 8);
    }

    #[test]
    fn new_processes_are_judged_by_the_second_reads_of_others() {
        let (_, newcomers, _) = reader(&[(0, 0), (8, 16), (16, 1000)]);
        assert_eq!(newcomers.think(), 2);
    }
}
