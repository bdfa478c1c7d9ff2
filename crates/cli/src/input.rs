//! From what a user said to what the simulator takes: workload, disk, elevators, knobs. Everything is checked here,
//! before anything runs.

mod trace;
mod workload;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use blksched::{Catalogue, Choice, nearest, utf8};
use blksched_disks::DiskSpec;
use blksched_simulate::{Findings, Surroundings, Trial};
use blksched_workloads::{GaveUp, Plan};

use crate::failure::Failure;
use crate::scene::Scene;
use workload::Workload;

/// A workload laid out on a disk.
pub(crate) struct Stage {
    pub(crate) workload: Workload,
    pub(crate) plan: Arc<Plan>,
    pub(crate) disk: Arc<DiskSpec>,
}

impl Stage {
    /// Load and check workload and disk.
    pub(crate) fn load(scene: &Scene) -> Result<Stage, Failure> {
        let disk = blksched_disks::load(&scene.disk).map_err(Failure::input)?;
        let workload = Workload::load(scene)?;
        let plan = workload.plan(disk.build(scene.seed).facts().sectors)?;
        Ok(Stage { workload, plan: Arc::new(plan), disk: Arc::new(disk) })
    }

    /// What a user should know about options that change nothing, and about assumptions.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.workload.notes(&self.plan)
    }

    /// For runs of which nobody would know which one's logs are left.
    pub(crate) fn without_logs(mut self) -> (Stage, Option<String>) {
        let mut any = false;
        for job in &mut Arc::make_mut(&mut self.plan).jobs {
            any |= std::mem::take(&mut job.report.logs).any();
        }
        let note = "the job file's logs are written by `blksched simulate`, not by `compare`";
        (self, any.then(|| note.to_owned()))
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

/// No job file and no experiment is longer; what has no end (`/dev/zero`) is longer than that \[bytes\].
const MOST_BYTES: u64 = 16 << 20;

/// All of an input, or as much of it as shows that it is too long for what people write.
pub(crate) fn bytes_of(input: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn bounded(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    match bytes.len() as u64 {
        0..=MOST_BYTES => Ok(bytes),
        _ => Err(io::Error::other("longer than 16 MiB: expected a text that somebody wrote")),
    }
}

/// What was read, as text; `name` is for the error.
pub(crate) fn text_of(name: &str, read: io::Result<Vec<u8>>) -> Result<String, Failure> {
    let read = read.and_then(bounded);
    let bytes = read.map_err(|error| Failure::Input(format!("{name}: {error}")))?;
    utf8(bytes).map_err(|error| Failure::Input(format!("{name}:{error}")))
}

/// All of a file that another one names: whoever reads that one says where.
pub(crate) fn text_beside(path: &Path) -> Result<String, String> {
    let bytes = File::open(path).and_then(bytes_of).and_then(bounded).map_err(|error| error.to_string())?;
    utf8(bytes).map_err(|error| error.to_string())
}

/// One elevator to run, with the knobs that `--set` turns on it.
pub(crate) struct Contender {
    /// How it is called in tables: as typed, numbered if typed twice.
    pub(crate) name: String,
    pub(crate) choice: Choice,
    pub(crate) knobs: Vec<(String, i64)>,
}

/// Understand the elevators that `option` names and `--set` together. Each `--set` must turn something.
pub(crate) fn contenders(
    option: &str,
    typed: &[String],
    set: &[String],
    catalogue: &Catalogue,
) -> Result<Vec<Contender>, Failure> {
    let mut contenders: Vec<Contender> = Vec::new();
    for text in typed {
        let text = text.trim();
        let choice = catalogue.parse(text).map_err(|error| Failure::Input(format!("{option} {text}:{error}")))?;
        let twins = contenders.iter().filter(|other| other.choice.to_string() == choice.to_string()).count();
        let name = if twins == 0 { choice.to_string() } else { format!("{choice} ({})", twins + 1) };
        contenders.push(Contender { name, choice, knobs: Vec::new() });
    }
    for Setting { text, target, knob, value } in settings(set)? {
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
            let run: Vec<String> = contenders.iter().map(|contender| contender.choice.to_string()).collect();
            let names = contenders.iter().map(|contender| contender.choice.entry.name);
            let near = nearest(target, names.chain(run.iter().map(String::as_str)));
            let near = near.map_or(String::new(), |near| format!("; the nearest is `{near}`"));
            return Err(error(format!("no elevator `{target}` is being run{near} (being run: {})", run.join(", "))));
        }
    }
    Ok(contenders)
}

/// A `--set`.
#[derive(Clone, Copy)]
struct Setting<'t> {
    text: &'t str,
    target: &'t str,
    knob: &'t str,
    value: &'t str,
}

/// Every `--set`; those of a whole name first, so that those of one elevator of that name go before them.
fn settings(set: &[String]) -> Result<Vec<Setting<'_>>, Failure> {
    let mut settings: Vec<Setting<'_>> = Vec::new();
    for text in set {
        let setting = Setting::read(text)?;
        let twin = |other: &&Setting<'_>| (other.target, other.knob) == (setting.target, setting.knob);
        if let Some(other) = settings.iter().find(twin) {
            let message = format!("--set {text}: --set {} says so already, or something else", other.text);
            return Err(Failure::Input(message));
        }
        settings.push(setting);
    }
    settings.sort_by_key(|setting| setting.target.contains(['@', '+']));
    Ok(settings)
}

impl Setting<'_> {
    fn read(text: &str) -> Result<Setting<'_>, Failure> {
        let parts = || {
            let (left, value) = text.rsplit_once('=')?;
            let (target, knob) = left.rsplit_once('.')?;
            (!target.is_empty() && !knob.is_empty()).then_some(Setting { text, target, knob, value })
        };
        let expected = "expected ELEVATOR.KNOB=VALUE, as in deadline.fifo_batch=16";
        parts().ok_or_else(|| Failure::Input(format!("--set {text}: {expected}")))
    }
}

/// `deadline.fifo_batch=16` means every deadline; `deadline@2.6.33.fifo_batch=16` that one.
fn is_meant(contender: &Contender, target: &str) -> bool {
    target == contender.choice.entry.name || target == contender.choice.to_string()
}

/// For fuzzing: what was said of elevators and jobs is understood or refused, beside no file at all.
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
