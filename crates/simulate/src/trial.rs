//! One simulation: its description and its results.

use std::collections::BTreeMap;
use std::sync::Arc;

use blksched::reasons::NoListener;
use blksched::surroundings::{Driver, Pool, Wakes};
use blksched::tunables::KnobError;
use blksched::{
    BlockQueue, Built, Choice, Command, Instant, Limits, Listener, QueueConfig, Sector, Slots, Span, SubmitterId,
};
use blksched_disks::{Activity, Attached, Disk, DiskSpec, Facts};
use blksched_measure::{AskedAndGiven, JobRecord, Reasons, Series};
use blksched_workloads::host::HostReport;
use blksched_workloads::replay::Joint;
use blksched_workloads::{GaveUp, JobPlan, Plan, Trouble};

use crate::beside::{Beside, BesideDisk, BesideFindings, BesideVolume};
use crate::changes::Change;
use crate::counted;
use crate::cpu::{CpuReport, hardware_queue, place};
use crate::disk_number::DiskNumber;
use crate::disk_share::DiskShare;
use crate::files;
use crate::hash::TraceHash;
use crate::other_disks::{self, OtherDisk};
use crate::story::{Hears, ReasonTee, SharedOnlooker, StoriesAsked, Storyteller};
use crate::surroundings::Surroundings;
use crate::trial_observer::{Finished, TrialObserver};
use crate::world::{Observer, StandsStill, World};

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
    /// Other disks of the same world.
    pub beside: Beside,
}

/// The results of a simulation.
#[derive(Clone, Debug)]
pub struct Findings {
    /// One result per process of the plan, in its order.
    pub jobs: Vec<JobOutcome>,
    /// Where processes came and went, in order, the first of which is the first to come; empty if they are many.
    pub changes: Vec<Change>,
    /// The recorded reasons.
    pub reasons: Reasons,
    /// What the disk did.
    pub disk: DiskShare,
    /// What the disks beside it did.
    pub beside: Vec<BesideFindings>,
    /// What the page cache did.
    pub host: HostReport,
    /// The most that was dirty or being written for each of the devices that processes see \[bytes\], in the plan's
    /// order; empty if there is one, or before 3.1.
    pub dirty_most: Vec<u64>,
    /// What the processors did, if they cost anything.
    pub cpu: Option<CpuReport>,
    /// How many bios `io.max` held back; `None` if no group has a limit.
    pub capped: Option<u64>,
    /// How fast io.cost's clock has run since when, as parts of its model's rate; empty without io.cost.
    pub cost_rates: Vec<(Instant, f64)>,
    /// When the run ended.
    pub elapsed: Span,
    /// Whether every job ended by itself.
    pub finished: bool,
    /// A hash of everything that the disk did.
    pub hash: TraceHash,
    /// How many requests all disks completed.
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
    /// When it submitted its first I/O, if it did.
    pub came: Option<Instant>,
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
        L: Hears + Clone,
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
    pub(crate) fn world<L: Listener + Clone, O: Observer>(
        &self,
        (spec, plan): (&DiskSpec, &Plan),
        listener: L,
        observer: O,
        joint: &mut Joint,
    ) -> Result<World<L, O>, TrialError> {
        let own =
            QueueParts { disk: spec, elevator: &self.elevator, knobs: &self.knobs, surroundings: &self.surroundings };
        let others = self.beside.disks.iter().map(QueueParts::of);
        let others = others.map(|parts| parts.build(plan, self.seed, listener.clone()));
        let others = others.collect::<Result<Vec<_>, _>>()?;
        let (queue, disk, config) = own.build(plan, self.seed, listener)?;
        let all = || [(&disk, &config)].into_iter().chain(others.iter().map(|(_, disk, config)| (disk, config)));
        let max_sectors = all().map(|(_, config)| config.limits.max_sectors).fold(0, u32::max);
        // The file system is on the first device of the common space, whose disk may be any of them.
        let at = self.beside.first_disk();
        let (disk_sectors, fs_max_sectors) =
            all().nth(at).map(|(disk, config)| (disk.facts().sectors, config.limits.max_sectors)).unwrap_or_default();
        let above = self.beside.volumes.iter().find(|volume| volume.first == Sector(0));
        let disk_sectors = above.map_or(disk_sectors, BesideVolume::sectors);
        let later = self.surroundings.starts.later(self.seed, plan.jobs.len(), &plan.begins_when_told());
        let mut world = World::new(queue, disk, plan.joint_sources(self.seed, &later, joint), observer);
        if !others.is_empty() || !self.beside.volumes.is_empty() {
            world = world.with_first_at(self.beside.first);
            for (place, (queue, disk, _)) in self.beside.disks.iter().zip(others) {
                world = world.with_disk(place.first, queue, disk);
            }
        }
        let write_back = self.surroundings.write_back(&self.elevator);
        let mut world = world.with_host(self.surroundings.host, write_back, max_sectors);
        if !world.is_lone() {
            world = world.with_memory_of(&self.beside.memory_devices());
        }
        world = world.with_blank(&plan.blank);
        if let Some(fs) = files::file_system((plan.fs, plan.log_disk), disk_sectors, fs_max_sectors, self.seed) {
            world = world.with_files(fs, &plan.files);
        }
        world = self.surroundings.race(world, &self.elevator, (config.wakes, self.seed));
        if let Some(cpus) = self.surroundings.cpus {
            world = world.with_processors(cpus.cpus);
        }
        for BesideVolume { first, spec, members } in &self.beside.volumes {
            world = world.with_volume(*first, spec, members);
        }
        if let Some(cpus) = self.surroundings.cpus_under(&self.elevator.build()) {
            let allowed: Vec<_> = plan.jobs.iter().map(|job| job.cpus_allowed).collect();
            let places = place(cpus.cpus as usize, &allowed, self.seed);
            let (scheduler, queues) = self.surroundings.on_cpus(&cpus, &self.elevator, spec.attached);
            world = world.with_cpus(&cpus, scheduler, queues, &places);
            world = world.with_tasks(plan.jobs.iter().map(|job| (job.calls, job.nice)));
            for other in &self.beside.disks {
                let (scheduler, queues) = other.surroundings.on_cpus(&cpus, &other.elevator, other.disk.attached);
                world = world.with_scheduler_of_disk(scheduler, queues);
            }
            let all = [own].into_iter().chain(self.beside.disks.iter().map(QueueParts::of));
            for (number, parts) in (0..).map(DiskNumber).zip(all) {
                if let Some(queues) = parts.surroundings.several_queues(parts.disk.attached) {
                    let jobs = plan.jobs.iter().zip(&places);
                    world.at_disk(number, |world| on_hardware_queues(world, queues, cpus.cpus, jobs, &parts));
                }
            }
        }
        Ok(world)
    }

    /// The same, changed from `before`, where the members of the same stacked device change as its own disk did.
    #[must_use]
    pub fn for_all_members(mut self, before: &Trial) -> Trial {
        for member in self.beside.disks.iter_mut().filter(|disk| disk.is_fellow) {
            if member.is_alike {
                member.elevator = self.elevator.clone();
                (member.knobs, member.surroundings) = (self.knobs.clone(), self.surroundings);
            }
            if member.disk.name == before.disk.name {
                member.disk = self.disk.clone();
            }
        }
        self
    }

    /// A teller that has seen nothing yet of this run.
    pub fn storyteller(&self, asked: StoriesAsked) -> Storyteller {
        let flusher = SubmitterId(self.plan.jobs.iter().map(|job| job.submitter.0 + 1).max().unwrap_or(0));
        let teller = Storyteller::new(asked, flusher, self.disk.build(self.seed).parts());
        self.beside.disks.iter().fold(teller, |teller, beside| teller.beside(beside.disk.build(self.seed).parts()))
    }

    /// The configuration of the queue around the elevator in this run.
    pub fn around(&self) -> QueueConfig {
        let facts = self.disk.build(self.seed).facts();
        queue_config(&self.elevator.build(), &self.surroundings, &facts, self.disk.attached)
    }

    /// What became of the disks beside it.
    fn beside_findings<L: Listener + AsRef<Reasons>>(
        &self,
        world: &mut World<L, TrialObserver>,
    ) -> Vec<BesideFindings> {
        let elapsed = world.now().since(Instant::ZERO);
        let of = |(number, beside): (u16, &BesideDisk)| {
            world.at_disk(DiskNumber(number), |world| {
                let mut reasons = world.queue().listener().as_ref().clone();
                reasons.settle(world.now());
                let disk = DiskShare::of(world, &reasons, elapsed);
                let (capped, requests) = (world.queue().held_by_io_max(), world.completions_here());
                BesideFindings { name: beside.name.clone(), disk, reasons, capped, requests }
            })
        };
        (1..).zip(&self.beside.disks).map(of).collect()
    }

    /// How long each process asked for the trial's own disk and had it, or its device's members on average; and the
    /// same for the other disks, which counts for processes that do not use its own.
    fn shares(&self, reasons: &Reasons, beside: &[BesideFindings]) -> [BTreeMap<SubmitterId, AskedAndGiven>; 2] {
        let own = reasons.submitters().map(|time| (time.submitter, time.share));
        let mut shares: BTreeMap<SubmitterId, AskedAndGiven> = own.collect();
        let mut elsewhere: BTreeMap<SubmitterId, AskedAndGiven> = BTreeMap::new();
        let mut members = 1;
        for (disk, other) in self.beside.disks.iter().zip(beside) {
            members += u64::from(disk.is_fellow);
            for time in other.reasons.submitters() {
                let sum = if disk.is_fellow { &mut shares } else { &mut elsewhere };
                let share = sum.entry(time.submitter).or_default();
                let asked =
                    if disk.is_fellow { share.asked + time.share.asked } else { share.asked.max(time.share.asked) };
                (share.asked, share.given) = (asked, share.given + time.share.given);
            }
        }
        if members > 1 {
            for share in shares.values_mut() {
                (share.asked, share.given) = (share.asked / members, share.given / members);
            }
        }
        [shares, elsewhere]
    }

    fn result<L: Listener + AsRef<Reasons>>(&self, mut world: World<L, TrialObserver>) -> Findings {
        let end = world.now();
        let mut reasons = world.queue().listener().as_ref().clone();
        reasons.settle(end);
        let mut observer = core::mem::take(world.observer_mut());
        let ios = observer.ios();
        let issued = observer.issued.take().unwrap_or_default();
        let mut ledgers = vec![world.disk().ledger().into_owned()];
        let elapsed = end.since(Instant::ZERO);
        let beside = self.beside_findings(&mut world);
        for (number, _) in (1..).map(DiskNumber).zip(&beside) {
            ledgers.push(world.at_disk(number, |world| world.disk().ledger().into_owned()));
        }
        let [shares, elsewhere] = self.shares(&reasons, &beside);
        let share_of = |index: usize, submitter: SubmitterId| {
            let shares = if self.plan.is_on_varied(index) { &shares } else { &elsewhere };
            shares.get(&submitter).copied().unwrap_or_default()
        };
        let activity_of = |submitter: SubmitterId| {
            let each = ledgers.iter().map(|ledger| ledger.of(submitter));
            each.fold(Activity::default(), |mut sum, own| {
                sum += &own;
                sum
            })
        };
        let outcome = |(index, (Finished { mut record, came, exited, series }, job)): (usize, (Finished, &JobPlan))| {
            let trouble = world.trouble(index);
            record.errors = trouble.errors;
            record.error = trouble.gave_up.map_or(0, GaveUp::errno);
            let (share, activity) = (share_of(index, job.submitter), activity_of(job.submitter));
            JobOutcome { record, came, exited, series, share, trouble, activity }
        };
        let (finished, changes) = observer.finish(end);
        let jobs = finished.zip(&self.plan.jobs).enumerate().map(outcome).collect();
        let disk = DiskShare::of(&world, &reasons, elapsed);
        let (finished, hash, requests) = (world.is_finished(), world.hash(), world.completions());
        let (host, cpu) = (world.host().report(), world.cpu_report());
        let dirty_most = world.host().dirty_most_of_devices();
        let work = counted::work(requests, ios, &host);
        let capped = world.queue().held_by_io_max();
        let cost_rates = world.queue().io_cost_rates();
        Findings {
            jobs,
            changes,
            reasons,
            disk,
            beside,
            host,
            dirty_most,
            cpu,
            capped,
            cost_rates,
            elapsed,
            finished,
            hash,
            requests,
            work,
            issued,
        }
    }
}

/// What a queue and its disk are made of.
#[derive(Clone, Copy)]
struct QueueParts<'a> {
    disk: &'a DiskSpec,
    elevator: &'a Choice,
    knobs: &'a [(String, i64)],
    surroundings: &'a Surroundings,
}

/// A queue in front of its disk, and how it was configured.
type BuiltQueue<L> = (BlockQueue<L>, Box<dyn Disk>, QueueConfig);

impl<'a> QueueParts<'a> {
    fn of(beside: &'a BesideDisk) -> QueueParts<'a> {
        let BesideDisk { disk, elevator, knobs, surroundings, .. } = beside;
        QueueParts { disk, elevator, knobs, surroundings }
    }

    fn build<L: Listener>(&self, plan: &Plan, seed: u64, listener: L) -> Result<BuiltQueue<L>, KnobError> {
        let disk = self.disk.build(seed);
        let built = self.elevator.build();
        let config = queue_config(&built, self.surroundings, &disk.facts(), self.disk.attached);
        let mut queue = BlockQueue::with_listener(config, built.elevator, listener);
        if let Some(queues) = self.surroundings.own_queues(self.disk.attached) {
            queue = queue.with_hardware_queues(queues);
        }
        self.surroundings.throttle(&mut queue, &config, &disk.facts(), self.disk.attached);
        for (knob, raw) in self.knobs {
            queue.set(Instant::ZERO, knob, *raw)?;
        }
        crate::groups::make(&mut queue, self.elevator, self.disk, &plan.groups);
        Ok((queue, disk, config))
    }
}

/// Each process uses its processor's hardware queue, and that one's tags and submission queue if it has its own.
fn on_hardware_queues<'a, L: Listener, O: Observer>(
    world: &mut World<L, O>,
    queues: u32,
    cpus: u32,
    processes: impl Iterator<Item = (&'a JobPlan, &'a u32)>,
    parts: &QueueParts<'_>,
) {
    let queue_of = |cpu: u32| hardware_queue(cpu as usize, cpus as usize, queues as usize) as u32;
    let places: Vec<_> = processes.map(|(job, &cpu)| (job.submitter, queue_of(cpu))).collect();
    places.iter().for_each(|&(submitter, queue)| world.queue().place(submitter, queue));
    if parts.surroundings.own_queues(parts.disk.attached).is_some() {
        world.set_submission_queues(queues, parts.disk.middleware.arbitration_burst, places);
    }
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
        io_max: built.io_max(),
        born: Instant::ZERO,
    }
}
