//! Bandwidth and I/Os per second, sampled every 500 ms as fio does by default (`bwavgtime`, `iopsavgtime`).

use blksched::{Instant, Span};

use crate::moments::Moments;

/// One sample's length: fio's default.
const WINDOW: Span = Span::from_ms(500);

/// Samples of one job's rates in one direction, and their sums over merged jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    own: Samples,
    merged: Vec<Samples>,
    bytes: u64,
    ios: u64,
    /// Windows closed before the first completion: samples of 0 if a completion ever comes, otherwise not counted.
    silent: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Samples {
    kib_per_s: Moments,
    iops: Moments,
}

/// What fio prints of a rate's samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSummary {
    /// Least; over merged jobs the sum of each one's least.
    pub min: u64,
    /// Greatest; over merged jobs the sum of each one's greatest.
    pub max: u64,
    /// Mean; over merged jobs the sum of each one's mean.
    pub mean: f64,
    /// Standard deviation (n − 1); over merged jobs that of all samples around their own job's mean.
    pub stddev: f64,
    /// How many samples.
    pub samples: u64,
}

impl Rate {
    /// Counts a completion in the open window.
    pub(super) fn completed(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.ios += 1;
    }

    /// Closes `windows` windows: what was counted belongs to the first, and the others are empty.
    pub(super) fn close(&mut self, windows: u64) {
        if windows == 0 {
            return;
        }
        if self.ios == 0 && self.own.iops.count() == 0 {
            self.silent += windows;
            return;
        }
        let silent = core::mem::take(&mut self.silent);
        self.record_nothing(silent);
        let per_s = 1_000_000_000 / WINDOW.as_ns();
        self.own.kib_per_s.record(self.bytes * per_s / 1024);
        self.own.iops.record(self.ios * per_s);
        self.record_nothing(windows - 1);
        (self.bytes, self.ios) = (0, 0);
    }

    fn record_nothing(&mut self, windows: u64) {
        self.own.kib_per_s.record_n(0, windows);
        self.own.iops.record_n(0, windows);
    }

    /// Bandwidth \[KiB/s\].
    pub fn bandwidth(&self) -> RateSummary {
        self.summary(|samples| samples.kib_per_s)
    }

    /// I/Os per second.
    pub fn iops(&self) -> RateSummary {
        self.summary(|samples| samples.iops)
    }

    pub(super) fn merge(&mut self, other: &Rate) {
        self.merged.push(other.own);
        self.merged.extend(&other.merged);
    }

    fn summary(&self, of: impl Fn(&Samples) -> Moments) -> RateSummary {
        let mut sum = RateSummary::default();
        let mut squared = 0.0;
        for samples in core::iter::once(&self.own).chain(&self.merged) {
            let moments = of(samples);
            sum.min += moments.min();
            sum.max += moments.max();
            sum.mean += moments.mean();
            sum.samples += moments.count();
            squared += moments.squared_deviations();
        }
        sum.stddev = if sum.samples < 2 { 0.0 } else { libm::sqrt(squared / (sum.samples - 1) as f64) };
        sum
    }
}

/// Counts the windows of a job that have passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Windows {
    closed: u64,
}

impl Windows {
    /// How many windows of a job that began at `start` have ended by `now` and were not reported before.
    pub(super) fn passed(&mut self, start: Instant, now: Instant) -> u64 {
        let ended = now.since(start).as_ns() / WINDOW.as_ns();
        let passed = ended.saturating_sub(self.closed);
        self.closed += passed;
        passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One sample of each bandwidth \[KiB/s\].
    fn sampled(kib_per_s: &[u64]) -> Rate {
        let mut rate = Rate::default();
        for &kib in kib_per_s {
            rate.completed(kib * 512);
            rate.close(1);
        }
        rate
    }

    #[test]
    fn a_sample_is_the_rate_over_its_window() {
        let bandwidth = sampled(&[64, 64, 66]).bandwidth();
        assert_eq!((bandwidth.min, bandwidth.max, bandwidth.samples), (64, 66, 3));
        assert_eq!(format!("{:.6} {:.6}", bandwidth.mean, bandwidth.stddev), "64.666667 1.154701");
        assert_eq!(sampled(&[64]).iops().mean, 2.0);
    }

    #[test]
    fn merged_jobs_sum_as_fio_sums_them() {
        // Observed: two jobs whose samples were 64, 64, 66 each were reported as 128, 132, 129.33 ± 1.032796 over 6.
        let mut rate = sampled(&[64, 64, 66]);
        rate.merge(&sampled(&[64, 64, 66]));
        let sum = rate.bandwidth();
        assert_eq!((sum.min, sum.max, sum.samples), (128, 132, 6));
        assert_eq!(format!("{:.6} {:.6}", sum.mean, sum.stddev), "129.333333 1.032796");
    }

    #[test]
    fn windows_without_completions_are_samples_of_nothing() {
        let mut rate = Rate::default();
        rate.completed(1024 * 512);
        rate.close(3);
        rate.close(0);
        assert_eq!((rate.bandwidth().samples, rate.bandwidth().min, rate.bandwidth().max), (3, 0, 1024));
    }

    #[test]
    fn windows_before_the_first_completion_count_once_there_is_one() {
        let mut rate = Rate::default();
        rate.close(2);
        assert_eq!(rate.iops().samples, 0);
        rate.completed(4096);
        rate.close(1);
        assert_eq!((rate.iops().samples, rate.iops().min, rate.iops().max), (3, 0, 2));
    }

    #[test]
    fn each_window_passes_once() {
        let (mut windows, at) = (Windows::default(), |ms| Instant::ZERO + Span::from_ms(ms));
        let passed: Vec<u64> = [100, 599, 600, 601, 2100].map(|ms| windows.passed(at(100), at(ms))).into();
        assert_eq!(passed, [0, 0, 1, 0, 3]);
    }
}
