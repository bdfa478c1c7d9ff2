//! Reads, writes or discards of one job in fio's JSON.

use blksched::Priority;
use serde::Serialize;

use super::parts::Percentiled;
use crate::histogram::Histogram;
use crate::record::{Direction, Engine, JobRecord, Priorities, ReportWishes, Shown, class_number};

/// Reads, writes or discards.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FioDirection {
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
    pub slat_ns: Percentiled,
    /// Completion latency.
    pub clat_ns: Percentiled,
    /// Both together.
    pub lat_ns: Percentiled,
    /// By I/O priority, of jobs that use several (`cmdprio_…`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prios: Vec<Prio>,
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

/// The I/Os of one priority.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prio {
    /// Its class, as Linux numbers them.
    pub prioclass: u32,
    /// Its level.
    pub prio: u8,
    /// Completion latency.
    pub clat_ns: Percentiled,
}

impl FioDirection {
    pub(super) fn new(record: &JobRecord, direction: &Direction, group_bw: f64) -> FioDirection {
        let report = &record.job.report;
        let ran = direction.ios > 0;
        let (bw, iops) = (direction.rate.bandwidth(), direction.rate.iops());
        let per_s = |amount: u64| match record.runtime.as_secs_f64() {
            0.0 => 0.0,
            seconds => amount as f64 / seconds,
        };
        let bw_bytes = per_s(direction.bytes) as u64;
        let percentiled = |moments, histogram| Percentiled::new(moments, histogram, &report.percentiles);
        let clat = (report.clat == Shown::Percentiles).then_some(&direction.clat);
        let slat = match record.job.engine {
            Engine::Blocking => Percentiled::default(),
            Engine::Queueing => percentiled(&direction.slat, direction.slats.as_deref()),
        };
        FioDirection {
            io_bytes: direction.bytes,
            io_kbytes: direction.bytes / 1024,
            bw_bytes,
            bw: bw_bytes / 1024,
            iops: per_s(direction.ios),
            runtime: if ran { record.runtime.as_ns() / 1_000_000 } else { 0 },
            total_ios: direction.ios,
            short_ios: 0,
            drop_ios: 0,
            slat_ns: slat,
            clat_ns: percentiled(direction.clat.moments(), clat),
            lat_ns: percentiled(&direction.lat, direction.lats.as_deref()),
            prios: prios(direction, report),
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

fn prios(direction: &Direction, report: &ReportWishes) -> Vec<Prio> {
    if report.priorities == Priorities::Together {
        return Vec::new();
    }
    let prio = |(priority, clat): (&Priority, &Histogram)| Prio {
        prioclass: class_number(priority.class),
        prio: priority.level,
        clat_ns: Percentiled::new(
            clat.moments(),
            (report.clat == Shown::Percentiles).then_some(clat),
            &report.percentiles,
        ),
    };
    direction.by_priority.iter().map(prio).collect()
}
