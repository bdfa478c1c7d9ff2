//! What was done in a part of a run, so that parts can be compared.

use blksched::Instant;
use blksched_measure::{Series, Work};
use blksched_simulate::Findings;
use blksched_workloads::Plan;

/// What was done in half of a run, its warm-up left out.
#[derive(Clone, Copy)]
pub(crate) struct Half {
    /// I/Os per second.
    pub(crate) iops: f64,
    /// The mean latency \[ns\]; NaN if nothing was done.
    pub(crate) mean: f64,
}

impl Half {
    pub(super) const NOTHING: Half = Half { iops: 0.0, mean: f64::NAN };

    /// The halves of what these processes did from their warm-up to their end.
    pub(super) fn of(plan: &Plan, run: &Findings, members: &[usize], work: Work) -> [Half; 2] {
        let mut series = Series::default();
        members.iter().for_each(|&job| series.merge(&run.jobs[job].series[work as usize]));
        let Some(first) = series.first() else { return [Half::NOTHING; 2] };
        let ramp = members.iter().map(|&job| plan.jobs[job].report.ramp).max().unwrap_or_default();
        let ended = |&job: &usize| run.jobs[job].exited.unwrap_or(Instant::ZERO + run.elapsed);
        let (from, until) = (first + ramp, members.iter().map(ended).max().unwrap_or(first));
        let half = until.since(from.min(until)) / 2;
        let of = |from: Instant, until: Instant| {
            let done = series.between(from, until);
            Half { iops: done.ios as f64 / half.as_secs_f64().max(f64::MIN_POSITIVE), mean: done.mean() }
        };
        [of(from, from + half), of(from + half, until)]
    }
}
