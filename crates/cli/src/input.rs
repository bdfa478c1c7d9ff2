//! From the user's arguments to the simulator's input: workload, disk, elevators, knobs. Everything is checked here,
//! before anything runs.

mod contender;
mod each;
mod files;
mod groups;
pub(crate) mod trace;
pub(crate) mod uri;
mod workload;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use blksched::{Catalogue, Span};
use blksched_disks::{DiskSpec, Facts};
use blksched_simulate::{Beside, Length, Starts, Surroundings, Trial};
use blksched_text::utf8;
use blksched_workloads::{CpuSet, GaveUp, GroupPlan, JobPlan, Plan};

use crate::failure::Failure;
use crate::scene::{Scene, When};
pub(crate) use contender::{AROUND, Contender, contenders, notes_on, unthrottled};
pub(crate) use groups::notes_on_files;
pub(crate) use workload::{DEFAULT_LOAD, Workload};
#[cfg(feature = "sweep")]
pub(crate) use workload::{check_load, recorded};

/// io.latency halves a depth at most twice a second: from 1023, the depth of an NVMe drive, it reaches one in ten
/// steps.
const IO_LATENCY_SETTLES: Span = Span::from_secs(5);

/// A workload laid out on a disk.
pub(crate) struct Stage {
    pub(crate) workload: Arc<Workload>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) disk: Arc<DiskSpec>,
    /// The name as given.
    pub(crate) disk_name: String,
    /// The other disks of the same run with their names, if the workload's processes have I/Os there too.
    pub(crate) beside: Vec<(String, Beside)>,
}

impl Stage {
    /// Loads and checks workload and disk.
    pub(crate) fn load(scene: &Scene) -> Result<Stage, Failure> {
        Stage::of(Arc::new(Workload::load(scene)?), scene)
    }

    /// Lays out a loaded workload on the scene's disk.
    pub(crate) fn of(workload: Arc<Workload>, scene: &Scene) -> Result<Stage, Failure> {
        Stage::on(workload, scene.disk.clone(), scene)
    }

    /// Lays out a loaded workload on this disk.
    fn on(workload: Arc<Workload>, disk_name: String, scene: &Scene) -> Result<Stage, Failure> {
        let disk = blksched_disks::load(&disk_name).map_err(Failure::input)?;
        let plan = Arc::new(workload.plan(disk.build(scene.seed).facts().sectors)?);
        Ok(Stage { workload, plan, disk: Arc::new(disk), disk_name, beside: Vec::new() })
    }

    /// The scheduler that a present kernel chooses for such a disk.
    pub(crate) fn kernel_default(&self, scene: &Scene) -> &'static str {
        let recorded = self.workload.machine.as_ref().and_then(|device| device.word("scheduler"));
        let known = recorded.and_then(|name| PRESENT.into_iter().find(|known| *known == name));
        known.unwrap_or_else(|| kernel_default(&self.disk.build(scene.seed).facts()))
    }

    /// The length of repeated runs: as given, or as long as pilots of this contender need.
    pub(crate) fn length(&self, scene: &Scene, contender: &Contender) -> Result<Length, Failure> {
        match scene.time {
            Some(time) => Ok(Length::of(time)),
            None => Length::fitting(&self.trial(scene, contender, Span::MAX)).map_err(Failure::input),
        }
    }

    /// The same with io.latency among the contenders: it takes seconds to settle, which are added to the warm-up.
    pub(crate) fn settled(&self, length: Length, scene: &Scene, contenders: &[Contender]) -> Length {
        let has = |files: &[(String, String)]| files.iter().any(|(file, _)| file == "io.latency");
        let is_asked = contenders.iter().any(|contender| contender.choice.asked.contains(&"io.latency"));
        let takes_hold = |group: &GroupPlan| has(&group.files) || is_asked && has(&group.files_if_asked);
        if scene.time.is_some() || !self.plan.groups.iter().any(takes_hold) {
            return length;
        }
        // Each phase has its part of the warm-up.
        let warm_up = length.warm_up.max(IO_LATENCY_SETTLES * u64::from(self.plan.phases()));
        Length { warm_up, limit: warm_up + length.limit.saturating_sub(length.warm_up), ..length }
    }

    /// The length of a single run: jobs that end by themselves are not cut off.
    pub(crate) fn length_once(&self, scene: &Scene, contender: &Contender) -> Result<Length, Failure> {
        match scene.time {
            Some(time) => Ok(Length::of(time)),
            None => Length::fitting_once(&self.trial(scene, contender, Span::MAX)).map_err(Failure::input),
        }
    }

    /// The stage with the warm-up cut off.
    pub(crate) fn cut(mut self, length: Length) -> Stage {
        self.plan = Arc::new(length.cut(&self.plan));
        self
    }

    /// What a user should know about options that change nothing, and about assumptions.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = self.workload.notes(&self.plan);
        let others: Vec<String> =
            self.beside.iter().map(|(name, beside)| format!("{name} on {}", beside.disk.name)).collect();
        if !others.is_empty() {
            notes.push(format!(
                "{} run at the same time: a process with I/Os on several disks waits on each for what it waited for on \
                 the others; each disk has processors and memory of its own",
                others.join(", ")
            ));
        }
        notes
    }

    /// Notes on cpus_allowed where the host does not have such processors, or where I/O costs them nothing.
    pub(crate) fn cpu_notes(&self, scene: &Scene) -> Vec<String> {
        let cpus = scene.host.cpus as usize;
        let jobs = || self.plan.jobs.iter().filter(|job| job.cpus_allowed != CpuSet::ALL && job.number == 0);
        if scene.host.cpu.is_none() {
            let says =
                jobs().next().map(|job| format!("{}: cpus_allowed changes nothing with --host cpu=off", job.name));
            return says.into_iter().collect();
        }
        let lacks = jobs().filter(|job| !(0..cpus).any(|cpu| job.cpus_allowed.has(cpu)));
        let say = |job: &JobPlan| {
            format!(
                "{}: the host has none of its cpus_allowed, so it may use all {cpus}; --host cpus=N adds more",
                job.name
            )
        };
        lacks.map(say).collect()
    }

    /// The stage without its logs: after several runs it would be unclear to which one a log belongs.
    pub(crate) fn without_logs(mut self) -> (Stage, Option<String>) {
        let mut any = false;
        for job in &mut Arc::make_mut(&mut self.plan).jobs {
            any |= std::mem::take(&mut job.report.logs).any();
        }
        let note = "the job file's logs are written by `blksched simulate`, not by `compare`";
        (self, any.then(|| note.to_owned()))
    }

    /// The stage for a sweep's rows, which contain neither submission times nor rates over time: those are not
    /// measured.
    #[cfg(feature = "sweep")]
    pub(crate) fn for_rows(self) -> Stage {
        let (mut stage, _) = self.without_logs();
        for job in &mut Arc::make_mut(&mut stage.plan).jobs {
            let report = &mut job.report;
            (report.slat.measured, report.lat.measured, report.samples) = (false, false, false);
        }
        stage
    }

    /// Which jobs ended early, and why.
    pub(crate) fn gave_up(&self, outcomes: impl Iterator<Item = Option<GaveUp>>) -> Vec<String> {
        let why = |why: GaveUp| match why {
            GaveUp::Io => "an I/O failed",
            GaveUp::RateMin => "it was slower than rate_min or rate_iops_min",
            GaveUp::MaxLatency => "an I/O took longer than max_latency",
        };
        let told = self.plan.jobs.iter().zip(outcomes).filter_map(|(job, gave_up)| Some((job, gave_up?)));
        told.map(|(job, gave_up)| format!("job {} (process {}) gave up: {}", job.name, job.number, why(gave_up)))
            .collect()
    }

    /// A limit of the device on which a trace was recorded.
    fn recorded(&self, limit: &str) -> Option<u32> {
        self.workload.machine.as_ref()?.number(limit).filter(|&number| number > 0)
    }

    /// One trial of one contender.
    pub(crate) fn trial(&self, scene: &Scene, contender: &Contender, limit: Span) -> Trial {
        let surroundings = Surroundings {
            depth: scene.depth.or_else(|| self.recorded("queue_depth")),
            nr_requests: scene.nr_requests,
            max_sectors: scene.max_sectors_kb.or_else(|| self.recorded("max_sectors_kb")).map(|kib| 2 * kib),
            attached: scene.attached,
            wbt_latency: scene.wbt_lat_usec.map(Span::from_us),
            host: scene.host.memory,
            cpus: scene.host.processors(),
            odds: scene.host.odds,
            starts: match scene.starts {
                When::Drawn => Starts::Drawn(0),
                When::AsSaid => Starts::AsSaid,
            },
            ..Surroundings::default()
        };
        Trial {
            elevator: contender.choice.clone(),
            knobs: contender.knobs.clone(),
            surroundings: contender.around.apply(surroundings),
            disk: self.disk.clone(),
            plan: self.plan.clone(),
            seed: scene.seed,
            limit,
            beside: self.beside.iter().map(|(_, beside)| beside.clone()).collect(),
        }
    }
}

/// The schedulers of a present kernel.
pub(crate) const PRESENT: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

/// The kernel's choice if the user makes none: `none` for a disk with more than one hardware queue, else `mq-deadline`.
/// SATA and SAS disks have one queue, of at most 32 commands as Linux drives them; a disk that accepts more is taken
/// for NVMe, which has one queue per CPU. (Distributions' udev rules may choose otherwise.)
pub(crate) fn kernel_default(facts: &Facts) -> &'static str {
    const ONE_QUEUE: u32 = 32;
    if facts.depth <= ONE_QUEUE { "mq-deadline" } else { "none" }
}

/// No job file and no experiment is longer; an endless file (`/dev/zero`) is longer than this \[bytes\].
const MOST_BYTES: u64 = 16 << 20;

/// All of an input, or enough of it to show that it is too long for a text that people write.
pub(crate) fn bytes_of(input: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn bounded(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    match bytes.len() as u64 {
        0..=MOST_BYTES => Ok(bytes),
        _ => Err(io::Error::other("longer than 16 MiB: expected a text file")),
    }
}

/// The input as text; `name` is for error messages.
pub(crate) fn text_of(name: &str, read: io::Result<Vec<u8>>) -> Result<String, Failure> {
    let read = read.and_then(bounded);
    let bytes = read.map_err(|error| Failure::Input(format!("{name}: {error}")))?;
    utf8(bytes).map_err(|error| Failure::Input(format!("{name}:{error}")))
}

/// The text of a file that another file names; the reader of that other file adds the place to errors.
pub(crate) fn text_beside(path: &Path) -> Result<String, String> {
    let bytes = File::open(path).and_then(bytes_of).and_then(bounded).map_err(|error| error.to_string())?;
    utf8(bytes).map_err(|error| error.to_string())
}

/// For fuzzing: descriptions of elevators and jobs are parsed or refused; no file is read.
pub(crate) fn fuzz(option: &str, elevators: &[String], scene: &Scene, catalogue: &Catalogue) {
    if let Ok(contenders) = contenders(option, elevators, &scene.set, catalogue) {
        for Contender { choice, knobs, .. } in contenders {
            let mut built = choice.build();
            for (name, raw) in knobs {
                let tunables = built.elevator.tunables_mut().expect("it has the knob");
                tunables.set(&name, raw).expect("a value that was understood is in range");
            }
        }
    }
    workload::fuzz(scene);
}
