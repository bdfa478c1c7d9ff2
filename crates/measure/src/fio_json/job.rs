//! One job of fio's JSON.

use serde::Serialize;

use super::parts::{Pairs, Percentiled, Steps, steps};
use super::work::FioDirection;
use crate::record::{DEPTH_BOUNDS, Direction, JobRecord, LATENCY_BOUNDS_NS, OnError, Shown, Unified, Work as Kind};

/// A job, or a group of jobs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FioJob {
    /// Its section's name.
    pub jobname: String,
    /// Its reporting group.
    pub groupid: u32,
    /// Why it gave up: an error number, 0 if it did not.
    pub error: i32,
    /// Seconds to go: none.
    pub eta: u32,
    /// Seconds from the run's start to its end; an incomplete second counts (observed: 2.0 s is shown as 3).
    pub elapsed: u64,
    /// Options of its section, as written.
    #[serde(rename = "job options")]
    pub options: Pairs<String>,
    /// Reads, unless only the mix is reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<FioDirection>,
    /// Writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<FioDirection>,
    /// Discards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trim: Option<FioDirection>,
    /// Flushes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<Sync>,
    /// Reads, writes and discards as one, if asked for (`unified_rw_reporting`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixed: Option<FioDirection>,
    /// The sum of the runtimes of all its jobs \[ms\].
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
    /// I/Os that failed, if they do not end the job (`continue_on_error`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_err: Option<u64>,
    /// The first error's number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_error: Option<i32>,
    /// Its `iodepth`.
    pub latency_depth: u32,
    /// `latency_target`: unset.
    pub latency_target: u64,
    /// `latency_percentile`: its default.
    pub latency_percentile: f64,
    /// `latency_window`: unset.
    pub latency_window: u64,
    /// Its `description`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desc: Option<String>,
}

/// Flushes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sync {
    /// How many there were.
    pub total_ios: u64,
    /// How long they took.
    pub lat_ns: Percentiled,
}

impl FioJob {
    /// One record, with the bandwidth \[bytes/s\] of its whole group by kind of work.
    pub fn new(record: &JobRecord, options: Vec<(String, String)>, group_bw: impl Fn(Kind) -> f64) -> FioJob {
        let report = &record.job.report;
        let apart = report.unified != Unified::Mixed;
        let work = |kind| apart.then(|| FioDirection::new(record, record.work(kind), group_bw(kind)));
        let mixed = (report.unified != Unified::Apart).then(|| mixed(record, &group_bw));
        let counted = (report.on_error == OnError::Counts).then_some(record.errors);
        let [latency_ns, latency_us, latency_ms] = latencies(record);
        FioJob {
            jobname: record.job.name.clone(),
            groupid: record.job.group,
            error: record.error,
            eta: 0,
            elapsed: record.ended.as_ns() / 1_000_000_000 + 1,
            options: Pairs(options),
            read: work(Kind::Read),
            write: work(Kind::Write),
            trim: work(Kind::Trim),
            sync: apart.then(|| Sync::new(record)),
            mixed,
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
            total_err: counted,
            first_error: counted.map(|errors| if errors > 0 { EIO } else { 0 }),
            latency_depth: record.job.depth,
            latency_target: report.latency_target.0.as_ns() / 1_000,
            latency_percentile: report.latency_target.2,
            latency_window: report.latency_target.1.as_ns() / 1_000,
            desc: report.description.clone(),
        }
    }
}

/// The only error of a simulated disk.
const EIO: i32 = 5;

impl Sync {
    fn new(record: &JobRecord) -> Sync {
        let (clat, report) = (&record.sync.clat, &record.job.report);
        // As observed: percentiles of either kind imply those of flushes.
        let shown = report.clat == Shown::Percentiles || report.lat == Shown::Percentiles;
        let histogram = shown.then_some(clat);
        Sync { total_ios: record.sync.ios, lat_ns: Percentiled::new(clat.moments(), histogram, &report.percentiles) }
    }
}

/// All directions as one.
fn mixed(record: &JobRecord, group_bw: impl Fn(Kind) -> f64) -> FioDirection {
    let kinds = [Kind::Read, Kind::Write, Kind::Trim];
    let mut all = Direction::default();
    kinds.iter().for_each(|kind| all.merge(record.work(*kind)));
    FioDirection::new(record, &all, kinds.into_iter().map(group_bw).sum())
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
