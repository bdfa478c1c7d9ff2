//! From what a user said to what the simulator takes: job file, disk, elevators, knobs. Everything is checked here,
//! before anything runs.

use std::fs;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use blksched::{Catalogue, Choice, nearest};
use blksched_disks::DiskSpec;
use blksched_simulate::{Findings, Surroundings, Trial};
use blksched_workloads::GaveUp;
use blksched_workloads::fio::{Host, JobFile, Note, Plan, Style, Text};
use blksched_workloads::{BUILTINS, builtin};

use crate::args::Scene;
use crate::failure::Failure;

/// The workload that runs when none is named.
const DEFAULT_WORKLOAD: &str = "reader-and-writer";

/// A workload laid out on a disk.
pub(crate) struct Stage {
    pub(crate) workload: String,
    pub(crate) file: JobFile,
    pub(crate) plan: Arc<Plan>,
    pub(crate) disk: Arc<DiskSpec>,
}

impl Stage {
    /// Load and check workload and disk.
    pub(crate) fn load(scene: &Scene) -> Result<Stage, Failure> {
        let disk = blksched_disks::load(&scene.disk).map_err(Failure::input)?;
        let (workload, file) = job_files(scene)?;
        let sectors = disk.build(scene.seed).facts().sectors;
        let plan = file.plan(sectors).map_err(|errors| Failure::Input(errors.render(style())))?;
        Ok(Stage { workload, file, plan: Arc::new(plan), disk: Arc::new(disk) })
    }

    /// What a user should know about options that change nothing, and about assumptions.
    pub(crate) fn notes(&self) -> Vec<String> {
        let say = |note: &Note| format!("{}: {}: {}", self.file.locate(&note.place), note.option, note.why);
        self.file.notes().iter().chain(&self.plan.notes).map(say).collect()
    }

    /// For runs of which nobody would know which one's logs are left.
    pub(crate) fn without_logs(mut self) -> (Stage, Option<&'static str>) {
        let mut any = false;
        for job in &mut Arc::make_mut(&mut self.plan).jobs {
            any |= std::mem::take(&mut job.report.logs).any();
        }
        (self, any.then_some("the job file's logs are written by `blksched simulate`, not by `compare`"))
    }

    /// Which jobs ended before their time, and why.
    pub(crate) fn gave_up(&self, findings: &Findings) -> Vec<String> {
        let why = |why: GaveUp| match why {
            GaveUp::Io => "an I/O failed",
            GaveUp::RateMin => "it was slower than rate_min or rate_iops_min",
            GaveUp::MaxLatency => "an I/O took longer than max_latency",
        };
        let jobs = self.plan.jobs.iter().zip(&findings.jobs);
        let told = jobs.filter_map(|(job, outcome)| Some((job, outcome.trouble.gave_up?)));
        told.map(|(job, gave_up)| format!("job {} (process {}) gave up: {}", job.name, job.number, why(gave_up)))
            .collect()
    }

    /// One trial of one elevator.
    pub(crate) fn trial(&self, scene: &Scene, elevator: Choice, knobs: Vec<(String, i64)>) -> Trial {
        Trial {
            elevator,
            knobs,
            surroundings: Surroundings {
                depth: scene.depth,
                nr_requests: scene.nr_requests,
                max_sectors: scene.max_sectors_kb.map(|kib| 2 * kib),
                plugging: None,
                host: scene.host,
            },
            disk: self.disk.clone(),
            plan: self.plan.clone(),
            seed: scene.seed,
            limit: scene.time,
        }
    }
}

/// A built-in workload, or job files and what was typed, as one.
fn job_files(scene: &Scene) -> Result<(String, JobFile), Failure> {
    let names: Vec<&str> = scene.jobs.iter().map(String::as_str).collect();
    let names = if names.is_empty() && scene.typed.is_none() { vec![DEFAULT_WORKLOAD] } else { names };
    let alone = (names.len() == 1 && scene.typed.is_none()).then(|| names[0]);
    if let Some(known) = alone.filter(|name| !Path::new(name).exists()).and_then(builtin) {
        return Ok((known.name.to_owned(), known.job_file()));
    }
    let mut texts = names.iter().map(|name| job_text(name)).collect::<Result<Vec<Text>, Failure>>()?;
    let typed = scene.typed.iter().map(|text| Text { name: COMMAND_LINE.to_owned(), text: text.clone() });
    texts.extend(typed);
    let mut read = |name: &str| fs::read_to_string(name).map_err(|error| error.to_string());
    let host = Host { mb_memory: scene.host.memory_mib(), ..Host::with_environment() };
    let file = JobFile::read(&host, &texts, &mut read).map_err(|errors| Failure::Input(errors.render(style())))?;
    let workload = texts.iter().map(|text| text.name.as_str()).collect::<Vec<_>>().join(" ");
    Ok((workload, file))
}

/// What the options typed as fio's are called in messages.
const COMMAND_LINE: &str = "command line";

/// A job file's text; `-` is standard input.
fn job_text(name: &str) -> Result<Text, Failure> {
    let failed = |error: std::io::Error| Failure::Input(format!("{name}: {error}"));
    if name == "-" {
        let text = std::io::read_to_string(std::io::stdin()).map_err(failed)?;
        return Ok(Text { name: "standard input".to_owned(), text });
    }
    if Path::new(name).exists() {
        let text = fs::read_to_string(name).map_err(failed)?;
        return Ok(Text { name: name.to_owned(), text });
    }
    let names: Vec<&str> = BUILTINS.iter().map(|known| known.name).collect();
    let hint = nearest(name, names.iter().copied()).map(|near| format!("; the nearest workload is `{near}`"));
    Err(Failure::Input(format!(
        "`{name}` is neither a file nor a built-in workload{} (known: {})",
        hint.unwrap_or_default(),
        names.join(", ")
    )))
}

fn style() -> Style {
    if std::io::stderr().is_terminal() { Style::Coloured } else { Style::Plain }
}

/// One elevator to run, with the knobs that `--set` turns on it.
pub(crate) struct Contender {
    /// How it is called in tables: as typed, numbered if typed twice.
    pub(crate) name: String,
    pub(crate) choice: Choice,
    pub(crate) knobs: Vec<(String, i64)>,
}

/// Understand `--elevators` and `--set` together. Each `--set` must turn something.
pub(crate) fn contenders(typed: &[String], set: &[String], catalogue: &Catalogue) -> Result<Vec<Contender>, Failure> {
    let mut contenders: Vec<Contender> = Vec::new();
    for text in typed {
        let text = text.trim();
        let choice = catalogue.parse(text).map_err(|error| Failure::Input(format!("--elevators {text}:{error}")))?;
        let twins = contenders.iter().filter(|other| other.choice.to_string() == choice.to_string()).count();
        let name = if twins == 0 { choice.to_string() } else { format!("{choice} ({})", twins + 1) };
        contenders.push(Contender { name, choice, knobs: Vec::new() });
    }
    for text in set {
        let (target, knob, value) = split_setting(text)?;
        let error = |what: String| Failure::Input(format!("--set {text}: {what}"));
        let mut turned = 0;
        for contender in contenders.iter_mut().filter(|contender| is_meant(contender, target)) {
            let built = contender.choice.build();
            let tunables = built.elevator.tunables();
            let found = tunables.find(knob).map_err(|e| error(format!("{}: {e}", contender.choice)))?;
            let raw = found.parse(value).map_err(|e| error(e.to_string()))?;
            contender.knobs.retain(|(name, _)| name != knob);
            contender.knobs.push((knob.to_owned(), raw));
            turned += 1;
        }
        if turned == 0 {
            let names: Vec<&str> = contenders.iter().map(|contender| contender.choice.entry.name).collect();
            let near = nearest(target, names.iter().copied()).map(|near| format!("; the nearest is `{near}`"));
            return Err(error(format!("no elevator `{target}` is being run{}", near.unwrap_or_default())));
        }
    }
    Ok(contenders)
}

/// `deadline.fifo_batch=16` means every deadline; `deadline@2.6.33.fifo_batch=16` that one.
fn is_meant(contender: &Contender, target: &str) -> bool {
    target == contender.choice.entry.name || target == contender.choice.to_string()
}

fn split_setting(text: &str) -> Result<(&str, &str, &str), Failure> {
    let error = || Failure::Input(format!("--set {text}: expected ELEVATOR.KNOB=VALUE, as in deadline.fifo_batch=16"));
    let (left, value) = text.rsplit_once('=').ok_or_else(error)?;
    let (target, knob) = left.rsplit_once('.').ok_or_else(error)?;
    Ok((target, knob, value))
}
