//! The results of one scheduler's runs: every measure seed by seed.

use blksched::{Class, Dir, Instant, Priority, Span};
use blksched_measure::{AskedAndGiven, Cause, DiskClaim, Sample, Work, due, fairness, misplaced};
use blksched_simulate::DiskShare;
use blksched_workloads::host::WaitsFor;
use blksched_workloads::{GroupPlan, JobPlan, Plan, Syncs};

use crate::runs::company::Company;
use crate::runs::cpu::CpuMeasure;
use crate::runs::memory::{self, MemoryMeasure};
use crate::runs::outcome::{Outcome, ProcessOutcome, Whole};
use crate::runs::work_done::Done;
use crate::scene::{AROUND, Contender};
use crate::verdict::role::Role;

/// Which kernels have a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    /// Any present kernel.
    Present,
    /// A kernel with a patch.
    OutOfTree,
    /// None: later kernels do not have it.
    Historical,
}

/// The measurements of one scheduler.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The scheduler as typed, numbered if it was typed twice; without its knobs.
    pub name: String,
    /// The name to write into the disk's `scheduler` file.
    pub scheduler: &'static str,
    /// Which kernels have it.
    pub availability: Availability,
    /// Knobs as set, `fifo_batch=16`.
    pub knobs: Vec<String>,
    /// The same in the form of control files: name, value, and the default.
    pub controls: Vec<TurnedKnob>,
    /// Row by row of the report.
    pub jobs: Vec<JobMeasure>,
    /// The disk's name, if there are several.
    pub disk: Option<String>,
    /// What the disks beside it did.
    pub beside: Vec<BesideMeasure>,
    /// The simulated time of the run.
    pub busy: Sample,
    /// The part of the run in which the arm moved.
    pub seeking: Sample,
    /// How many requests the disk held on average, while it held any.
    pub in_disk: f64,
    /// Jain's index over the part of the disk time asked for that each job got.
    pub jain: Sample,
    /// The part of the disk's time that went elsewhere than the priorities ask; `None` if no job asks for a priority.
    pub misplaced: Option<Sample>,
    /// The rest of that time.
    pub kept: Option<Sample>,
    /// Processor load; `None` if I/O costs no processor time.
    pub cpu: Option<CpuMeasure>,
    /// How many bios `io.max` held back, in all runs; `None` if no group has a limit.
    pub capped: Option<u64>,
    /// How fast io.cost's clock ran since when in the first run, as parts of its model's rate; empty without io.cost.
    pub cost_rates: Vec<(Instant, f64)>,
    /// What the page cache did; `None` if no I/O went through it.
    pub memory: Option<MemoryMeasure>,
    /// All reads, and all writes.
    pub totals: [(Dir, Total); 2],
    /// Which rows ran side by side where jobs come and go, in every run; empty if none does.
    pub companies: Vec<CompanyMeasure>,
    /// Whether every job of every run ended by itself.
    pub finished: bool,
    /// One per seed.
    pub hashes: Vec<String>,
}

/// A disk that keeps its scheduler.
#[derive(Clone, Debug)]
pub struct BesideMeasure {
    /// Its name.
    pub disk: String,
    /// The part of the run in which it had at least one request.
    pub busy: Sample,
    /// The part of the run in which its arm moved.
    pub seeking: Sample,
}

/// A knob that was changed.
#[derive(Clone, Debug)]
pub struct TurnedKnob {
    /// The knob.
    pub name: String,
    /// Its file in sysfs, below the disk's directory.
    pub file: String,
    /// As written into the file.
    pub value: String,
    /// The default; `None` if the kernel chooses it by the disk.
    pub default: Option<String>,
}

/// One row of the report: a job, or the jobs of a `group_reporting` group.
#[derive(Clone, Debug)]
pub struct JobMeasure {
    /// The job's name.
    pub name: String,
    /// The disks that it uses, as in `sda, sdb`; `None` if there is one disk only.
    pub disk: Option<String>,
    /// How many processes it has.
    pub processes: usize,
    /// Its role, and the reason for assuming it.
    pub role: (Role, &'static str),
    /// Whether it is of a lower class than another job, so that waiting for that job is what it asked for.
    pub yields: bool,
    /// Whether it waits until each of its writes is stable.
    pub stable: bool,
    /// What ends it.
    pub end: JobEnd,
    /// From its beginning to its end \[ns\]; `None` unless every run saw its end.
    pub ran: Option<Sample>,
    /// The same, or how long it would take at the run's rate; `None` if it has no end.
    pub finish: Option<Sample>,
    /// The longest time in which it had I/O in flight and nothing completed \[ns\].
    pub stall: Sample,
    /// The part of the run in which it wanted the disk, summed over its processes.
    pub asked: Sample,
    /// The part of the run in which it had the disk.
    pub given: Sample,
    /// Its I/O priority, and the part of the run that it was due; `None` if all jobs have the same priority.
    pub priority: Option<(String, Sample)>,
    /// The kinds of work that it did.
    pub work: Vec<(Work, WorkMeasure)>,
}

/// One direction of one row.
#[derive(Clone, Debug)]
pub struct WorkMeasure {
    /// I/Os completed.
    pub ios: Sample,
    /// Bytes per second.
    pub bandwidth: Sample,
    /// I/Os completed per second.
    pub iops: Sample,
    /// Whether its submitters sleep for request slots, which completion latency does not include.
    pub sleeps: bool,
    /// Completion latency \[ns\]: mean, p50, p99, p99.9, max. A percentile is NaN for a run with too few I/Os.
    pub clat: [Sample; 5],
    /// The same in each half of the runs.
    pub halves: [HalfMeasure; 2],
}

/// One direction of one row in half of the runs, their warm-up left out.
#[derive(Clone, Debug)]
pub struct HalfMeasure {
    /// I/Os per second.
    pub iops: Sample,
    /// The mean latency, from submission to completion \[ns\].
    pub mean: Sample,
}

/// Rows that ran side by side, and nobody else.
#[derive(Clone, Debug)]
pub struct CompanyMeasure {
    /// The rows, by their places in [`Measured::jobs`].
    pub rows: Vec<usize>,
    /// The part of the run in which they did, and which counts for all of them.
    pub part: Sample,
    /// What each of them did in that time, by [`Work`].
    pub done: Vec<[WorkMeasure; 4]>,
}

impl CompanyMeasure {
    /// Those that met in every run; `shown` are the rows of the report, by their places in the plan.
    fn all(shown: &[usize], runs: &[Outcome]) -> Vec<CompanyMeasure> {
        let Some(first) = runs.first() else { return Vec::new() };
        let of = |company: &Company| {
            let rows: Option<Vec<usize>> =
                company.rows.iter().map(|row| shown.iter().position(|known| known == row)).collect();
            let same = |run: &'_ Outcome| run.companies.iter().position(|other| other.rows == company.rows);
            let places: Option<Vec<usize>> = runs.iter().map(same).collect();
            let met: Vec<&Company> = runs.iter().zip(places?).map(|(run, nth)| &run.companies[nth]).collect();
            let measure = |nth: usize, work: Work| {
                WorkMeasure::over(&met.iter().map(|one| &one.done[nth][work as usize]).collect::<Vec<_>>())
            };
            let done = (0..company.rows.len()).map(|nth| Work::ALL.map(|work| measure(nth, work))).collect();
            Some(CompanyMeasure { rows: rows?, part: over(&met, |one| one.part), done })
        };
        first.companies.iter().filter_map(of).collect()
    }
}

/// All jobs' work in one direction.
#[derive(Clone, Debug)]
pub struct Total {
    /// Bytes per second.
    pub bandwidth: Sample,
    /// Submission to completion, including sleep for a request slot \[ns\].
    pub mean: Sample,
    /// Completion latency \[ns\].
    pub p99: Sample,
    /// Sleep for a request slot \[ns, mean per I/O\].
    pub slept: f64,
    /// What a request waited for \[ns, mean per request over all seeds\].
    pub waited: Vec<(Cause, f64)>,
    /// How long a request was at the disk \[ns, mean\].
    pub service: f64,
    /// What calls waited for in the page cache \[ns, mean per call\], if I/O went through it.
    pub in_memory: Option<Vec<(WaitsFor, f64)>>,
}

impl Measured {
    /// Whether a present kernel has it.
    pub fn is_present(&self) -> bool {
        self.availability == Availability::Present
    }

    /// The measurements of these runs of one scheduler, one per seed.
    pub fn of(contender: &Contender, plan: &Plan, runs: &[Outcome]) -> Measured {
        let dues = asks_for_priorities(plan).then(|| runs.iter().map(|run| dues(plan, run)).collect::<Vec<_>>());
        let row = |(row, members): (usize, Vec<usize>)| {
            let priority = dues.as_ref().map(|dues| priority(plan, &members, dues));
            JobMeasure { priority, ..JobMeasure::of(plan, (row, &members), runs) }
        };
        let shown = |(_, members): &(usize, Vec<usize>)| members.iter().any(|&job| plan.jobs[job].report.shown);
        let show = |(name, raw): &(String, i64)| match contender.choice.build().elevator.tunables().find(name) {
            Ok(knob) => format!("{name}={}", knob.unit.show(*raw)),
            Err(_) => format!("{name}={raw}"),
        };
        let elsewhere = |dues: &Vec<Vec<f64>>| {
            let parts = dues.iter().zip(runs).map(|(due, run)| misplaced(due, &givens(plan, run)));
            Sample::of(parts.collect())
        };
        let together = plan.together();
        let jain = |run: &Outcome| {
            let share = |(job, outcome): (usize, &ProcessOutcome)| {
                if plan.is_on_varied(job) { outcome.share } else { AskedAndGiven::default() }
            };
            let shares: Vec<AskedAndGiven> = run.jobs.iter().enumerate().map(share).collect();
            fairness(&shares, &together).unwrap_or(f64::NAN)
        };
        let rows = plan.members_by_row().into_iter().enumerate().filter(shown).map(|(row, _)| row);
        let companies = CompanyMeasure::all(&rows.collect::<Vec<_>>(), runs);
        Measured {
            companies,
            name: contender.name.clone(),
            scheduler: contender.choice.entry.name,
            availability: match (contender.choice.is_in_present_kernels(), contender.choice.is_out_of_tree()) {
                (true, _) => Availability::Present,
                (false, true) => Availability::OutOfTree,
                (false, false) => Availability::Historical,
            },
            controls: controls(contender),
            kept: dues.as_ref().map(elsewhere).map(|part| Sample::of(part.values().iter().map(|v| 1.0 - v).collect())),
            misplaced: dues.as_ref().map(elsewhere),
            knobs: contender.knobs.iter().map(show).chain(contender.around.shown()).collect(),
            jobs: plan.members_by_row().into_iter().enumerate().filter(shown).map(row).collect(),
            disk: plan.member.clone().or_else(|| plan.disks.get(usize::from(plan.varied)).cloned()),
            beside: beside(runs),
            busy: over(runs, |run| run.disk.busy),
            seeking: over(runs, |run| run.disk.seeking),
            in_disk: runs.iter().map(|run| run.disk.depth).sum::<f64>() / runs.len() as f64,
            jain: over(runs, jain),
            cpu: CpuMeasure::of(runs),
            capped: runs.iter().map(|run| run.capped).sum(),
            cost_rates: runs.first().map(|run| run.cost_rates.clone()).unwrap_or_default(),
            memory: MemoryMeasure::of(runs),
            totals: [0, 1].map(|nth| (Dir::BOTH[nth], Total::of(nth, runs))),
            finished: runs.iter().all(|run| run.finished),
            hashes: runs.iter().map(|run| run.hash.to_string()).collect(),
        }
    }

    /// All jobs' work in one direction.
    pub fn total(&self, dir: Dir) -> &Total {
        &self.totals[usize::from(dir == Dir::BOTH[1])].1
    }

    /// Whether a process waits for a sync.
    pub fn syncs(&self) -> bool {
        self.jobs.iter().any(|job| job.stable || job.work(Work::Sync).is_some())
    }

    /// The printed name: with the knobs that were changed.
    pub fn label(&self) -> String {
        if self.knobs.is_empty() { self.name.clone() } else { format!("{} {}", self.name, self.knobs.join(" ")) }
    }
}

impl JobMeasure {
    /// Its name, its number of processes, and its priority where those differ.
    pub fn label(&self) -> String {
        match self.processes {
            1 => self.name.clone(),
            n => format!("{} ×{n}", self.name),
        }
    }

    fn of(plan: &Plan, (row, members): (usize, &[usize]), runs: &[Outcome]) -> JobMeasure {
        let job = &plan.jobs[members[0]];
        let part = |run: &Outcome, pick: fn(&AskedAndGiven) -> Span| {
            members.iter().map(|&job| part_of_run(run, pick(&run.jobs[job].share))).sum()
        };
        let works = Work::ALL.map(|work| (work, WorkMeasure::of(work, row, runs)));
        JobMeasure {
            name: job.name.clone(),
            disk: plan.disks_of(members),
            processes: members.len(),
            role: Role::of(plan, members),
            yields: plan.jobs.iter().any(|other| rank(other) < rank(job)),
            stable: members.iter().any(|&job| plan.jobs[job].character.syncs == Syncs::Writes),
            end: JobEnd::of(plan, members[0]),
            ran: runs.iter().all(|run| run.rows[row].ran.is_some()).then(|| over(runs, |run| ran(run, row))),
            finish: finish(plan, (row, members), runs),
            stall: over(runs, |run| run.rows[row].stall.as_ns() as f64),
            asked: over(runs, |run| part(run, |share| share.asked)),
            given: over(runs, |run| part(run, |share| share.given)),
            priority: None,
            work: works.into_iter().filter_map(|(work, measure)| Some((work, measure?))).collect(),
        }
    }
}

/// What ends a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// Time.
    Time,
    /// That it has done all it had to do, as programs do: sooner under a better scheduler.
    Done,
    /// The end of a recording whose I/Os come at their recorded moments: no scheduler changes when, nor how much is
    /// done until then, only how long each I/O takes.
    Recording,
}

impl JobEnd {
    fn of(plan: &Plan, job: usize) -> JobEnd {
        let character = &plan.jobs[job].character;
        if plan.at_recorded_moments()[job] {
            return JobEnd::Recording;
        }
        if character.order.is_none() || character.amount.is_some() { JobEnd::Done } else { JobEnd::Time }
    }
}

/// The class's rank: lower ranks go first.
fn rank(job: &JobPlan) -> u8 {
    match job.priority.class {
        Class::RealTime => 0,
        Class::None | Class::BestEffort => 1,
        Class::Idle => 2,
    }
}

/// How long the processes take, or would take for their files at the run's rate.
fn finish(plan: &Plan, (row, members): (usize, &[usize]), runs: &[Outcome]) -> Option<Sample> {
    let amount = |job: &JobPlan| job.character.amount.or_else(|| job.files.as_ref().map(|files| files.sectors * 512));
    let amounts: Option<u64> = members.iter().map(|&job| amount(&plan.jobs[job])).sum();
    let estimate = |run: &Outcome| amounts.map_or(f64::NAN, |bytes| bytes as f64 / run.rows[row].rate * 1e9);
    let is_done = JobEnd::of(plan, members[0]) == JobEnd::Done;
    let own =
        |run: &Outcome| run.rows[row].ran.filter(|_| is_done).map_or_else(|| estimate(run), |ran| ran.as_ns() as f64);
    let sample = over(runs, own);
    sample.values().iter().any(|value| value.is_finite()).then_some(sample)
}

/// Knobs in the units of their control files.
fn controls(contender: &Contender) -> Vec<TurnedKnob> {
    let built = contender.choice.build();
    let tunables = built.elevator.tunables();
    let control = |(name, raw): &(String, i64)| {
        let plain = |raw: i64| tunables.find(name).map_or(raw, |knob| knob.unit.in_sysfs(raw)).to_string();
        let default = tunables.get(name).map(plain);
        TurnedKnob { name: name.clone(), file: format!("queue/iosched/{name}"), value: plain(*raw), default }
    };
    let around = contender.around.settings().into_iter().map(|(name, value)| {
        let file = AROUND.iter().find(|(known, _)| *known == name).expect("it is one of them").1;
        TurnedKnob { name: name.to_owned(), file: file.to_owned(), value: value.to_string(), default: None }
    });
    contender.knobs.iter().map(control).chain(around).collect()
}

/// Whether jobs differ in priority or weight.
fn asks_for_priorities(plan: &Plan) -> bool {
    // A job without a priority has the normal one.
    let asked = |job: &JobPlan| if job.priority.class == Class::None { Priority::NORMAL } else { job.priority };
    !plan.groups.is_empty() || plan.jobs.windows(2).any(|pair| asked(&pair[0]) != asked(&pair[1]))
}

/// The part of the run in which each process had the disk whose scheduler is in question.
fn givens(plan: &Plan, run: &Outcome) -> Vec<f64> {
    let given = |(job, outcome): (usize, &ProcessOutcome)| {
        if plan.is_on_varied(job) { part_of_run(run, outcome.share.given) } else { 0.0 }
    };
    run.jobs.iter().enumerate().map(given).collect()
}

/// The part of the run in which each process was due the disk, of the time that any process had it.
fn dues(plan: &Plan, run: &Outcome) -> Vec<f64> {
    let claim = |(nth, (job, outcome)): (usize, (&JobPlan, &ProcessOutcome))| {
        let asked = if plan.is_on_varied(nth) { outcome.share.asked } else { Span::ZERO };
        let claim = DiskClaim::new(job.priority, part_of_run(run, asked));
        let own = group_of(plan, job);
        own.map_or(claim, |group| DiskClaim { group: (job.cgroup, group.weight), ..claim })
    };
    let claims: Vec<DiskClaim> = plan.jobs.iter().zip(&run.jobs).enumerate().map(claim).collect();
    due(&claims, givens(plan, run).iter().sum())
}

/// Name and weight of a job's group; `None` in the root group.
fn group_of<'a>(plan: &'a Plan, job: &JobPlan) -> Option<&'a GroupPlan> {
    plan.groups.get((job.cgroup.0 as usize).checked_sub(1)?)
}

fn part_of_run(run: &Outcome, span: Span) -> f64 {
    span.as_secs_f64() / run.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
}

fn priority(plan: &Plan, members: &[usize], dues: &[Vec<f64>]) -> (String, Sample) {
    let first = &plan.jobs[members[0]];
    let own = first.priority;
    let alike = |job: &usize| plan.jobs[*job].priority == own && plan.jobs[*job].cgroup == first.cgroup;
    let mut name = match own.class {
        _ if !members.iter().all(alike) => "several".to_owned(),
        Class::None => "none".to_owned(),
        Class::Idle => "idle".to_owned(),
        _ => own.to_string(),
    };
    if let Some(group) = group_of(plan, first).filter(|_| members.iter().all(alike)) {
        name += &format!(" {}={}", group.name, group.weight);
    }
    (name, over(dues, |due| members.iter().map(|&job| due[job]).sum()))
}

impl WorkMeasure {
    /// `None` if no job did anything in this direction in any run.
    fn of(work: Work, row: usize, runs: &[Outcome]) -> Option<WorkMeasure> {
        let done: Vec<&Done> = runs.iter().map(|run| run.rows[row].work(work)).collect();
        done.iter().any(|done| done.ios > 0).then(|| WorkMeasure::over(&done))
    }

    fn over(done: &[&Done]) -> WorkMeasure {
        WorkMeasure {
            sleeps: done.iter().any(|done| done.slept),
            ios: over(done, |done| done.ios as f64),
            bandwidth: over(done, |done| done.bandwidth),
            iops: over(done, |done| done.iops),
            clat: [0, 1, 2, 3, 4].map(|nth| over(done, |done| done.clat[nth])),
            halves: [0, 1].map(|nth| HalfMeasure {
                iops: over(done, |done| done.halves[nth].iops),
                mean: over(done, |done| done.halves[nth].mean),
            }),
        }
    }
}

impl Total {
    /// The totals of the `nth` direction.
    fn of(nth: usize, runs: &[Outcome]) -> Total {
        let all: Vec<&Whole> = runs.iter().map(|run| &run.totals[nth]).collect();
        let requests: u64 = all.iter().map(|whole| whole.requests).sum();
        let per_request = |cause: usize| {
            let sum: f64 = all.iter().map(|whole| whole.waited[cause].as_ns() as f64).sum();
            sum / requests.max(1) as f64
        };
        let served: u64 = all.iter().map(|whole| whole.served).sum();
        let ios = all.iter().map(|whole| whole.ios).sum();
        let service: f64 = all.iter().map(|whole| whole.service).sum();
        Total {
            bandwidth: over(&all, |whole| whole.bandwidth),
            mean: over(&all, |whole| whole.mean),
            p99: over(&all, |whole| whole.p99),
            slept: all.iter().map(|whole| whole.slept).sum::<f64>() / all.len() as f64,
            waited: Cause::all().enumerate().map(|(nth, cause)| (cause, per_request(nth))).collect(),
            service: service / served.max(1) as f64,
            in_memory: memory::waits(Dir::BOTH[nth], ios, runs),
        }
    }
}

/// What the disks that keep their schedulers did; they are the same in all runs.
fn beside(runs: &[Outcome]) -> Vec<BesideMeasure> {
    let measure = |(nth, (name, _)): (usize, &(String, DiskShare))| BesideMeasure {
        disk: name.clone(),
        busy: over(runs, |run| run.beside[nth].1.busy),
        seeking: over(runs, |run| run.beside[nth].1.seeking),
    };
    runs.first().map_or(&[][..], |run| &run.beside).iter().enumerate().map(measure).collect()
}

fn ran(run: &Outcome, row: usize) -> f64 {
    run.rows[row].ran.map_or(f64::NAN, |ran| ran.as_ns() as f64)
}

fn over<T>(runs: &[T], pick: impl Fn(&T) -> f64) -> Sample {
    Sample::of(runs.iter().map(pick).collect())
}
