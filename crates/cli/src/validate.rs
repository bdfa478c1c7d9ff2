//! `blksched validate`: a job run by the real fio on a real disk under each of its schedulers, compared with the
//! prediction.
//!
//! What is there is not written over without `--destroy`; in a folder, files are made in a new one and removed. No
//! device that is mounted is touched, a scheduler is changed only on request or if nothing else can use the disk, and
//! every change is undone however the program ends.

mod arguments;
mod disk;
mod history;
mod job;
mod measure;
mod memory;
mod mounted;
mod report;
mod settings;
mod several;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use blksched::{Catalogue, Span};
use blksched_simulate::Surroundings;
use blksched_simulate::cpu::{CpuPreset, HostCpus};
use blksched_simulate::reality::{Bench, Cell, Judged, SYNC, judge};
use blksched_workloads::host::fs::{FsKind, FsMount};

use crate::failure::Failure;
use crate::output;
use crate::pictures::Pictures;
use crate::report::validated;
pub(crate) use arguments::ValidateArguments;
use disk::{JobTarget, Use};
pub(crate) use history::sentence;
use job::{JobPlace, ValidatedJob};
use measure::{FioRun, run as measure};
use mounted::Mounted;
use settings::{FoundQueue, SavedSettings};
use several::OtherTarget;

/// Predictions are means over so many.
const SEEDS: u64 = 3;

/// What is about to be done.
struct ValidationPlan {
    job: ValidatedJob,
    /// Where it runs, as given.
    on: String,
    /// The disk whose schedulers are measured, and the job's name for it if it has several.
    target: JobTarget,
    name: String,
    others: Vec<OtherTarget>,
    /// The file system that the files are on.
    fs: FsMount,
    /// What fio makes in a folder before it measures \[bytes\].
    makes: u64,
    /// Jobs whose reads ask nothing of the host's memory, nor of a file system.
    direct: BTreeSet<String>,
    /// The schedulers to measure.
    schedulers: Vec<String>,
    switches: bool,
    runtime: Span,
    repeats: u32,
    /// What the user should know.
    notes: Vec<String>,
}

pub(crate) fn run(arguments: &ValidateArguments) -> Result<(), Failure> {
    let plan = prepare(arguments)?;
    if !arguments.json {
        output::print(&plan.told())?;
    }
    if arguments.parse_only {
        return Ok(());
    }
    confirm(arguments, &plan)?;
    let stop = measure::stop();
    let mut settings = plan.target.queue.as_ref().map(|queue| SavedSettings::keep(queue));
    let mut measured = Vec::new();
    let (mut predicted, mut throttled) = (Vec::new(), None);
    let (paths, path) = (plan.paths(), plan.target.path.display().to_string());
    let place = match (plan.others.is_empty(), plan.target.is_folder) {
        (false, _) => JobPlace::Each(&paths),
        (true, true) => JobPlace::Folder(&path),
        (true, false) => JobPlace::One(&path),
    };
    for scheduler in &plan.schedulers {
        if let (true, Some(settings)) = (plan.switches, settings.as_mut()) {
            settings.switch(scheduler)?;
        }
        let found = settings.as_ref().map_or_else(FoundQueue::default, SavedSettings::found);
        if scheduler == "bfq" {
            throttled = found.target(scheduler, &disk::kernel()).filter(|target| *target > 0);
        }
        predicted.extend(predict(arguments, &plan, (scheduler, found))?);
        for repeat in 0..plan.repeats {
            let run = FioRun { scheduler, repeat, runtime: plan.runtime, makes: plan.makes, stop: &stop };
            measured.extend(measure(&plan.job, place, &run)?);
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    // Put back before anything is printed, since the reader may be slow.
    if let Some(settings) = settings {
        settings.restore()?;
    }
    let interrupted = || Failure::Outside("interrupted; scheduler and knobs are as they were".to_owned());
    if measured.is_empty() && stop.load(Ordering::Relaxed) {
        return Err(interrupted());
    }
    let compared = Compared { throttled, ..Compared::new(&plan, Cell::pair(&measured, &predicted)) };
    let remembered = history::remember(arguments, (plan.fs, plan.is_on_devices()), (&compared.judged, &compared.raw));
    let text = match arguments.json {
        true => report::json(&plan, &compared),
        false => {
            report::text(&plan, &compared) + &remembered.map_or_else(|why| format!("note: {why}\n"), |()| String::new())
        }
    };
    output::print(&text)?;
    if let Some(file) = &arguments.report {
        let pictures = Pictures { report: Some(file.clone()), ..Pictures::default() };
        let json = report::json(&plan, &compared);
        validated(&pictures, report::summary(&plan, &compared), report::pictured(&compared.cells), json)?;
    }
    match stop.load(Ordering::Relaxed) {
        true => Err(interrupted()),
        false => Ok(()),
    }
}

fn prepare(arguments: &ValidateArguments) -> Result<ValidationPlan, Failure> {
    let job = ValidatedJob::load(&arguments.job)?;
    let targets = targets(arguments, &job)?;
    let is_folder = targets.others.is_empty() && targets.target.is_folder;
    let is_there = targets.others.iter().map(|other| &other.target).chain([&targets.target]).all(JobTarget::is_there);
    if job.writes && !arguments.destroy && !is_there {
        return Err(Failure::Input(format!(
            "--on {}: no such disk, file or folder; --destroy makes a new file of that name, for all files of the job",
            arguments.on
        )));
    }
    if job.writes && !arguments.destroy && !is_folder {
        let what = format!("{} writes, and data on {} would be lost", job.name, arguments.on);
        return Err(Failure::Input(format!("{what}: give --destroy if it may be lost, or use a job that only reads")));
    }
    let Targets { name, target, others } = targets;
    [&target]
        .into_iter()
        .chain(others.iter().map(|other| &other.target))
        .try_for_each(|target| target.refuse(arguments))?;
    let one = if others.is_empty() { Some(Alone::new(arguments, &job, &target)?) } else { None };
    let mut notes = one.as_ref().map_or_else(Vec::new, |one| one.mounted.notes.clone());
    let (schedulers, switches) = chosen(arguments, &target, &mut notes)?;
    let kernel = disk::kernel();
    for scheduler in &schedulers {
        notes.extend(Catalogue::builtin().of_running(scheduler, &kernel).map_err(Failure::input)?.note());
    }
    for OtherTarget { name, target } in &others {
        let keeps = target.current().unwrap_or_else(|| "what it has".to_owned());
        notes.push(format!("{name} ({}) keeps {keeps}", target.path.display()));
    }
    let (runtime, repeats, on) = (arguments.time, arguments.repeats, arguments.on.clone());
    let (fs, direct, makes) =
        one.map_or_else(|| (FsKind::None.into(), BTreeSet::new(), 0), |one| (one.mounted.fs, one.direct, one.makes));
    let plan = ValidationPlan {
        job,
        on,
        target,
        name,
        others,
        fs,
        makes,
        direct,
        schedulers,
        switches,
        runtime,
        repeats,
        notes,
    };
    if !plan.others.is_empty() {
        several::stage(&arguments.disk, &plan, (&plan.schedulers[0], FoundQueue::default()))?;
    }
    Ok(plan)
}

/// The schedulers to measure, and whether the disk's is changed for that.
///
/// # Errors
/// One that the disk does not have, a disk that has none, or no right to change it.
fn chosen(
    arguments: &ValidateArguments,
    target: &JobTarget,
    notes: &mut Vec<String>,
) -> Result<(Vec<String>, bool), Failure> {
    let available = target.schedulers();
    let wanted = if arguments.elevators.is_empty() { available.clone() } else { arguments.elevators.clone() };
    if let Some(unknown) = wanted.iter().find(|name| !available.contains(name)) {
        let expected =
            if available.is_empty() { "none: it has no queue of its own".to_owned() } else { available.join(", ") };
        return Err(Failure::Input(format!("--elevators {unknown}: the disk's kernel has {expected}")));
    }
    let may_switch = match target.used {
        Use::Alone => true,
        Use::Shared => arguments.switch,
    };
    let current = target.current();
    let no_scheduler =
        || Failure::Input(format!("--on {}: there is no disk with a scheduler beneath it", arguments.on));
    let schedulers = match (&current, may_switch) {
        // The varied one of several may have no queue.
        (_, true) if wanted.is_empty() => return Err(no_scheduler()),
        (_, true) => wanted,
        (Some(current), false) => {
            let disks = target.disks.join(", ");
            notes.push(format!(
                "only {current} is measured: others use {disks} too; --switch changes the scheduler for all meanwhile"
            ));
            vec![current.clone()]
        }
        (None, false) => return Err(no_scheduler()),
    };
    let switches = may_switch && schedulers.iter().any(|name| Some(name) != current.as_ref());
    if switches && !target.may_change() {
        let why = "changing the scheduler needs root; without it, only the present one can be measured (--elevators)";
        return Err(Failure::Outside(format!("{}: {why}", target.disks.join(", "))));
    }
    Ok((schedulers, switches))
}

/// What is known of a job's only disk before it runs.
struct Alone {
    mounted: Mounted,
    /// Jobs that are direct.
    direct: BTreeSet<String>,
    /// What fio makes in a folder \[bytes\].
    makes: u64,
}

impl Alone {
    fn new(arguments: &ValidateArguments, job: &ValidatedJob, target: &JobTarget) -> Result<Alone, Failure> {
        let spec = blksched_disks::load(&arguments.disk).map_err(Failure::input)?;
        let sectors = spec.build(0).facts().sectors;
        job.fits(target, sectors)?;
        let mounted = target.file_system(arguments.fs)?;
        let planned = job.plan(arguments.time, sectors, target, mounted.fs)?;
        let direct = planned.jobs.iter().filter(|job| !job.is_buffered).map(|job| job.name.clone()).collect();
        let makes = if target.is_folder { job::file_bytes(&planned) } else { 0 };
        target.has_space(makes)?;
        Ok(Alone { mounted, direct, makes })
    }
}

/// The disks of a job.
struct Targets {
    /// The job's name for the first; nothing if it has one.
    name: String,
    target: JobTarget,
    others: Vec<OtherTarget>,
}

/// The disk whose schedulers are measured, and the others.
fn targets(arguments: &ValidateArguments, job: &ValidatedJob) -> Result<Targets, Failure> {
    let named = several::named(&arguments.on)?;
    if named.is_empty() {
        let target = JobTarget::inspect(Path::new(&arguments.on))?;
        if let Some(vary) = &arguments.vary {
            return Err(Failure::Input(format!(
                "--vary {vary}: the job has one disk: expected --on NAME=PATH,NAME=PATH"
            )));
        }
        return Ok(Targets { name: String::new(), target, others: Vec::new() });
    }
    if let Some(fs) = &arguments.fs {
        let why = "is for one disk; with several, each is taken as a raw device";
        return Err(Failure::Input(format!("--fs {fs}: {why}")));
    }
    several::check(&arguments.on, &named, job)?;
    let mut all = several::inspect(&named)?;
    let varied = arguments.vary.as_deref().map_or(Some(0), |vary| all.iter().position(|other| other.name == vary));
    let names = || all.iter().map(|other| other.name.as_str());
    let Some(varied) = varied else {
        let vary = arguments.vary.as_deref().unwrap_or_default();
        let near = blksched_text::did_you_mean(vary, names());
        let expected = names().collect::<Vec<_>>().join(", ");
        return Err(Failure::Input(format!("--vary {vary}: no such disk in --on{near} (expected one of {expected})")));
    };
    let OtherTarget { name, target } = all.remove(varied);
    Ok(Targets { name, target, others: all })
}

/// Measured beside predicted.
struct Compared {
    /// Reads and writes.
    cells: Vec<Cell>,
    judged: Judged,
    /// Those that are the disk's and the scheduler's alone.
    raw: Judged,
    /// Syncs, of which there is no bandwidth.
    syncs: Vec<Cell>,
    /// The target of write-back throttling that somebody had written by hand, so that it held under BFQ \[us\].
    throttled: Option<u32>,
}

impl Compared {
    fn new(plan: &ValidationPlan, all: Vec<Cell>) -> Compared {
        let (syncs, cells): (Vec<Cell>, Vec<Cell>) = all.into_iter().partition(|cell| cell.measured.dir == SYNC);
        let raw: Vec<Cell> = cells.iter().filter(|cell| plan.is_raw(cell)).cloned().collect();
        Compared { judged: judge(&cells), raw: judge(&raw), cells, syncs, throttled: None }
    }
}

impl ValidationPlan {
    /// All disks beneath.
    fn disks(&self) -> Vec<&str> {
        let others = self.others.iter().flat_map(|other| &other.target.disks);
        self.target.disks.iter().chain(others).map(String::as_str).collect()
    }

    /// The job's names, each with its path.
    fn paths(&self) -> Vec<(String, String)> {
        let path = |name: &String, target: &JobTarget| (name.clone(), target.path.display().to_string());
        let others = self.others.iter().map(|other| path(&other.name, &other.target));
        [path(&self.name, &self.target)].into_iter().chain(others).collect()
    }

    /// Whether none of several disks is a file, which is predicted as if it were a disk.
    fn is_on_devices(&self) -> bool {
        self.others.is_empty() || self.target.is_device && self.others.iter().all(|other| other.target.is_device)
    }

    /// Whether what was measured depends on the disk and the scheduler alone.
    fn is_raw(&self, cell: &Cell) -> bool {
        let is_direct_read = cell.measured.dir == "read" && self.direct.contains(&cell.measured.process);
        self.is_on_devices() && (self.fs == FsKind::None || is_direct_read)
    }

    /// What will be done, on which disks, and for how long.
    fn told(&self) -> String {
        let runs = self.schedulers.len() as u64 * u64::from(self.repeats);
        let (does, after) = match (self.target.is_folder, self.job.writes) {
            (true, _) => (format!("makes files of {} in", disk::in_mib(self.makes)), ", removed afterwards"),
            (false, true) => ("reads and WRITES".to_owned(), ""),
            (false, false) => ("only reads".to_owned(), ""),
        };
        let seconds = self.runtime.as_secs_f64() * runs as f64;
        let plural = if runs == 1 { "run" } else { "runs" };
        let mut text = format!(
            "{} {does} {} ({}){after}, under {}: {runs} {plural} of {}, about {seconds:.0} s.\n",
            self.job.name,
            self.on,
            self.disks().join(", "),
            self.schedulers_told(),
            self.runtime
        );
        if self.switches {
            let was = self.target.current().unwrap_or_default();
            text += &format!(
                "The scheduler of {} is changed meanwhile; afterwards it is {was} again, with its knobs.\n",
                self.target.disks.join(", ")
            );
        }
        self.notes.iter().for_each(|note| text += &format!("note: {note}\n"));
        text
    }

    fn schedulers_told(&self) -> String {
        let of = if self.name.is_empty() { String::new() } else { format!(" for {}", self.name) };
        self.schedulers.join(", ") + &of
    }
}

/// Asks before changing the scheduler of disks that others use.
fn confirm(arguments: &ValidateArguments, plan: &ValidationPlan) -> Result<(), Failure> {
    if !plan.switches || plan.target.used == Use::Alone || arguments.yes {
        return Ok(());
    }
    let question = format!("Change the scheduler of {} meanwhile? [y/N] ", plan.target.disks.join(", "));
    eprint!("{question}");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Failure::Outside("nothing was done: --switch was not confirmed (--yes does)".to_owned())),
    }
}

fn bench(arguments: &ValidateArguments, plan: &ValidationPlan) -> Result<Bench, Failure> {
    let disk = Arc::new(blksched_disks::load(&arguments.disk).map_err(Failure::input)?);
    let max_sectors = plan.target.number("max_sectors_kb").map(|kib| 2 * kib);
    Ok(Bench {
        around: Surroundings {
            max_sectors,
            cpus: Some(processors()),
            host: memory::of(&plan.target),
            ..Surroundings::default()
        },
        tags: plan.target.tags().map(|tags| tags.min(disk.depth())),
        disk,
        nr_requests: None,
        knobs: Vec::new(),
        kernel: disk::kernel(),
        seeds: SEEDS,
        limit: plan.runtime * 4,
    })
}

/// The machine's real number of processors, with the usual preset's cost of an I/O.
fn processors() -> HostCpus {
    let cpus = std::thread::available_parallelism().map_or(HostCpus::USUAL, |cpus| cpus.get() as u32);
    HostCpus { cpus: cpus.min(HostCpus::MOST), costs: CpuPreset::usual().costs }
}

fn predict(
    arguments: &ValidateArguments,
    plan: &ValidationPlan,
    (scheduler, found): (&str, FoundQueue),
) -> Result<Vec<blksched_simulate::reality::Row>, Failure> {
    if !plan.others.is_empty() {
        return several::predict(&arguments.disk, plan, (scheduler, found));
    }
    let bench = bench(arguments, plan)?;
    let wbt_latency = found.target(scheduler, &bench.kernel).map(|us| Span::from_us(us.into()));
    let bench = Bench { nr_requests: found.nr_requests, around: Surroundings { wbt_latency, ..bench.around }, ..bench };
    let laid_out = plan.job.plan(plan.runtime, bench.disk.build(0).facts().sectors, &plan.target, plan.fs)?;
    bench.predict_all(&Arc::new(laid_out), (&plan.job.name, scheduler)).map_err(Failure::Input)
}
