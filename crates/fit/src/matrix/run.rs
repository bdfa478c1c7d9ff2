//! A load of a matrix, simulated as diskplorer runs it.

use std::sync::Arc;

use blksched::{Catalogue, Span};
use blksched_disks::DiskSpec;
use blksched_simulate::cpu::{CpuPreset, HostCpus};
use blksched_simulate::{Starts, Surroundings, Trial};
use blksched_workloads::fio::JobFile;

use super::{LatencyMatrix, MatrixCell};

/// How long a load is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatrixEffort {
    /// So many reads after the warm-up …
    pub reads: f64,
    /// … but no shorter than this, and no longer than that \[s\].
    pub seconds: (f64, f64),
    /// What is drawn.
    pub seed: u64,
}

impl MatrixEffort {
    /// For one of hundreds of tries.
    pub const TRY: MatrixEffort = MatrixEffort { reads: 12_000.0, seconds: (0.15, 30.0), seed: 1 };
    /// For a figure that is told.
    pub const TELL: MatrixEffort = MatrixEffort { reads: 40_000.0, seconds: (0.5, 60.0), seed: 1 };
}

/// Processors of a host that nobody described; what each piece of work takes is the usual host's.
const PROCESSORS: u32 = 4;
/// Without a rate diskplorer reads so many per second.
const LEAST_READS: f64 = 10.0;

/// Median and 95th percentile of the reads' latency \[us\].
///
/// # Errors
/// If the load does not fit on the disk, or time stands still.
pub fn simulated_matrix(
    matrix: &LatencyMatrix,
    cell: &MatrixCell,
    disk: &Arc<DiskSpec>,
    effort: MatrixEffort,
) -> Result<[f64; 2], String> {
    let readers = if cell.read_iops > 0.0 { matrix.readers } else { 1 };
    let iops = cell.read_iops.max(LEAST_READS);
    let seconds = (effort.reads / iops).clamp(effort.seconds.0, effort.seconds.1);
    let (run, ramp) = ((seconds * 1e6) as u64, (seconds * 3e5) as u64);
    let writer = match cell.write_rate {
        rate if rate > 0.0 => format!("[w]\nrw=write\nbs=128k\niodepth=32\nrate={rate:.0}\n"),
        _ => String::new(),
    };
    let text = format!(
        "[global]\ndirect=1\nioengine=io_uring\nfilename=/dev/disk\ntime_based\nramp_time={ramp}us\nruntime={run}us\n\
         {writer}[r]\nrw=randread\nbs={}\niodepth=1000\nnumjobs={readers}\nrate_iops={:.0}\nrate_process=poisson\n",
        matrix.bytes,
        (iops / f64::from(readers)).max(1.0),
    );
    let file = JobFile::parse(&text, "matrix").map_err(|errors| errors.to_string())?;
    let plan = file.plan(disk.build(effort.seed).facts().sectors).map_err(|errors| errors.to_string())?;
    let elevator = if disk.build(effort.seed).facts().rotational { "mq-deadline" } else { "none" };
    let trial = Trial {
        elevator: Catalogue::builtin().parse(elevator).map_err(|error| error.to_string())?,
        knobs: Vec::new(),
        surroundings: Surroundings {
            cpus: Some(HostCpus { cpus: PROCESSORS, costs: CpuPreset::usual().costs }),
            starts: Starts::Drawn(0),
            ..Surroundings::default()
        },
        disk: disk.clone(),
        plan: Arc::new(plan),
        seed: effort.seed,
        limit: Span::from_us((run + ramp) * 2) + Span::from_secs(60),
        other_disks: Vec::new(),
        beside: Default::default(),
    };
    let found = trial.simulate_for_shares().map_err(|error| error.to_string())?;
    let all = found.merged(&(0..found.jobs.len()).collect::<Vec<_>>());
    Ok([50.0, 95.0].map(|percent| all.read.clat.percentile(percent).as_ns() as f64 / 1e3))
}
