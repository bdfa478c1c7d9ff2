//! Time series, in equal parts of the run: each job's throughput, and the numbers of requests queued and in the disk.

use serde_json::{Value, json};

use crate::columns::Columns;
use crate::recorded::RecordedRun;

/// The number of parts of a run.
pub(crate) const BINS: usize = 2048;

/// The width of a part \[ns\].
pub(crate) fn width(run: &RecordedRun) -> u64 {
    run.elapsed_ns.div_ceil(BINS as u64).max(1)
}

/// Bytes completed in each part, for each job.
pub(crate) fn throughput(run: &RecordedRun) -> Vec<Vec<u64>> {
    let mut bins = vec![vec![0; BINS]; run.jobs.len()];
    let width = width(run);
    for io in &run.ios {
        let job = run.jobs_of.get(io.process as usize).copied().unwrap_or(0) as usize;
        let at = ((io.begun_ns + io.latency_ns) / width) as usize;
        if let Some(bin) = bins.get_mut(job).and_then(|bins| bins.get_mut(at.min(BINS - 1))) {
            *bin += io.sectors * 512;
        }
    }
    bins
}

/// Requests in the scheduler and commands in the disk: in each part the mean in thousandths, and the maximum.
pub(crate) struct Depth {
    pub(crate) mean: Vec<u64>,
    pub(crate) most: Vec<u64>,
}

/// Counts spans, each from when until when something was there.
pub(crate) fn depth(run: &RecordedRun, spans: impl Iterator<Item = (u64, u64)>) -> Depth {
    let width = width(run);
    let mut changes: Vec<(u64, i64)> =
        spans.filter(|(from, to)| from < to).flat_map(|(a, b)| [(a, 1), (b, -1)]).collect();
    changes.sort_unstable();
    let (mut mean, mut most) = (vec![0; BINS], vec![0; BINS]);
    let (mut now, mut depth, mut next) = (0_u64, 0_i64, 0);
    for bin in 0..BINS {
        let end = (bin as u64 + 1) * width;
        let (mut area, mut peak) = (0_u128, depth);
        while let Some(&(at, by)) = changes.get(next).filter(|(at, _)| *at < end) {
            area += u128::from(at - now) * depth.max(0) as u128;
            (now, depth, next) = (at, depth + by, next + 1);
            peak = peak.max(depth);
        }
        area += u128::from(end - now) * depth.max(0) as u128;
        now = end;
        mean[bin] = (area * 1000 / u128::from(width)) as u64;
        most[bin] = peak.max(0) as u64;
    }
    Depth { mean, most }
}

pub(crate) fn pack(run: &RecordedRun, columns: &mut Columns) -> Value {
    let per_job: Vec<_> = throughput(run).into_iter().map(|bins| columns.plain(bins.into_iter())).collect();
    let queued = depth(run, run.sent.iter().map(|sent| (sent.queued_ns, sent.issued_ns)));
    let in_disk = depth(run, run.sent.iter().map(|sent| (sent.issued_ns, sent.ended_ns)));
    let mut two = |depth: Depth| {
        let (mean, most) = (columns.plain(depth.mean.into_iter()), columns.plain(depth.most.into_iter()));
        json!({ "mean": mean, "most": most })
    };
    json!({ "width_ns": width(run), "bytes": per_job, "queued": two(queued), "in_disk": two(in_disk) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_a_mean_over_time_and_its_peak() {
        let run = RecordedRun { elapsed_ns: BINS as u64 * 100, ..RecordedRun::default() };
        let depth = depth(&run, [(0, 50), (25, 150), (30, 30)].into_iter());
        assert_eq!((depth.mean[0], depth.most[0]), (1250, 2));
        assert_eq!((depth.mean[1], depth.most[1]), (500, 1));
        assert_eq!((depth.mean[2], depth.most[2]), (0, 0));
    }
}
