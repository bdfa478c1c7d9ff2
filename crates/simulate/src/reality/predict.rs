//! The simulator's half.

use std::sync::Arc;

use blksched::author::RequestId;
use blksched::{Catalogue, Command, Instant, Op, Sector, Span, SubmitterId};
use blksched_disks::{Disk, DiskSpec};
use blksched_measure::{Direction, Work};
use blksched_workloads::Plan;

use super::row::Row;
use crate::hash::TraceHash;
use crate::trial::{Surroundings, Trial};

/// What a job is simulated on.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The disk.
    pub disk: Arc<DiskSpec>,
    /// What stands around the scheduler; `nr_requests` with `none` is the number of tags.
    pub around: Surroundings,
    /// Of a scheduler.
    pub nr_requests: Option<u32>,
    /// The disk's.
    pub tags: Option<u32>,
    /// Of the scheduler, where they differ from its kernel's: name and raw value.
    pub knobs: Vec<(String, i64)>,
    /// The kernel, as `6.18`; of a scheduler that has none of that name its latest.
    pub kernel: String,
    /// Figures are means over this many seeds, from 1 on.
    pub seeds: u64,
    /// Simulated at most.
    pub limit: Span,
}

impl Bench {
    /// One row per process and direction, of every seed.
    ///
    /// # Errors
    /// If there is no such scheduler, or time stands still.
    pub fn predict(&self, plan: &Arc<Plan>, (job, scheduler): (&str, &str)) -> Result<Vec<Row>, String> {
        let catalogue = Catalogue::builtin();
        let of_kernel = catalogue.parse(&format!("{scheduler}@{}", self.kernel));
        let elevator = of_kernel.or_else(|_| catalogue.parse(scheduler)).map_err(|error| error.to_string())?;
        let nr_requests = if scheduler == "none" { self.tags } else { self.nr_requests };
        let surroundings = Surroundings { depth: self.tags, nr_requests, ..self.around };
        let mut rows = Vec::new();
        for seed in 1..=self.seeds {
            let trial = Trial {
                elevator: elevator.clone(),
                knobs: self.knobs.clone(),
                surroundings,
                disk: self.disk.clone(),
                plan: plan.clone(),
                seed,
                limit: self.limit,
                beside: Vec::new(),
            };
            let findings = trial.simulate().map_err(|error| error.to_string())?;
            for (planned, outcome) in plan.jobs.iter().zip(&findings.jobs) {
                for (dir, work) in [("read", Work::Read), ("write", Work::Write)] {
                    let done = outcome.record.work(work);
                    let row = Row {
                        job: job.to_owned(),
                        scheduler: scheduler.to_owned(),
                        repeat: seed as u32,
                        process: planned.name.clone(),
                        dir: dir.to_owned(),
                        bandwidth: outcome.record.bandwidth(work),
                        ..row(done)
                    };
                    rows.extend((done.ios > 0).then_some(row));
                }
            }
        }
        Ok(rows)
    }
}

fn row(done: &Direction) -> Row {
    let us = |span: Span| span.as_ns() as f64 / 1e3;
    Row {
        ios: done.ios,
        latency_us: done.lat.mean() / 1e3,
        p50_us: us(done.clat.percentile(50.0)),
        p99_us: us(done.clat.percentile(99.0)),
        ..Row::default()
    }
}

/// A number for all that a disk's model does with a fixed row of commands: it changes when the model does.
pub fn probe(spec: &DiskSpec) -> TraceHash {
    const COMMANDS: u64 = 2000;
    let mut disk: Box<dyn Disk> = spec.build(7);
    let (sectors, depth) = (disk.facts().sectors, disk.facts().depth.min(4));
    let (mut now, mut hash, mut random) = (Instant::ZERO, TraceHash::default(), 1u64);
    let mut free: Vec<usize> = (0..depth as usize).collect();
    for nth in 0..COMMANDS {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        while free.is_empty() {
            now = disk.next().expect("it has commands").max(now);
            while let Some(finished) = disk.finish(now) {
                hash.completed(finished.at, finished.rq.index());
                free.push(finished.rq.index());
            }
        }
        let place = if nth % 4 < 2 { nth * 256 } else { (random >> 20) % (sectors / 8 - 256) * 8 };
        let op = if (random >> 11).is_multiple_of(3) { Op::Write } else { Op::Read };
        let command = Command {
            rq: RequestId::from_index(free.pop().expect("it is not empty") as u32),
            op,
            start: Sector(place),
            sectors: 8 << (nth % 5),
            submitter: SubmitterId(0),
            fua: false,
        };
        hash.issued(now, &command);
        disk.start(now, command);
    }
    hash
}
