//! A cell, simulated.

use std::sync::Arc;

use blksched::author::PerDir;
use blksched::{Dir, Span};
use blksched_disks::DiskSpec;
use blksched_measure::Work;
use blksched_simulate::cpu::{CpuCosts, HostCpus};
use blksched_simulate::{Starts, Surroundings, Trial};
use blksched_workloads::fio::JobFile;

use crate::cell::{CellFigures, GridCell, GridLoad};
use crate::host::PathHost;

/// How long a cell is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunEffort {
    /// At least so many I/Os after the warm-up.
    pub ios: u64,
    /// And so many for each that is in flight.
    pub rounds: u64,
    /// Where an elevator gives processes slices, at least this long.
    pub slices: Span,
}

impl RunEffort {
    /// For one of hundreds of tries.
    pub const TRY: RunEffort = RunEffort { ios: 6_000, rounds: 8, slices: Span::from_ms(700) };
    /// For a figure that is told.
    pub const TELL: RunEffort = RunEffort { ios: 30_000, rounds: 20, slices: Span::from_secs(4) };

    fn span(self, load: GridLoad, iops: f64, host: PathHost) -> Span {
        let ios = self.ios.max(self.rounds * u64::from(load.in_flight()));
        let span = Span::from_ns((ios as f64 / iops * 1e9) as u64);
        let is_shared = host.has_slices && load.jobs > 1 && load.in_flight() > 32;
        if is_shared { span.max(self.slices) } else { span }
    }
}

/// What the simulator gives for a cell; its own rate says how long to run.
///
/// # Errors
/// If the load does not fit on the disk, or time stands still.
pub fn simulated(
    cell: &GridCell,
    disk: &Arc<DiskSpec>,
    submit: Span,
    host: PathHost,
    (effort, seed): (RunEffort, u64),
) -> Result<PerDir<Option<CellFigures>>, String> {
    let load = cell.load;
    let run = effort.span(load, cell.iops().max(1.0), host);
    let ramp = run / 5;
    let text = format!(
        "[cell]\ndirect=1\nioengine=libaio\nfilename=/dev/disk\nbs={}\niodepth={}\nnumjobs={}\n{}\ntime_based\n\
         runtime={}us\nramp_time={}us\n",
        load.bytes,
        load.depth,
        load.jobs,
        load.pattern.options(),
        run.as_ns() / 1_000 + 1,
        ramp.as_ns() / 1_000 + 1,
    );
    let file = JobFile::parse(&text, "cell").map_err(|errors| errors.to_string())?;
    let plan = file.plan(disk.build(seed).facts().sectors).map_err(|errors| errors.to_string())?;
    let costs = CpuCosts { submit, ..CpuCosts::default() };
    let trial = Trial {
        elevator: host.elevator(),
        knobs: Vec::new(),
        surroundings: Surroundings {
            cpus: (!submit.is_zero()).then_some(HostCpus { cpus: PROCESSORS, costs }),
            wbt_latency: Some(Span::ZERO),
            starts: Starts::Drawn(0),
            ..Surroundings::default()
        },
        disk: disk.clone(),
        plan: Arc::new(plan),
        seed,
        limit: run + ramp * 2 + Span::from_secs(60),
        other_disks: Vec::new(),
        beside: Default::default(),
    };
    let found = trial.simulate_for_shares().map_err(|error| error.to_string())?;
    let all = found.merged(&(0..found.jobs.len()).collect::<Vec<_>>());
    Ok(PerDir::from_fn(|dir| {
        cell.figures[dir].map(|_| {
            let (work, side) = if dir == Dir::Read { (Work::Read, &all.read) } else { (Work::Write, &all.write) };
            let us = |percent| side.clat.percentile(percent).as_ns() as f64 / 1e3;
            CellFigures { iops: all.iops(work), p50_us: us(50.0), p99_us: us(99.0), p999_us: us(99.9) }
        })
    }))
}

/// The seed of a fit: every try draws the same.
pub const SEED: u64 = 1;
/// Of a host that nobody described.
const PROCESSORS: u32 = 16;
