//! From what a user said to what the simulator takes: job file, disk, elevators, knobs. Everything is checked here,
//! before anything runs.

use std::fs;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use blksched::{Catalogue, Choice, nearest};
use blksched_disks::DiskSpec;
use blksched_simulate::{Surroundings, Trial};
use blksched_workloads::fio::{JobFile, Note, Plan, Style};
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
        let (workload, file) = job_file(scene.job.as_deref().unwrap_or(DEFAULT_WORKLOAD))?;
        let sectors = disk.build(scene.seed).facts().sectors;
        let plan = file.plan(sectors).map_err(|errors| Failure::Input(errors.render(style())))?;
        Ok(Stage { workload, file, plan: Arc::new(plan), disk: Arc::new(disk) })
    }

    /// What a user should know about options that change nothing, and about assumptions.
    pub(crate) fn notes(&self) -> Vec<String> {
        let say = |note: &Note| format!("{}:{}: {}: {}", self.file.name(), note.place, note.option, note.why);
        self.file.notes().iter().chain(&self.plan.notes).map(say).collect()
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
            },
            disk: self.disk.clone(),
            plan: self.plan.clone(),
            seed: scene.seed,
            limit: scene.time,
        }
    }
}

/// A file of that name, or the built-in workload.
fn job_file(name: &str) -> Result<(String, JobFile), Failure> {
    let path = Path::new(name);
    if !path.exists() {
        if let Some(known) = builtin(name) {
            return Ok((known.name.to_owned(), known.job_file()));
        }
        let names: Vec<&str> = BUILTINS.iter().map(|known| known.name).collect();
        let hint = nearest(name, names.iter().copied()).map(|near| format!("; the nearest workload is `{near}`"));
        let hint = hint.unwrap_or_default();
        return Err(Failure::Input(format!(
            "`{name}` is neither a file nor a built-in workload{hint} (known: {})",
            names.join(", ")
        )));
    }
    let text = fs::read_to_string(path).map_err(|error| Failure::Input(format!("{name}: {error}")))?;
    let file = JobFile::parse(&text, name).map_err(|errors| Failure::Input(errors.render(style())))?;
    Ok((name.to_owned(), file))
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
