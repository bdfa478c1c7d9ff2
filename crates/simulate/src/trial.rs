//! One simulation: its description and its results.

use std::collections::BTreeMap;
use std::sync::Arc;

use blksched::reasons::NoListener;
use blksched::surroundings::{DispatchAhead, Driver, Pool, Wakes, wbt};
use blksched::tunables::KnobError;
use blksched::{
    BlockQueue, Built, Choice, Command, Instant, Kernel, Limits, Listener, Plugging, QueueConfig, Slots, Span,
    SubmitterId,
};
use blksched_disks::{Activity, Attached, DiskSpec, Facts, Stint, StintWork};
use blksched_measure::{AskedAndGiven, JobRecord, Reasons, Series, WorksFor};
use blksched_workloads::host::{HostKnobs, HostReport, Ticks, WriteBack};
use blksched_workloads::replay::Joint;
use blksched_workloads::{GaveUp, JobPlan, Plan, Trouble};

use crate::counted;
use crate::cpu::{CpuReport, HostCpus, SchedulerCosts, hardware_queue, place};
use crate::files;
use crate::hash::TraceHash;
use crate::other_disks::{self, OtherDisk};
use crate::story::{Hears, ReasonTee, SharedOnlooker, StoriesAsked, Storyteller};
use crate::trial_observer::{Finished, TrialObserver};
use crate::world::{Observer, RaceOdds, StandsStill, World};

/// The settings around an elevator; `None` for the default of its era and disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// How many requests the disk gets at a time; at most as many as it accepts.
    pub depth: Option<u32>,
    /// How many requests may exist (per direction, before blk-mq).
    pub nr_requests: Option<u32>,
    /// The tags that the disk's driver has, if fewer are used (`nr_requests` under `none` cuts them).
    pub driver_tags: Option<u32>,
    /// The largest request \[512-byte sectors\]; at most the largest that the disk accepts.
    pub max_sectors: Option<u32>,
    /// Where requests are plugged.
    pub plugging: Option<Plugging>,
    /// How the disk is attached to the host.
    pub attached: Option<Attached>,
    /// Whether the driver takes a request out of the elevator while the disk is full; by default as the disk is
    /// attached.
    pub ahead: Option<DispatchAhead>,
    /// Writeback throttling's target for reads (`wbt_lat_usec`); zero for off. Only with blk-mq.
    pub wbt_latency: Option<Span>,
    /// The host's memory, for buffered I/O.
    pub host: HostKnobs,
    /// The host's processors; `None` if I/O costs them nothing. Only with blk-mq.
    pub cpus: Option<HostCpus>,
    /// How many hardware queues an NVMe drive or a virtual disk has, each with its own tags and submission queue.
    /// `None`: NVMe has as many as processors, which share what tags there are, virtio one. Only where I/O costs the
    /// processors something.
    pub hardware_queues: Option<u32>,
    /// Which task runs first among those that a completion wakes.
    pub odds: RaceOdds,
    /// When processes begin.
    pub starts: Starts,
}

/// When the processes of a run begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Starts {
    /// Exactly as specified: those without a start time, together.
    #[default]
    AsSaid,
    /// Each up to [`LATEST_START`] later, drawn anew for each seed, since real processes do not start simultaneously
    /// either (BFQ merges the queues of those that do). The number distinguishes draws for the same seed.
    Drawn(u64),
}

/// The greatest delay of a start: the time that a shell takes to start a few processes.
pub const LATEST_START: Span = Span::from_ms(10);

impl Starts {
    /// The delay of each of these processes.
    fn later(self, seed: u64, processes: usize) -> Vec<Span> {
        let Starts::Drawn(draw) = self else { return vec![Span::ZERO; processes] };
        let mut state = seed.rotate_left(32) ^ draw.wrapping_mul(0xd1b5_4a32_d192_ed03);
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            Span::from_ns((z ^ (z >> 31)) % LATEST_START.as_ns())
        };
        (0..processes).map(|_| next()).collect()
    }
}

impl Surroundings {
    /// How this elevator's kernel treats dirty memory.
    pub(crate) fn write_back(&self, elevator: &Choice) -> WriteBack {
        let processors = self.cpus.map_or(HostCpus::USUAL, |cpus| cpus.cpus);
        WriteBack::of(elevator.kernel(), Ticks::per_second(HZ), processors)
    }

    /// The host's processors under this elevator; I/O costs no processor time before blk-mq.
    pub fn cpus_under(&self, built: &Built) -> Option<HostCpus> {
        self.cpus.filter(|_| built.slots.era().is_some())
    }

    /// The scheduler's costs, and the disk's hardware queues, on these processors.
    pub(crate) fn on_cpus(&self, cpus: &HostCpus, elevator: &Choice, attached: Attached) -> (SchedulerCosts, u32) {
        let hardware_queues = self.attached.unwrap_or(attached).hardware_queues(cpus.cpus);
        let hardware_queues = self.own_queues(attached).unwrap_or(hardware_queues);
        (cpus.costs.of(elevator.entry.name), hardware_queues)
    }

    /// The world with the races of this elevator's host; nobody traced those before 4.19, whose processes run in
    /// lockstep. The last kernels before blk-mq ran on hosts like those traced.
    pub(crate) fn race<L: Listener, O: Observer>(
        &self,
        world: World<L, O>,
        elevator: &Choice,
        (wakes, seed): (Wakes, u64),
    ) -> World<L, O> {
        match wakes {
            Wakes::ByDriver => world.with_races(seed, self.odds),
            _ if elevator.kernel() >= LAST_BEFORE_BLK_MQ => world.with_late_owners(seed),
            _ => world,
        }
    }

    /// The number of hardware queues that have tags and submission queues of their own; `None` if they share them.
    pub(crate) fn own_queues(&self, attached: Attached) -> Option<u32> {
        let may_have = self.attached.unwrap_or(attached).has_hardware_queues() && self.cpus.is_some();
        self.hardware_queues.filter(|_| may_have)
    }

    /// Switches on the policies that hold bios back before they have a slot, as that kernel does by default.
    pub(crate) fn throttle<L: Listener>(&self, queue: &mut BlockQueue<L>, config: &QueueConfig) {
        let Some(era) = config.slots.era() else { return };
        let target = self.wbt_latency.unwrap_or(wbt::Config::default_target(config.limits.rotational));
        let mut throttle = wbt::Throttle::new(wbt::Config {
            era,
            hz: HZ,
            target,
            queue_depth: match config.driver.ahead {
                DispatchAhead::Budget => config.depth,
                DispatchAhead::OneMore => config.slots.nr_requests(),
            },
            write_cache: config.limits.volatile_cache,
            born: config.born,
        });
        if self.wbt_latency.is_some() {
            throttle.set_target(config.born, target, &mut Vec::new());
        }
        queue.add_policy(config.born, Box::new(throttle));
    }
}

/// Presets from this kernel on that are not blk-mq are those of 4.19 and 4.20.
const LAST_BEFORE_BLK_MQ: Kernel = Kernel::new(4, 19, 0);
/// Ticks per second of the kernels since 6.1, as Debian builds them.
const HZ: u32 = 250;

/// Why a simulation failed.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// A knob was refused.
    #[error(transparent)]
    Knob(#[from] KnobError),
    /// Time stood still.
    #[error(transparent)]
    StandsStill(#[from] StandsStill),
}

/// The description of one simulation.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The elevator.
    pub elevator: Choice,
    /// Knobs that differ from the era's defaults: name and raw value.
    pub knobs: Vec<(String, i64)>,
    /// The settings around it.
    pub surroundings: Surroundings,
    /// The disk.
    pub disk: Arc<DiskSpec>,
    /// The workload, laid out on that disk.
    pub plan: Arc<Plan>,
    /// The seed of the random numbers.
    pub seed: u64,
    /// The run ends after this much simulated time, if its jobs have not.
    pub limit: Span,
    /// Other disks of the same run, which may share its processes. Their results are not reported.
    pub other_disks: Vec<OtherDisk>,
}

/// The results of a simulation.
#[derive(Clone, Debug)]
pub struct Findings {
    /// One result per process of the plan, in its order.
    pub jobs: Vec<JobOutcome>,
    /// The recorded reasons.
    pub reasons: Reasons,
    /// What the disk did.
    pub disk: DiskShare,
    /// What the page cache did.
    pub host: HostReport,
    /// What the processors did, if they cost anything.
    pub cpu: Option<CpuReport>,
    /// How many bios `io.max` held back; `None` if no group has a limit.
    pub capped: Option<u64>,
    /// When the run ended.
    pub elapsed: Span,
    /// Whether every job ended by itself.
    pub finished: bool,
    /// A hash of everything that the disk did.
    pub hash: TraceHash,
    /// How many requests the disk completed.
    pub requests: u64,
    /// How much was simulated: requests, and pages in the page cache. A million takes about a second of a processor.
    pub work: u64,
    /// The commands that the disk got, in order; empty unless decisions were asked for.
    pub issued: Vec<Command>,
}

/// One process's part.
#[derive(Clone, Debug)]
pub struct JobOutcome {
    /// What fio would report.
    pub record: Box<JobRecord>,
    /// When it exited, if it did.
    pub exited: Option<Instant>,
    /// What it did by time, by [`Work`](blksched_measure::Work); its ramp is included.
    pub series: Box<[Series; 4]>,
    /// How long it asked for the disk, and how long it had it.
    pub share: AskedAndGiven,
    /// What went wrong with it.
    pub trouble: Trouble,
    /// What the disk's mechanism did for it.
    pub activity: Activity,
}

impl Findings {
    /// The record of several processes as one, like that of `group_reporting`.
    ///
    /// # Panics
    /// If there are none.
    pub fn merged(&self, members: &[usize]) -> JobRecord {
        let mut record = JobRecord::clone(&self.jobs[members[0]].record);
        members[1..].iter().for_each(|&other| record.merge(&self.jobs[other].record));
        record
    }

    /// The time of the one that ran longest; `None` if not all have exited.
    pub fn ran(&self, members: &[usize]) -> Option<Span> {
        let ran = |&job: &usize| self.jobs[job].exited.map(|_| self.jobs[job].record.runtime);
        members.iter().map(ran).try_fold(Span::ZERO, |longest, ran| Some(longest.max(ran?)))
    }
}

/// What the disk did with its time.
#[derive(Clone, Copy, Debug)]
pub struct DiskShare {
    /// The mechanism's total time.
    pub activity: Activity,
    /// The part of the run in which it had at least one request (0 to 1): `%util` of iostat.
    pub busy: f64,
    /// The part of the run in which it moved its arm (0 to 1).
    pub seeking: f64,
    /// The number of requests it had to choose from, on average while it had any.
    pub depth: f64,
}

impl Trial {
    /// Simulates the trial.
    ///
    /// # Errors
    /// If the elevator has no such knob, or the value is out of range, or time stands still.
    pub fn simulate(&self) -> Result<Findings, TrialError> {
        self.listened_to(Reasons::new(), None)
    }

    /// The same, but [`Findings::reasons`] contains only submitters' times and the disk's utilisation: for callers that
    /// make thousands of runs.
    ///
    /// # Errors
    /// As [`Trial::simulate`].
    pub fn simulate_for_shares(&self) -> Result<Findings, TrialError> {
        self.listened_to(Reasons::of_shares(), None)
    }

    /// The same, with an observer of everything that happens; `reasons` may keep a row per request.
    ///
    /// # Errors
    /// As [`Trial::simulate`].
    pub fn simulate_before(&self, onlooker: SharedOnlooker, reasons: Reasons) -> Result<Findings, TrialError> {
        self.listened_to(ReasonTee { reasons, onlooker: onlooker.clone() }, Some(onlooker))
    }

    /// The same, with a row per request in [`Findings::reasons`] and where it began in [`Findings::issued`].
    ///
    /// # Errors
    /// As [`Trial::simulate`].
    pub fn simulate_with_decisions(&self) -> Result<Findings, TrialError> {
        self.listened_to(Reasons::new().with_decisions(), None)
    }

    fn listened_to<L>(&self, listener: L, onlooker: Option<SharedOnlooker>) -> Result<Findings, TrialError>
    where
        L: Hears,
    {
        let is_told = listener.as_ref().has_decisions();
        let mut joint = Joint::default();
        let observer = TrialObserver::new(&self.plan, is_told).before(onlooker);
        let world = self.world((&self.disk, &self.plan), listener, observer, &mut joint)?;
        let mut world = world.with_work_hook(L::works);
        let others =
            self.other_disks.iter().map(|other| self.world((&other.disk, &other.plan), NoListener, (), &mut joint));
        let mut others = others.collect::<Result<Vec<_>, _>>()?;
        other_disks::run(&mut world, &mut others, Instant::ZERO + self.limit)?;
        Ok(self.result(world))
    }

    /// The world of one disk and its part of the workload, at its beginning.
    pub(crate) fn world<L: Listener, O: Observer>(
        &self,
        (spec, plan): (&DiskSpec, &Plan),
        listener: L,
        observer: O,
        joint: &mut Joint,
    ) -> Result<World<L, O>, TrialError> {
        let disk = spec.build(self.seed);
        let built = self.elevator.build();
        let config = queue_config(&built, &self.surroundings, &disk.facts(), spec.attached);
        let disk_sectors = disk.facts().sectors;
        let mut queue = BlockQueue::with_listener(config, built.elevator, listener);
        if let Some(queues) = self.surroundings.own_queues(spec.attached) {
            queue = queue.with_hardware_queues(queues);
        }
        self.surroundings.throttle(&mut queue, &config);
        for (knob, raw) in &self.knobs {
            queue.set(Instant::ZERO, knob, *raw)?;
        }
        crate::groups::make(&mut queue, &self.elevator, spec, &plan.groups);
        let later = self.surroundings.starts.later(self.seed, plan.jobs.len());
        let world = World::new(queue, disk, plan.joint_sources(self.seed, &later, joint), observer);
        let write_back = self.surroundings.write_back(&self.elevator);
        let mut world = world.with_host(self.surroundings.host, write_back, config.limits.max_sectors);
        world = world.with_blank(&plan.blank);
        if let Some(fs) = files::file_system(plan.fs, disk_sectors, config.limits.max_sectors, self.seed) {
            world = world.with_files(fs, &plan.files);
        }
        world = self.surroundings.race(world, &self.elevator, (config.wakes, self.seed));
        if let Some(cpus) = self.surroundings.cpus {
            world = world.with_processors(cpus.cpus);
        }
        if let Some(cpus) = self.surroundings.cpus_under(&self.elevator.build()) {
            let allowed: Vec<_> = plan.jobs.iter().map(|job| job.cpus_allowed).collect();
            let places = place(cpus.cpus as usize, &allowed, self.seed);
            let (scheduler, queues) = self.surroundings.on_cpus(&cpus, &self.elevator, spec.attached);
            world = world.with_cpus(&cpus, scheduler, queues, &places);
            if let Some(queues) = self.surroundings.own_queues(spec.attached) {
                world = on_hardware_queues(world, queues, cpus.cpus, plan.jobs.iter().zip(&places));
            }
        }
        Ok(world)
    }

    /// A teller that has seen nothing yet of this run.
    pub fn storyteller(&self, asked: StoriesAsked) -> Storyteller {
        let flusher = SubmitterId(self.plan.jobs.iter().map(|job| job.submitter.0 + 1).max().unwrap_or(0));
        Storyteller::new(asked, flusher, self.disk.build(self.seed).parts())
    }

    /// The configuration of the queue around the elevator in this run.
    pub fn around(&self) -> QueueConfig {
        let facts = self.disk.build(self.seed).facts();
        queue_config(&self.elevator.build(), &self.surroundings, &facts, self.disk.attached)
    }

    fn result<L: Listener + AsRef<Reasons>>(&self, mut world: World<L, TrialObserver>) -> Findings {
        let end = world.now();
        let mut reasons = world.queue().listener().as_ref().clone();
        reasons.settle(end);
        let mut observer = core::mem::take(world.observer_mut());
        let ios = observer.ios();
        let issued = observer.issued.take().unwrap_or_default();
        let ledger = world.disk().ledger();
        let elapsed = end.since(Instant::ZERO);
        let shares: BTreeMap<SubmitterId, AskedAndGiven> =
            reasons.submitters().map(|time| (time.submitter, time.share)).collect();
        let share_of = |submitter: SubmitterId| shares.get(&submitter).copied().unwrap_or_default();
        let outcome = |(index, (Finished { mut record, exited, series }, job)): (usize, (Finished, &JobPlan))| {
            let trouble = world.trouble(index);
            record.errors = trouble.errors;
            record.error = trouble.gave_up.map_or(0, GaveUp::errno);
            let (share, activity) = (share_of(job.submitter), ledger.of(job.submitter));
            JobOutcome { record, exited, series, share, trouble, activity }
        };
        let jobs = observer.finish(end).zip(&self.plan.jobs).enumerate().map(outcome).collect();
        let activity = ledger.total();
        let part = |span: Span| if elapsed.is_zero() { 0.0 } else { span.as_secs_f64() / elapsed.as_secs_f64() };
        let had_any = reasons.disk().busy().as_secs_f64();
        let depth = if had_any > 0.0 { world.time_in_disk().as_secs_f64() / had_any } else { 0.0 };
        let disk = DiskShare { activity, busy: reasons.disk().busy_share(), seeking: part(activity.seek), depth };
        let (finished, hash, requests) = (world.is_finished(), world.hash(), world.completions());
        let (host, cpu) = (world.host().report(), world.cpu_report());
        let work = counted::work(requests, ios, &host);
        let capped = world.queue().held_by_io_max();
        Findings { jobs, reasons, disk, host, cpu, capped, elapsed, finished, hash, requests, work, issued }
    }
}

/// Each process uses the tags and the submission queue of its processor's hardware queue.
fn on_hardware_queues<'a, L: Listener, O: Observer>(
    mut world: World<L, O>,
    queues: u32,
    cpus: u32,
    processes: impl Iterator<Item = (&'a JobPlan, &'a u32)>,
) -> World<L, O> {
    let queue_of = |cpu: u32| hardware_queue(cpu as usize, cpus as usize, queues as usize) as u32;
    let places: Vec<_> = processes.map(|(job, &cpu)| (job.submitter, queue_of(cpu))).collect();
    places.iter().for_each(|&(submitter, queue)| world.queue().place(submitter, queue));
    world.with_submission_queues(queues, places)
}

/// Adds what the disk's medium does to the reasons.
pub(crate) fn works(reasons: &mut Reasons, stint: &Stint) {
    let work = match stint.work {
        StintWork::Command(rq) => WorksFor::Request(rq),
        StintWork::Cached(submitter) => WorksFor::Cached(submitter),
        StintWork::Upkeep => WorksFor::Upkeep,
    };
    reasons.works(stint.from, stint.until, work);
}

/// The configuration of the block queue around an elevator on a disk: its era's, except for `surroundings`.
pub(crate) fn queue_config(
    built: &Built,
    surroundings: &Surroundings,
    facts: &Facts,
    attached: Attached,
) -> QueueConfig {
    let limits = Limits {
        max_sectors: surroundings.max_sectors.unwrap_or(built.max_sectors).clamp(1, facts.max_sectors),
        rotational: facts.rotational,
        volatile_cache: facts.volatile_cache,
        fua: facts.fua,
        ..Limits::default()
    };
    let own_queues = surroundings.own_queues(attached).filter(|_| built.slots.era().is_some());
    let attached = surroundings.attached.unwrap_or(attached);
    let depth = surroundings.depth.unwrap_or(facts.depth).clamp(1, facts.depth);
    // A depth set by the user limits the host's tags, too.
    let tags = surroundings.depth.map_or(attached.tags(facts.depth), |depth| attached.tags(facts.depth).min(depth));
    let pool = if built.elevator.schedules() { Pool::Scheduler } else { Pool::Device };
    let slots = built.slots.on_device(surroundings.driver_tags.unwrap_or(tags), attached.tag_order(), pool);
    let slots = if pool == Pool::Device { slots.resized(tags) } else { slots };
    let queues = surroundings.cpus_under(built).map_or(1, |cpus| attached.hardware_queues(cpus.cpus));
    // Every hardware queue has scheduler tags of its own.
    let slots = if pool == Pool::Scheduler && own_queues.is_none() { slots.with_queues(queues) } else { slots };
    // Commands beyond what the disk holds wait in their submission queues.
    let depth = own_queues.map_or(depth, |queues| depth.saturating_mul(queues));
    let slots = surroundings.nr_requests.map_or(slots, |n| match slots {
        Slots::Unlimited | Slots::Unbounded { .. } => Slots::LINUX_2_6.with_nr_requests(n),
        Slots::Tags { .. } if pool == Pool::Device => slots.resized(n.min(tags)),
        limited => limited.resized(n),
    });
    QueueConfig {
        limits,
        depth,
        plugging: surroundings.plugging.unwrap_or(built.plugging),
        slots,
        driver: Driver { ahead: surroundings.ahead.unwrap_or(attached.driver().ahead), ..attached.driver() },
        wakes: if slots.era().is_some() { Wakes::ByDriver } else { Wakes::AtOnce },
        born: Instant::ZERO,
    }
}
