//! The simulator's half.

use std::sync::Arc;

use blksched::author::RequestId;
use blksched::{Catalogue, Command, Instant, Op, Sector, Span, SubmitterId};
use blksched_disks::{Disk, DiskSpec};
use blksched_measure::{Direction, Work};
use blksched_workloads::Plan;

use super::row::Row;
use crate::hash::TraceHash;
use crate::surroundings::Surroundings;
use crate::trial::{Findings, Trial};

/// The direction of a row of syncs.
pub const SYNC: &str = "sync";

/// What a job is simulated on.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The disk.
    pub disk: Arc<DiskSpec>,
    /// The settings around the scheduler; with `none`, `nr_requests` is the number of tags.
    pub around: Surroundings,
    /// The scheduler's.
    pub nr_requests: Option<u32>,
    /// The disk's.
    pub tags: Option<u32>,
    /// The scheduler's knobs that differ from its kernel's defaults: name and raw value.
    pub knobs: Vec<(String, i64)>,
    /// The kernel, as `6.18` or as `uname -r` prints it; a scheduler without presets for it uses its nearest.
    pub kernel: String,
    /// Figures are means over this many seeds, from 1.
    pub seeds: u64,
    /// The longest simulated time.
    pub limit: Span,
}

impl Bench {
    /// One row per process and direction, for every seed.
    ///
    /// # Errors
    /// If there is no such scheduler, or time stands still.
    pub fn predict(&self, plan: &Arc<Plan>, of: (&str, &str)) -> Result<Vec<Row>, String> {
        let mut rows = self.predict_all(plan, of)?;
        rows.retain(|row| row.dir != SYNC);
        Ok(rows)
    }

    /// The same, and one row per process that syncs: its direction is [`SYNC`], and it has no bandwidth.
    ///
    /// # Errors
    /// As [`predict`](Bench::predict).
    pub fn predict_all(&self, plan: &Arc<Plan>, (job, scheduler): (&str, &str)) -> Result<Vec<Row>, String> {
        let catalogue = Catalogue::builtin();
        let elevator = catalogue.of_running(scheduler, &self.kernel).map_err(|error| error.to_string())?;
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
                other_disks: Vec::new(),
                beside: Default::default(),
            };
            let findings = trial.simulate().map_err(|error| error.to_string())?;
            let place =
                Row { job: job.to_owned(), scheduler: scheduler.to_owned(), repeat: seed as u32, ..Row::default() };
            rows.extend(rows_of(plan, &findings, &place));
        }
        Ok(rows)
    }
}

/// One row per process and direction of a run, each at this place; of one that syncs also one of these ([`SYNC`]).
pub fn rows_of(plan: &Plan, findings: &Findings, place: &Row) -> Vec<Row> {
    let mut rows = Vec::new();
    for (planned, outcome) in plan.jobs.iter().zip(&findings.jobs) {
        for (dir, work) in [("read", Work::Read), ("write", Work::Write), (SYNC, Work::Sync)] {
            let done = outcome.record.work(work);
            let Row { setting, job, scheduler, repeat, .. } = place.clone();
            let bandwidth = if work == Work::Sync { 0.0 } else { outcome.record.bandwidth(work) };
            let (process, dir) = (planned.name.clone(), dir.to_owned());
            let row = Row { setting, job, scheduler, repeat, process, dir, bandwidth, ..row(done) };
            rows.extend((done.ios > 0).then_some(row));
        }
    }
    rows
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

/// A hash of what a disk's model does with fixed commands, which changes when the model does. First the disk is full
/// all the time; then it is left idle between a cached write and reads that continue where the last ended, so that its
/// own work (look-ahead, destaging) shows too.
pub fn probe(spec: &DiskSpec) -> TraceHash {
    let mut probe = Probe::new(spec);
    let sectors = probe.disk.facts().sectors;
    for nth in 0..2000 {
        let random = probe.random();
        while probe.free.is_empty() {
            let now = probe.disk.next().expect("it has commands").max(probe.now);
            probe.finish(now);
        }
        let place = if nth % 4 < 2 { nth * 256 } else { (random >> 20) % (sectors / 8 - 256) * 8 };
        let op = if (random >> 11).is_multiple_of(3) { Op::Write } else { Op::Read };
        probe.start(op, place, 8 << (nth % 5));
    }
    probe.rest(Span::ZERO);
    for nth in 0..400 {
        // Enough is dirty all the time that hits meet extents being destaged.
        let far = (probe.random() >> 20) % (sectors / 8 - 256) * 8;
        probe.start(Op::Write, far, 128);
        probe.rest(Span::from_us(200 << (nth % 8)));
        for hit in 0..2 {
            probe.start(Op::Read, (nth / 8 * 16 + nth % 8 * 2 + hit) * 16, 16);
            probe.rest(Span::from_us(100 << (nth % 8)));
        }
    }
    probe.hash
}

/// A disk under test, and the hash of what it did.
struct Probe {
    disk: Box<dyn Disk>,
    now: Instant,
    hash: TraceHash,
    random: u64,
    free: Vec<usize>,
}

impl Probe {
    fn new(spec: &DiskSpec) -> Probe {
        let disk: Box<dyn Disk> = spec.build(7);
        let free = (0..disk.facts().depth.min(4) as usize).collect();
        Probe { disk, now: Instant::ZERO, hash: TraceHash::default(), random: 1, free }
    }

    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.random
    }

    fn start(&mut self, op: Op, place: u64, sectors: u32) {
        let rq = RequestId::from_index(self.free.pop().expect("a free one") as u32);
        let command = Command { rq, op, start: Sector(place), sectors, submitter: SubmitterId(0), fua: false };
        self.hash.issued(self.now, &command);
        self.disk.start(self.now, command);
    }

    /// Takes what has ended by `now`.
    fn finish(&mut self, now: Instant) {
        self.now = now;
        while let Some(finished) = self.disk.finish(now) {
            self.hash.completed(finished.at, finished.rq.index());
            self.free.push(finished.rq.index());
        }
    }

    /// Waits until all have ended, and this much longer.
    fn rest(&mut self, time: Span) {
        while self.disk.in_flight() > 0 {
            let now = self.disk.next().expect("it has commands").max(self.now);
            self.finish(now);
        }
        let until = self.now + time;
        while let Some(next) = self.disk.next().filter(|next| *next <= until) {
            self.finish(next.max(self.now));
        }
        self.now = until;
    }
}
