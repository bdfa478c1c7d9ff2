//! `blksched validate`: a job run by the real fio on a real disk under each of its schedulers, compared with the
//! prediction.
//!
//! Nothing is written without `--destroy`, nothing that is mounted is touched, a scheduler is changed only on request
//! or if nothing else can use the disk, and every change is undone however the program ends.

mod arguments;
mod disk;
mod history;
mod job;
mod measure;
mod report;
mod settings;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use blksched::{Catalogue, Span};
use blksched_simulate::Surroundings;
use blksched_simulate::cpu::{CpuPreset, HostCpus};
use blksched_simulate::reality::{Bench, Cell, judge};

use crate::failure::Failure;
use crate::output;
use crate::pictures::Pictures;
use crate::report::validated;
pub(crate) use arguments::ValidateArguments;
use disk::{JobTarget, Use};
pub(crate) use history::sentence;
use job::ValidatedJob;
use measure::{FioRun, run as measure};
use settings::SavedSettings;

/// What is about to be done.
struct ValidationPlan {
    job: ValidatedJob,
    target: JobTarget,
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
    let mut bench = bench(arguments, &plan)?;
    let mut predicted = Vec::new();
    for scheduler in &plan.schedulers {
        if let (true, Some(settings)) = (plan.switches, settings.as_mut()) {
            settings.switch(scheduler)?;
        }
        bench.nr_requests = settings.as_ref().and_then(|settings| settings.number("nr_requests"));
        predicted.extend(predict(&bench, &plan, scheduler)?);
        for repeat in 0..plan.repeats {
            let run = FioRun { scheduler, repeat, runtime: plan.runtime, stop: &stop };
            measured.extend(measure(&plan.job, &plan.target, &run)?);
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
    let cells = Cell::pair(&measured, &predicted);
    let judged = judge(&cells);
    let remembered = history::remember(arguments, &cells, &judged);
    let text = match arguments.json {
        true => report::json(&plan, &cells, &judged),
        false => {
            report::text(&plan, &cells, &judged)
                + &remembered.map_or_else(|why| format!("note: {why}\n"), |()| String::new())
        }
    };
    output::print(&text)?;
    if let Some(file) = &arguments.report {
        let pictures = Pictures { report: Some(file.clone()), ..Pictures::default() };
        let json = report::json(&plan, &cells, &judged);
        validated(&pictures, report::summary(&plan, &cells, &judged), report::pictured(&cells), json)?;
    }
    match stop.load(Ordering::Relaxed) {
        true => Err(interrupted()),
        false => Ok(()),
    }
}

fn prepare(arguments: &ValidateArguments) -> Result<ValidationPlan, Failure> {
    let job = ValidatedJob::load(&arguments.job)?;
    let target = JobTarget::inspect(&arguments.on)?;
    if job.writes && !arguments.destroy {
        let what = format!("{} writes, and data on {} would be lost", job.name, arguments.on.display());
        return Err(Failure::Input(format!("{what}: give --destroy if it may be lost, or use a job that only reads")));
    }
    target.refuse(arguments)?;
    let spec = blksched_disks::load(&arguments.disk).map_err(Failure::input)?;
    let sectors = spec.build(0).facts().sectors;
    job.fits(&target, sectors)?;
    let available = target.schedulers();
    let wanted = if arguments.elevators.is_empty() { available.clone() } else { arguments.elevators.clone() };
    if let Some(unknown) = wanted.iter().find(|name| !available.contains(name)) {
        let expected =
            if available.is_empty() { "none: it has no queue of its own".to_owned() } else { available.join(", ") };
        return Err(Failure::Input(format!("--elevators {unknown}: the disk's kernel has {expected}")));
    }
    let mut notes = Vec::new();
    let may_switch = match target.used {
        Use::Alone => true,
        Use::Shared => arguments.switch,
    };
    let current = target.current();
    let schedulers = match (&current, may_switch) {
        (_, true) => wanted,
        (Some(current), false) => {
            let disks = target.disks.join(", ");
            notes.push(format!(
                "only {current} is measured: others use {disks} too; --switch changes the scheduler for all meanwhile"
            ));
            vec![current.clone()]
        }
        (None, false) => {
            return Err(Failure::Input(format!(
                "--on {}: there is no disk with a scheduler beneath it",
                arguments.on.display()
            )));
        }
    };
    let switches = may_switch && schedulers.iter().any(|name| Some(name) != current.as_ref());
    if switches && !target.may_change() {
        let why = "changing the scheduler needs root; without it, only the present one can be measured (--elevators)";
        return Err(Failure::Outside(format!("{}: {why}", target.disks.join(", "))));
    }
    let kernel = disk::kernel();
    for scheduler in &schedulers {
        notes.extend(Catalogue::builtin().of_running(scheduler, &kernel).map_err(Failure::input)?.note());
    }
    Ok(ValidationPlan { job, target, schedulers, switches, runtime: arguments.time, repeats: arguments.repeats, notes })
}

impl ValidationPlan {
    /// What will be done, on which disks, and for how long.
    fn told(&self) -> String {
        let runs = self.schedulers.len() as u64 * u64::from(self.repeats);
        let does = if self.job.writes { "reads and WRITES" } else { "only reads" };
        let seconds = self.runtime.as_secs_f64() * runs as f64;
        let plural = if runs == 1 { "run" } else { "runs" };
        let mut text = format!(
            "{} {does} {} ({}), under {}: {runs} {plural} of {}, about {seconds:.0} s.\n",
            self.job.name,
            self.target.path.display(),
            self.target.disks.join(", "),
            self.schedulers.join(", "),
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
        around: Surroundings { max_sectors, cpus: Some(processors()), ..Surroundings::default() },
        tags: plan.target.tags().map(|tags| tags.min(disk.depth())),
        disk,
        nr_requests: None,
        knobs: Vec::new(),
        kernel: disk::kernel(),
        seeds: 3,
        limit: plan.runtime * 4,
    })
}

/// The machine's real number of processors, with the usual preset's cost of an I/O.
fn processors() -> HostCpus {
    let cpus = std::thread::available_parallelism().map_or(HostCpus::USUAL, |cpus| cpus.get() as u32);
    HostCpus { cpus: cpus.min(HostCpus::MOST), costs: CpuPreset::usual().costs }
}

fn predict(
    bench: &Bench,
    plan: &ValidationPlan,
    scheduler: &str,
) -> Result<Vec<blksched_simulate::reality::Row>, Failure> {
    let laid_out = plan.job.plan(plan.runtime, bench.disk.build(0).facts().sectors)?;
    bench.predict(&Arc::new(laid_out), (&plan.job.name, scheduler)).map_err(Failure::Input)
}
