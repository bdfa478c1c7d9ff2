//! One job of fio's JSON.

use serde::Serialize;

use super::parts::{Clat, Latency, Pairs, Steps, steps};
use crate::record::{DEPTH_BOUNDS, Direction, Engine, JobRecord, LATENCY_BOUNDS_NS, Work as Kind};

/// A job, or a group of jobs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Job {
    /// Its section's name.
    pub jobname: String,
    /// Its reporting group.
    pub groupid: u32,
    /// The first error it met: none.
    pub error: i32,
    /// Seconds to go: none.
    pub eta: u32,
    /// Seconds from the run's start to its end, begun seconds counted (observed: 2.0 s show as 3).
    pub elapsed: u64,
    /// Options of its section, as written.
    #[serde(rename = "job options")]
    pub options: Pairs<String>,
    /// Reads.
    pub read: Work,
    /// Writes.
    pub write: Work,
    /// Discards.
    pub trim: Work,
    /// Flushes.
    pub sync: Sync,
    /// Runtimes of all its jobs together \[ms\].
    pub job_runtime: u64,
    /// Processor time in user mode \[%\]: 0.
    pub usr_cpu: f64,
    /// Processor time in the kernel \[%\]: 0.
    pub sys_cpu: f64,
    /// Context switches: 0.
    pub ctx: u64,
    /// Major page faults: 0.
    pub majf: u64,
    /// Minor page faults: 0.
    pub minf: u64,
    /// I/Os in flight at submission \[%\].
    pub iodepth_level: Steps,
    /// I/Os per submission \[%\]: one each.
    pub iodepth_submit: Steps,
    /// I/Os per completion \[%\]: one each.
    pub iodepth_complete: Steps,
    /// Completion latencies below 1000 ns \[%\].
    pub latency_ns: Steps,
    /// Completion latencies below 1000 us \[%\].
    pub latency_us: Steps,
    /// Completion latencies from there \[%\].
    pub latency_ms: Steps,
    /// Its `iodepth`.
    pub latency_depth: u32,
    /// `latency_target`: unset.
    pub latency_target: u64,
    /// `latency_percentile`: its default.
    pub latency_percentile: f64,
    /// `latency_window`: unset.
    pub latency_window: u64,
}

/// Reads, writes or discards.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Work {
    /// Bytes transferred.
    pub io_bytes: u64,
    /// The same \[KiB\].
    pub io_kbytes: u64,
    /// Bandwidth over the runtime \[bytes/s\].
    pub bw_bytes: u64,
    /// The same \[KiB/s\].
    pub bw: u64,
    /// I/Os per second over the runtime.
    pub iops: f64,
    /// The runtime \[ms\]; 0 if there was no I/O of this kind.
    pub runtime: u64,
    /// I/Os completed.
    pub total_ios: u64,
    /// I/Os that transferred less than asked: none.
    pub short_ios: u64,
    /// I/Os that failed: none.
    pub drop_ios: u64,
    /// Submission latency.
    pub slat_ns: Latency,
    /// Completion latency.
    pub clat_ns: Clat,
    /// Both together.
    pub lat_ns: Latency,
    /// Bandwidth samples \[KiB/s\].
    pub bw_min: u64,
    /// Greatest.
    pub bw_max: u64,
    /// Their mean in percent of the whole group's bandwidth, at most 100.
    pub bw_agg: f64,
    /// Mean.
    pub bw_mean: f64,
    /// Standard deviation.
    pub bw_dev: f64,
    /// How many.
    pub bw_samples: u64,
    /// Samples of I/Os per second.
    pub iops_min: u64,
    /// Greatest.
    pub iops_max: u64,
    /// Mean.
    pub iops_mean: f64,
    /// Standard deviation.
    pub iops_stddev: f64,
    /// How many.
    pub iops_samples: u64,
}

/// Flushes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sync {
    /// How many.
    pub total_ios: u64,
    /// How long they took.
    pub lat_ns: Clat,
}

impl Job {
    /// One record, with the bandwidth \[bytes/s\] of its whole group by kind of work.
    pub fn new(record: &JobRecord, options: Vec<(String, String)>, group_bw: impl Fn(Kind) -> f64) -> Job {
        let work = |kind| Work::new(record, kind, group_bw(kind));
        let [latency_ns, latency_us, latency_ms] = latencies(record);
        Job {
            jobname: record.job.name.clone(),
            groupid: record.job.group,
            error: 0,
            eta: 0,
            elapsed: record.ended.as_ns() / 1_000_000_000 + 1,
            options: Pairs(options),
            read: work(Kind::Read),
            write: work(Kind::Write),
            trim: work(Kind::Trim),
            sync: Sync { total_ios: record.sync.ios, lat_ns: (&record.sync.clat).into() },
            job_runtime: record.job_runtime.as_ns() / 1_000_000,
            usr_cpu: 0.0,
            sys_cpu: 0.0,
            ctx: 0,
            majf: 0,
            minf: 0,
            iodepth_level: steps(depth_keys(), record.depths.counts(), record.depths.total(), 0.1),
            iodepth_submit: one_at_a_time(record),
            iodepth_complete: one_at_a_time(record),
            latency_ns,
            latency_us,
            latency_ms,
            latency_depth: record.job.depth,
            latency_target: 0,
            latency_percentile: 100.0,
            latency_window: 0,
        }
    }
}

impl Work {
    fn new(record: &JobRecord, kind: Kind, group_bw: f64) -> Work {
        let direction = record.work(kind);
        let ran = direction.ios > 0;
        let (bw, iops) = (direction.rate.bandwidth(), direction.rate.iops());
        let bw_bytes = record.bandwidth(kind) as u64;
        Work {
            io_bytes: direction.bytes,
            io_kbytes: direction.bytes / 1024,
            bw_bytes,
            bw: bw_bytes / 1024,
            iops: record.iops(kind),
            runtime: if ran { record.runtime.as_ns() / 1_000_000 } else { 0 },
            total_ios: direction.ios,
            short_ios: 0,
            drop_ios: 0,
            slat_ns: slat(record, direction),
            clat_ns: (&direction.clat).into(),
            lat_ns: (&direction.lat).into(),
            bw_min: bw.min,
            bw_max: bw.max,
            bw_agg: if group_bw > 0.0 { (bw.mean * 1024.0 / group_bw * 100.0).min(100.0) } else { 0.0 },
            bw_mean: bw.mean,
            bw_dev: bw.stddev,
            bw_samples: bw.samples,
            iops_min: iops.min,
            iops_max: iops.max,
            iops_mean: iops.mean,
            iops_stddev: iops.stddev,
            iops_samples: iops.samples,
        }
    }
}

fn slat(record: &JobRecord, direction: &Direction) -> Latency {
    match record.job.engine {
        Engine::Blocking => Latency::default(),
        Engine::Queueing => (&direction.slat).into(),
    }
}

/// `1`, `2`, … `>=64`.
fn depth_keys() -> impl Iterator<Item = String> {
    let last = DEPTH_BOUNDS.len() - 1;
    DEPTH_BOUNDS
        .iter()
        .enumerate()
        .map(move |(i, bound)| if i == last { format!(">={bound}") } else { bound.to_string() })
}

/// Every call submits, or reaps, one I/O: fio's step from 1 to 4.
fn one_at_a_time(record: &JobRecord) -> Steps {
    let keys = ["0", "4", "8", "16", "32", "64", ">=64"].map(str::to_owned);
    let ios = record.depths.total();
    steps(keys, &[0, ios, 0, 0, 0, 0, 0], ios, 0.1)
}

/// The three lists of latency steps, each under its own unit.
fn latencies(record: &JobRecord) -> [Steps; 3] {
    let (counts, total) = (record.latencies.counts(), record.latencies.total());
    let list = |from: usize, upto: usize, unit_ns: u64| {
        let bounds = LATENCY_BOUNDS_NS[from..upto.min(LATENCY_BOUNDS_NS.len())].iter();
        let beyond = (upto > LATENCY_BOUNDS_NS.len()).then(|| ">=2000".to_owned());
        let keys = bounds.map(|bound| (bound / unit_ns).to_string()).chain(beyond);
        steps(keys, &counts[from..upto], total, 0.01)
    };
    [list(0, 10, 1), list(10, 20, 1_000), list(20, counts.len(), 1_000_000)]
}
