//! What was done of one kind of work, in a run or in part of it.

use blksched::Span;
use blksched_measure::{Histogram, JobRecord, Tally, Work};

use super::half::Half;

/// What was done of one kind of work.
pub(crate) struct Done {
    pub(crate) ios: u64,
    pub(crate) bandwidth: f64,
    pub(crate) iops: f64,
    /// Whether its submitters slept for request slots.
    pub(crate) slept: bool,
    /// Completion latency \[ns\]: mean, p50, p99, p99.9, max; NaN where there are too few I/Os.
    pub(crate) clat: [f64; 5],
    /// What was done in each half of the run.
    pub(crate) halves: [Half; 2],
}

impl Done {
    pub(super) const NOTHING: Done =
        Done { ios: 0, bandwidth: 0.0, iops: 0.0, slept: false, clat: [f64::NAN; 5], halves: [Half::NOTHING; 2] };

    /// In a whole run.
    pub(super) fn of(record: &JobRecord, work: Work, halves: [Half; 2]) -> Done {
        let direction = record.work(work);
        Done {
            ios: direction.ios,
            bandwidth: record.bandwidth(work),
            iops: record.iops(work),
            slept: direction.slat.mean() > 0.01 * direction.lat.mean(),
            clat: latencies(&direction.clat),
            halves,
        }
    }

    /// What was done in part of a run, in so much of its time.
    pub(super) fn of_tally(tally: &Tally, time: Span) -> Done {
        let per_second = |amount: u64| amount as f64 / time.as_secs_f64().max(f64::MIN_POSITIVE);
        Done {
            ios: tally.ios,
            bandwidth: per_second(tally.bytes),
            iops: per_second(tally.ios),
            slept: false,
            clat: latencies(&tally.clat),
            halves: [Half::NOTHING; 2],
        }
    }
}

/// Mean, p50, p99, p99.9, max \[ns\]. The latency of a direction in which nothing completed is unknown, not zero.
fn latencies(clat: &Histogram) -> [f64; 5] {
    let known = |ns: f64| if clat.is_empty() { f64::NAN } else { ns };
    let [p50, p99, p999] = [50.0, 99.0, 99.9].map(|percent| percentile(clat, percent));
    [known(clat.mean()), p50, p99, p999, known(clat.max().as_ns() as f64)]
}

/// There are too few I/Os if less than one lies beyond the percentile.
pub(super) fn percentile(clat: &Histogram, percent: f64) -> f64 {
    let enough = clat.count() as f64 * (100.0 - percent) >= 99.999;
    if enough { clat.percentile(percent).as_ns() as f64 } else { f64::NAN }
}
