//! `blksched advise`: what a disk's processes wait for, and what a change of its scheduler would do, from a recording.
//!
//! What is decided is in `blksched_lab::advise`; here are the recording, the models' files and the page.

mod json;
mod models;
mod steps;
mod text;

use std::path::{Path, PathBuf};

use blksched::{Catalogue, Span};
use blksched_lab::advise::{AdviceAsked, Advised, ModelFrom, ModelOffered, RecordedLoad};
use blksched_lab::verdict::brief::Advice;
use blksched_lab::{Comparison, Error, Files, FitSearch, Scene};
use blksched_traces::machine::Device;
use clap::Args;

use crate::failure::Failure;
use crate::input::OnDisk;
use crate::output;
use crate::progress::Followed;
use crate::record::{self, RecordArguments, machine};
use crate::state;
use crate::trial;
use models::{FITTED, WithFitted};
use steps::AdviceSteps;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AdviseArguments {
    /// The disk, by its name in /sys/block: its load is recorded, as root; or a recording made earlier (record,
    /// --print, blktrace, tracefs), as it or on any machine
    #[arg(value_name = "DISK|FILE")]
    pub(crate) what: Option<String>,
    /// How long to record
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = crate::trial::some_time)]
    pub(crate) time: Span,
    /// Where the recording is kept; if it is there already, it is used, and nothing is recorded
    /// [default: advise-DISK.trace.gz]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// The disk's model: a preset or a TOML file, as from `blksched disk measure` [default: the nearest of the preset
    /// of its class and what is fitted to the recording]
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) disk: Option<String>,
    /// The settings to compare, as in compare; the first is the one in which the disk was recorded [default: that one,
    /// and what its kernel offers]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub(crate) elevators: Vec<String>,
    /// What counts, as in compare: 'db: p99 read' [default: every process by its role]
    #[arg(long, value_name = "GOAL")]
    pub(crate) goal: Option<String>,
    /// How many seeds to run each with
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) seeds: u32,
    /// How much may be simulated, as in compare
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = crate::compare::effort)]
    pub(crate) effort: f64,
    /// Print JSON instead of text (docs/schema.md)
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the prediction as one HTML file that needs no network (docs/report.md)
    #[cfg(feature = "pictures")]
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Print a shell script that records DISK on a machine without blksched; the file that it leaves is all that
    /// `advise FILE` needs. With the word --grid the script also measures the disk by fio. Nothing is recorded here
    #[arg(long, conflicts_with_all = ["disk", "elevators", "goal", "json"])]
    pub(crate) print: bool,
}

const EXAMPLES: &str = "\
Recording needs root, and changes nothing but an instance of its own in tracefs, which it removes. Nothing else is
changed: `blksched trial` does that, and puts it back. Without a model that reproduces the recorded latencies within a
factor of two there is no verdict.

Examples:
  blksched advise sda                                records for a minute, then answers from it
  blksched advise advise-sda.trace.gz                from that recording again, without root, on any machine
  blksched advise sda --time 10min --out monday.trace.gz --report monday.html
  blksched advise sda --disk measured.toml --goal 'postgres: p99 read'
  blksched advise sda --print > record-sda.sh        for a machine without blksched

Exit codes: 0 there is an answer; 1 recording failed, or there is no verdict (the model is too far off, events were
lost); 2 not understood.";

/// Runs the verb.
pub(crate) fn run(arguments: &AdviseArguments, catalogue: &Catalogue) -> Result<(), Failure> {
    let what = match &arguments.what {
        Some(what) => what.as_str(),
        None => {
            let here = machine::disks(Path::new("/"));
            let here = if here.is_empty() { "none".to_owned() } else { here.join(", ") };
            return Err(Failure::Input(format!(
                "advise: about which disk? expected a name in /sys/block, as in `blksched advise sda` (this machine \
                 has {here}), or the file of a recording"
            )));
        }
    };
    if arguments.print {
        let short = what.strip_prefix("/dev/").unwrap_or(what);
        if short.is_empty() || short.contains(|c: char| !(c.is_ascii_alphanumeric() || "-_!".contains(c))) {
            return Err(Failure::Input(format!("advise {what} --print: expected a disk's name, as in sda or nvme0n1")));
        }
        return Ok(output::print(&record::script(&recording(arguments, what)))?);
    }
    #[cfg(feature = "pictures")]
    arguments
        .report
        .as_deref()
        .map_or(Ok(()), |report| crate::half::has_a_place("--report", report))
        .map_err(Failure::Input)?;
    let source = RecordingSource::of(arguments, what)?;
    let asked = format!("effort {}, elevators {}", arguments.effort, arguments.elevators.join(","));
    let mut steps = AdviceSteps::new(&source.name, source.disk.is_some(), &asked);
    source.record(arguments, &steps)?;
    steps.recorded();
    let advised = advised(arguments, &source, catalogue, &steps)?;
    let notes = written(arguments, &advised)?;
    let disk = disk_of(&advised, &source);
    let next = next(&advised, &disk);
    let text = match arguments.json {
        true => json::text(&advised, &source.name, next.as_deref()),
        false => text::text(&advised, &source.name, &disk, next.as_deref()) + &output::notes(&notes),
    };
    output::print(&text)?;
    match advised.advice() {
        Advice::NoVerdict => Err(Failure::Outside("no verdict: its reason is above".to_owned())),
        _ => Ok(()),
    }
}

/// Where the recording comes from.
struct RecordingSource {
    /// Its file as a word of the command line, settings behind a colon included.
    name: String,
    /// The disk of this machine that is to be recorded into it.
    disk: Option<String>,
}

impl RecordingSource {
    fn of(arguments: &AdviseArguments, what: &str) -> Result<RecordingSource, Failure> {
        let short = &*machine::name_of(what);
        if !short.is_empty() && !short.contains('/') && Path::new("/sys/block").join(short).exists() {
            let name = out(arguments, short).display().to_string();
            return Ok(RecordingSource { name, disk: Some(short.to_owned()) });
        }
        if what.starts_with("/dev/") {
            machine::read(Path::new("/"), &[what.to_owned()]).map_err(Failure::Input)?;
        }
        if let Some(out) = &arguments.out {
            let why = "is where a disk's recording is kept, and nothing is recorded here";
            return Err(Failure::Input(format!("--out {}: {why}: {what} is no disk of this machine", out.display())));
        }
        let name = what.split_once(':').map_or(what, |(name, _)| name);
        if !Path::new(what).exists() && !Path::new(name).exists() && !what.contains("://") && !is_per_cpu(name) {
            let here = machine::disks(Path::new("/"));
            let near = blksched_text::did_you_mean(what, here.iter().map(String::as_str));
            return Err(Failure::Input(format!(
                "`{what}` is neither a disk of this machine nor a file: expected a recording, or one of {}{near}",
                here.join(", ")
            )));
        }
        if Path::new(what).is_dir() {
            let expected = "expected the file of a recording, or a disk's name";
            return Err(Failure::Input(format!("{what}: a directory: {expected}")));
        }
        Ok(RecordingSource { name: what.to_owned(), disk: None })
    }

    /// Records the disk, unless that was done before.
    fn record(&self, arguments: &AdviseArguments, steps: &AdviceSteps) -> Result<(), Failure> {
        let Some(disk) = &self.disk else { return Ok(()) };
        let file = Path::new(&self.name);
        if let Ok(found) = std::fs::metadata(file) {
            let age = found.modified().ok().and_then(|at| at.elapsed().ok()).unwrap_or_default();
            let minutes = age.as_secs() / 60;
            steps.begins(&format!(
                "{} is there already, {minutes} minutes old, and is used: remove it to record {disk} anew",
                file.display()
            ));
            return Ok(());
        }
        steps.begins(&format!(
            "recording {disk} for {} into {}; Ctrl-C ends that earlier, and what was recorded is used",
            arguments.time,
            file.display()
        ));
        record::run(&recording(arguments, disk))
    }
}

/// `x.blktrace` stands for its files per CPU.
fn is_per_cpu(name: &str) -> bool {
    Path::new(&format!("{name}{}0", blksched_lab::scene::PER_CPU)).exists()
}

fn out(arguments: &AdviseArguments, disk: &str) -> PathBuf {
    arguments.out.clone().unwrap_or_else(|| PathBuf::from(format!("advise-{disk}.trace.gz")))
}

/// How the disk is recorded.
fn recording(arguments: &AdviseArguments, disk: &str) -> RecordArguments {
    let short = disk.strip_prefix("/dev/").unwrap_or(disk);
    RecordArguments { time: arguments.time, out: out(arguments, short), ..RecordArguments::of(short) }
}

/// Which models may be the disk's, and the answer.
fn advised(
    arguments: &AdviseArguments,
    source: &RecordingSource,
    catalogue: &Catalogue,
    steps: &AdviceSteps,
) -> Result<Advised, Failure> {
    let scene = Scene::of(&source.name, "", 1);
    let comparison = Comparison {
        elevators: arguments.elevators.clone(),
        goal: arguments.goal.clone(),
        effort: arguments.effort,
        ..Comparison::of(scene, arguments.seeds)
    };
    let load = steps.reading(arguments.disk.is_none(), || RecordedLoad::read(&source.name, &OnDisk))?;
    if load.ios == 0 {
        return Err(Failure::Outside(format!(
            "{}: there is no I/O in it: the disk did nothing while it was recorded: remove it, and record while the \
             disk is in use (--time 10min)",
            source.name
        )));
    }
    let device = models::recorded_device(&source.name, &OnDisk)?;
    let least = models::least_length(device.as_ref(), load.reach);
    let mut files = WithFitted { inner: OnDisk, fitted: None, least };
    let models = match &arguments.disk {
        Some(name) => vec![ModelOffered { name: name.clone(), from: ModelFrom::Named }],
        None => offered(source, device.as_ref(), &mut files, steps)?,
    };
    // The values of a preset's file are tried by its name, under which it has its own length.
    let is_longer =
        |one: &ModelOffered| files.inner.disk(&one.name).is_ok_and(|spec| spec.build(0).facts().sectors < least);
    let fits = if models.iter().any(is_longer) { FitSearch::None } else { comparison.fits };
    let asked = AdviceAsked { comparison: Comparison { fits, ..comparison }, load, models };
    asked.answer(&files, catalogue, &Followed::new(), steps).map_err(|error| match error {
        Error::Interrupted(why) => Failure::Outside(format!("{why}; the same command goes on with this step")),
        other => other.into(),
    })
}

/// The preset of the disk's class, or of several if its class is unknown, and what is fitted to the recording.
fn offered(
    source: &RecordingSource,
    device: Option<&Device>,
    files: &mut WithFitted,
    steps: &AdviceSteps,
) -> Result<Vec<ModelOffered>, Failure> {
    let here = source.disk.as_deref().and_then(|disk| files.inner.device(disk));
    let is_of = |file: &PathBuf, disk: &str| {
        let whose = trial::predicted::identity_here(disk).map(|whose| format!("# of {whose}"));
        std::fs::read_to_string(file).is_ok_and(|text| text.lines().next().map(str::to_owned) == whose)
    };
    let disk = source.disk.as_deref();
    let measured = disk.and_then(|disk| state::measured(disk).filter(|file| is_of(file, disk)));
    let measured = measured.map(|file| ModelOffered { name: file.display().to_string(), from: ModelFrom::Measured });
    let mut offered: Vec<ModelOffered> = measured.into_iter().chain(models::of_class(device, here)).collect();
    match steps.fitted().map_or_else(|| models::fitted(&source.name), Ok) {
        Ok((fit, held_back)) => {
            steps.keep_fitted(&fit, &held_back);
            files.fitted = Some(fit);
            offered.push(ModelOffered { name: FITTED.to_owned(), from: ModelFrom::Fitted(held_back) });
        }
        Err(Failure::Input(why) | Failure::Outside(why)) => {
            output::warn(&format!("no model is fitted to the recording: {why}"));
        }
        Err(other) => return Err(other),
    }
    Ok(offered)
}

/// The disk's name, or a word for it.
fn disk_of(advised: &Advised, source: &RecordingSource) -> String {
    let recorded = advised.device.as_ref().and_then(|device| device.word("name")).map(str::to_owned);
    source.disk.clone().or(recorded).unwrap_or_else(|| "DISK".to_owned())
}

/// The command that settles what was predicted.
fn next(advised: &Advised, disk: &str) -> Option<String> {
    // The scheduler in use keeps its knobs in a trial.
    let now = advised.compared.as_ref()?.measured.first()?.scheduler;
    let then = advised.proposed()?;
    Some(format!("blksched trial {disk} --elevators {now},{then} --every 30s --for 20min"))
}

/// What is kept beside the page: the report, and the prediction for a trial.
fn written(arguments: &AdviseArguments, advised: &Advised) -> Result<Vec<String>, Failure> {
    let Some(compared) = &advised.compared else { return Ok(Vec::new()) };
    let mut notes = compared.verdict.notes.clone();
    if let Some(device) = &advised.device {
        // Where there is no place for it, a trial has nothing to compare with, and nothing else is lost.
        notes.extend(trial::predicted::keep(device, compared).err());
    }
    #[cfg(feature = "pictures")]
    if let Some(report) = &arguments.report {
        let pictures = crate::pictures::Pictures { report: Some(report.clone()), ..Default::default() };
        notes.extend(crate::compare::pictured(&pictures, compared)?);
    }
    Ok(notes)
}
