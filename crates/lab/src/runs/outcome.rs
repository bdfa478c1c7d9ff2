//! The part of a run that a comparison keeps: its figures. Histograms and reasons are dropped when the run ends, so
//! that each additional run takes only a few numbers per job.

use blksched::{Dir, Instant, Span};
use blksched_measure::{AskedAndGiven, Cause, JobRecord, Work};
use blksched_simulate::cpu::CpuReport;
use blksched_simulate::{DiskShare, Findings, TraceHash};
use blksched_workloads::host::HostReport;
use blksched_workloads::{GaveUp, Plan};

use super::company::{Company, companies};
use super::half::Half;
use super::work_done::{Done, percentile};

/// The figures of one finished run.
pub struct Outcome {
    /// Process by process.
    pub(crate) jobs: Vec<ProcessOutcome>,
    /// Row by row of the report.
    pub(crate) rows: Vec<RowOutcome>,
    /// All reads, and all writes.
    pub(crate) totals: [Whole; 2],
    /// Which rows ran side by side, and what they did meanwhile; empty if nobody came or went.
    pub(crate) companies: Vec<Company>,
    pub(crate) disk: DiskShare,
    /// The disks beside it, with their names.
    pub(crate) beside: Vec<(String, DiskShare)>,
    pub(crate) host: HostReport,
    pub(crate) cpu: Option<CpuReport>,
    /// How many bios `io.max` held back; `None` if there is no limit.
    pub(crate) capped: Option<u64>,
    /// How fast io.cost's clock has run since when, as parts of its model's rate.
    pub(crate) cost_rates: Vec<(Instant, f64)>,
    pub(crate) elapsed: Span,
    pub(crate) finished: bool,
    pub(crate) hash: TraceHash,
    pub(crate) requests: u64,
    /// The simulated work of the run.
    pub(crate) work: u64,
}

/// One process's part.
pub(crate) struct ProcessOutcome {
    pub(crate) share: AskedAndGiven,
    pub(crate) gave_up: Option<GaveUp>,
    /// I/Os, and the mean of their latency \[ns\], by [`Work`].
    pub(crate) done: [(u64, f64); 4],
    /// Whether it did something, but ended before any of it was to count.
    pub(crate) ended_in_ramp: bool,
}

/// One row's part.
pub(crate) struct RowOutcome {
    pub(crate) stall: Span,
    /// How long it ran; `None` unless all of it has exited.
    pub(crate) ran: Option<Span>,
    /// Bytes per second, all kinds of work together.
    pub(crate) rate: f64,
    /// The kinds of work that it did.
    work: Vec<(Work, Done)>,
}

/// All jobs' work in one direction.
pub(crate) struct Whole {
    pub(crate) bandwidth: f64,
    pub(crate) ios: u64,
    pub(crate) mean: f64,
    pub(crate) p99: f64,
    pub(crate) slept: f64,
    /// How many I/Os the disk served, and the sum of their time at the disk \[ns\].
    pub(crate) served: u64,
    pub(crate) service: f64,
    /// Requests, and the sum of what they waited for, by [`Cause::index`].
    pub(crate) requests: u64,
    pub(crate) waited: Vec<Span>,
}

impl Outcome {
    /// The figures of a run of this plan.
    pub fn of(plan: &Plan, run: &Findings) -> Outcome {
        let row = |members: &Vec<usize>| match members.is_empty() {
            true => RowOutcome { stall: Span::ZERO, ran: None, rate: f64::NAN, work: Vec::new() },
            false => RowOutcome::of(plan, run, members),
        };
        let process = |job: &blksched_simulate::JobOutcome| ProcessOutcome {
            share: job.share,
            gave_up: job.trouble.gave_up,
            done: Work::ALL.map(|work| (job.record.work(work).ios, job.record.work(work).lat.mean())),
            ended_in_ramp: !job.record.job.report.ramp.is_zero()
                && Work::ALL.into_iter().any(|work| job.record.work(work).ios > 0),
        };
        let all = run.merged(&(0..run.jobs.len()).collect::<Vec<_>>());
        Outcome {
            jobs: run.jobs.iter().map(process).collect(),
            rows: plan.members_by_row().iter().map(row).collect(),
            totals: Dir::BOTH.map(|dir| Whole::of(dir, &all, run)),
            companies: companies(plan, run),
            disk: run.disk,
            beside: run.beside.iter().map(|other| (other.name.clone(), other.disk)).collect(),
            host: run.host,
            cpu: run.cpu,
            capped: run
                .beside
                .iter()
                .filter_map(|other| other.capped)
                .chain(run.capped)
                .reduce(|one, other| one + other),
            cost_rates: run.cost_rates.clone(),
            elapsed: run.elapsed,
            finished: run.finished,
            hash: run.hash,
            requests: run.requests,
            work: run.work,
        }
    }
}

impl RowOutcome {
    fn of(plan: &Plan, run: &Findings, members: &[usize]) -> RowOutcome {
        let (record, ran) = (&run.merged(members), run.ran(members));
        let halves = |work| Half::of(plan, run, members, work);
        let done = |work: Work| (record.work(work).ios > 0).then(|| (work, Done::of(record, work, halves(work))));
        RowOutcome {
            stall: record.stall,
            ran,
            rate: Work::ALL.into_iter().map(|work| record.bandwidth(work)).sum(),
            work: Work::ALL.into_iter().filter_map(done).collect(),
        }
    }

    /// All zero if nothing was done.
    pub(crate) fn work(&self, work: Work) -> &Done {
        self.work.iter().find(|(own, _)| *own == work).map_or(&Done::NOTHING, |(_, done)| done)
    }
}

impl Whole {
    fn of(dir: Dir, all: &JobRecord, run: &Findings) -> Whole {
        let work = match dir {
            Dir::Read => Work::Read,
            Dir::Write => Work::Write,
        };
        let (direction, waiting) = (all.work(work), run.reasons.waiting(dir));
        Whole {
            bandwidth: run.jobs.iter().map(|job| job.record.bandwidth(work)).sum(),
            ios: direction.ios,
            mean: if direction.clat.is_empty() { f64::NAN } else { direction.lat.mean() },
            p99: percentile(&direction.clat, 99.0),
            slept: direction.slat.mean(),
            served: direction.service.count(),
            service: direction.service.sum() as f64,
            requests: waiting.requests(),
            waited: Cause::all().map(|cause| waiting.on(cause)).collect(),
        }
    }
}
