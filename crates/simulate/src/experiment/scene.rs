//! The parts of one run: settings by their addresses, and the scene that they describe.
//!
//! | address | what it sets |
//! |---|---|
//! | `elevator` | the scheduler, `name[@kernel][+mechanism=variant]` |
//! | `knob.NAME` | one of its knobs |
//! | `disk.preset` | a preset, or a disk's TOML file |
//! | `disk.TABLE.KEY` | a key of that disk's file |
//! | `queue.depth`, `queue.nr_requests`, `queue.max_sectors_kb`, `queue.peek` | the settings around the scheduler |
//! | `host.cpus`, `host.cpu` | the host's processors, and the cost of I/O |
//! | `host.nr_hw_queues` | the disk's hardware queues, each with its own tags and submission queue |
//! | `host.memory`, `host.dirty_ratio`, … | its memory: the parameters of `--host` |
//! | `host.direct_writes` | whether they carry the hint that a process waits for them |
//! | `host.owner_first`, `host.worker_first` | how often of 100 completions the owner, and the worker, runs first |
//! | `time` | the simulated time after which the run ends |
//! | `WORKLOAD.start` | when that program begins |
//! | `WORKLOAD.PARAMETER` | a parameter of its program, or a variable of its job file |

use std::sync::Arc;

use blksched::surroundings::DispatchAhead;
use blksched::tunables::Tunables;
use blksched::{Catalogue, Choice, Instant, Span, SubmitterId};
use blksched_disks::DiskSpec;
use blksched_workloads::fio::{Host, JobFile, Style, Text};
use blksched_workloads::host::HostKnobs;
use blksched_workloads::programs::{Program, ProgramProcess, Settings, Start, program};
use blksched_workloads::{CpuSet, GroupPlan, JobPlan, Plan, Source as Submitter, builtin};

use super::reader::{ExperimentError, Located, Source, TextRange};
use crate::cpu::{CpuPreset, HostCpus};
use crate::surroundings::Surroundings;
use crate::world::RaceOdds;

/// One setting.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SceneSetting {
    pub(super) address: String,
    pub(super) value: String,
    pub(super) at: TextRange,
}

/// The addresses that are not a workload's.
pub(super) const RESERVED: [&str; 6] = ["elevator", "knob", "disk", "queue", "host", "time"];

const DIRECT_WRITES: &str = "host.direct_writes";
const HARDWARE_QUEUES: &str = "host.nr_hw_queues";

/// Where a workload comes from.
#[derive(Clone, Debug)]
pub(super) enum SceneKind {
    Program(&'static Program),
    /// A job file's text, and its name in messages.
    Job(Text),
}

/// A workload of an experiment, with what was specified beyond its settings.
#[derive(Clone, Debug)]
pub(super) struct WorkloadSpec {
    pub(super) name: Located<String>,
    pub(super) kind: SceneKind,
}

/// A workload ready to start.
#[derive(Clone, Debug)]
enum SceneWorkload {
    Program(Start),
    Job { name: String, plan: Arc<Plan> },
}

/// Everything that one run needs except its seed.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The scheduler.
    pub elevator: Choice,
    /// Its knobs, raw.
    pub knobs: Vec<(String, i64)>,
    /// The settings around it.
    pub surroundings: Surroundings,
    /// The disk.
    pub disk: Arc<DiskSpec>,
    /// The run ends after this much simulated time.
    pub time: Span,
    /// Writes of processes are not marked as synchronous, as in kernels before 2.6.11.
    pub direct_in_background: bool,
    workloads: Vec<SceneWorkload>,
    disk_sectors: u64,
}

/// One process of a run.
pub struct Actor {
    /// Its name in reports.
    pub name: String,
    /// When it begins.
    pub start: Instant,
    /// The processors that it may run on.
    pub cpus_allowed: CpuSet,
    /// Its state machine.
    pub source: Box<dyn Submitter>,
}

/// Reads settings; each error points at its setting.
pub(super) struct Director<'t> {
    pub(super) source: Source<'t>,
    pub(super) catalogue: &'t Catalogue,
    pub(super) workloads: &'t [WorkloadSpec],
    /// The default time.
    pub(super) time: Span,
    /// Returns the text of a file beside the experiment's.
    pub(super) read: &'t dyn Fn(&str) -> Result<String, String>,
}

impl Scene {
    /// Every process of a run with this seed.
    ///
    /// # Errors
    /// If a workload does not fit on the disk.
    pub fn actors(&self, seed: u64) -> Result<Vec<Actor>, String> {
        let mut actors: Vec<Actor> = Vec::new();
        for workload in &self.workloads {
            let first = SubmitterId(actors.len() as u32);
            match workload {
                SceneWorkload::Job { name, plan } => {
                    let actor = |(job, source): (&JobPlan, Box<dyn Submitter>)| {
                        let number = if job.number > 0 { (job.number + 1).to_string() } else { String::new() };
                        // Its `startdelay`; the delay of a process that waits for others counts from the beginning.
                        let start = source.next().unwrap_or(Instant::ZERO);
                        Actor {
                            name: format!("{name}.{}{number}", job.name),
                            start,
                            cpus_allowed: job.cpus_allowed,
                            source,
                        }
                    };
                    actors.extend(plan.jobs.iter().zip(plan.sources(seed)).map(actor));
                }
                SceneWorkload::Program(start) => {
                    let processes = start.processes(first, self.disk_sectors, seed)?;
                    let actor = |p: ProgramProcess| Actor {
                        name: p.name,
                        start: start.at,
                        cpus_allowed: CpuSet::ALL,
                        source: p.source,
                    };
                    actors.extend(processes.into_iter().map(actor));
                }
            }
        }
        Ok(actors)
    }

    /// The groups of its job file; programs have none.
    pub(crate) fn groups(&self) -> &[GroupPlan] {
        self.grouped().next().map_or(&[], |plan| &plan.groups)
    }

    /// Job files with groups.
    fn grouped(&self) -> impl Iterator<Item = &Plan> {
        let plans = self.workloads.iter().filter_map(|workload| match workload {
            SceneWorkload::Job { plan, .. } => Some(&**plan),
            SceneWorkload::Program(_) => None,
        });
        plans.filter(|plan| !plan.groups.is_empty())
    }

    /// The names of its processes.
    pub(super) fn names(&self) -> Result<Vec<String>, String> {
        Ok(self.actors(1)?.into_iter().map(|actor| actor.name).collect())
    }
}

impl Director<'_> {
    /// The scene that `settings` describe; errors about a missing part point at `at`.
    pub(super) fn scene(&self, settings: &[SceneSetting], at: &TextRange) -> Result<Scene, ExperimentError> {
        let find = |address: &str| settings.iter().find(|setting| setting.address == address);
        self.check_addresses(settings)?;
        let elevator =
            find("elevator").ok_or_else(|| self.source.complain(at, "no elevator is chosen: `elevator = …`"))?;
        let choice = self.catalogue.parse(&elevator.value);
        let choice = choice.map_err(|e| self.source.complain(&elevator.at, format!("`{}`:{e}", elevator.value)))?;
        let time = find("time").map_or(Ok(self.time), |time| {
            let problem = || format!("`{}` is not a value of `time`: expected a time, as in 60s", time.value);
            time.value.parse().map_err(|_| self.source.complain(&time.at, problem()))
        })?;
        let disk = self.disk(settings, at)?;
        let disk_sectors = disk.build(1).facts().sectors;
        let workloads = self.workloads.iter().map(|spec| self.workload(spec, settings, disk_sectors));
        let scene = Scene {
            knobs: self.knobs(&choice, settings)?,
            surroundings: self.surroundings(settings)?,
            workloads: workloads.collect::<Result<_, _>>()?,
            elevator: choice,
            disk: Arc::new(disk),
            time,
            direct_in_background: self.direct_in_background(settings)?,
            disk_sectors,
        };
        scene.names().map_err(|problem| self.source.complain(at, problem))?;
        if scene.grouped().nth(1).is_some() {
            let problem = "two of its job files have a `cgroup`: expected all groups in one job file";
            return Err(self.source.complain(at, problem));
        }
        Ok(scene)
    }

    fn check_addresses(&self, settings: &[SceneSetting]) -> Result<(), ExperimentError> {
        let names = || RESERVED.into_iter().chain(self.workloads.iter().map(|spec| spec.name.value.as_str()));
        for SceneSetting { address, at, .. } in settings {
            let head = address.split('.').next().unwrap_or_default();
            if !names().any(|name| name == head) {
                let problem = format!("`{head}` cannot be set");
                return Err(self.source.unknown(at, &problem, head, names()));
            }
            if matches!(head, "elevator" | "time") && address != head {
                return Err(self.source.complain(at, format!("`{address}` cannot be set: `{head}` has no parts")));
            }
        }
        Ok(())
    }

    fn disk(&self, settings: &[SceneSetting], at: &TextRange) -> Result<DiskSpec, ExperimentError> {
        let preset = settings.iter().find(|setting| setting.address == "disk.preset");
        let preset = preset.ok_or_else(|| self.source.complain(at, "no disk is chosen: `disk.preset = …`"))?;
        let changes: Vec<&SceneSetting> =
            settings.iter().filter(|s| s.address.starts_with("disk.") && s.address != "disk.preset").collect();
        let pair = |s: &&SceneSetting| (s.address["disk.".len()..].to_owned(), s.value.clone());
        blksched_disks::load_changed(&preset.value, &changes.iter().map(pair).collect::<Vec<_>>()).map_err(|error| {
            use blksched_disks::DiskError;
            match &error {
                DiskError::Invalid { problem, nearest, .. } => {
                    let key = |s: &&&SceneSetting| {
                        problem.contains(&format!("`{}`", s.address.rsplit('.').next().unwrap_or("")))
                    };
                    let culprit = changes.iter().find(key).or(changes.first());
                    let at = culprit.map_or(&preset.at, |setting| &setting.at);
                    ExperimentError { nearest: nearest.clone(), ..self.source.complain(at, problem.clone()) }
                }
                other => self.source.complain(&preset.at, other.to_string()),
            }
        })
    }

    fn knobs(&self, choice: &Choice, settings: &[SceneSetting]) -> Result<Vec<(String, i64)>, ExperimentError> {
        let built = choice.build();
        let tunables = built.elevator.tunables();
        let knob = |setting: &SceneSetting| {
            let name = &setting.address["knob.".len()..];
            let raw = tunables.find(name).and_then(|knob| knob.parse(&setting.value));
            let raw = raw.map_err(|e| self.source.complain(&setting.at, format!("{choice}: {e}")))?;
            Ok((name.to_owned(), raw))
        };
        settings.iter().filter(|setting| setting.address.starts_with("knob.")).map(knob).collect()
    }

    fn surroundings(&self, settings: &[SceneSetting]) -> Result<Surroundings, ExperimentError> {
        let mut surroundings = Surroundings::default();
        for setting in settings.iter().filter(|setting| setting.address.starts_with("queue")) {
            if setting.address == "queue.peek" {
                surroundings.ahead = Some(self.peek(setting)?);
                continue;
            }
            let number = setting.value.parse::<u32>().ok().filter(|&n| n > 0);
            let number = number.ok_or_else(|| {
                let problem =
                    format!("`{}` is not a value of `{}`: expected a whole number", setting.value, setting.address);
                self.source.complain(&setting.at, problem)
            })?;
            match setting.address.strip_prefix("queue.").unwrap_or_default() {
                "depth" => surroundings.depth = Some(number),
                "nr_requests" => surroundings.nr_requests = Some(number),
                "max_sectors_kb" => surroundings.max_sectors = Some(number.saturating_mul(2)),
                other => {
                    let problem = format!("`{}` cannot be set", setting.address);
                    let known = ["depth", "nr_requests", "max_sectors_kb", "peek"];
                    return Err(self.source.unknown(&setting.at, &problem, other, known));
                }
            }
        }
        surroundings.host = self.memory(settings)?;
        surroundings.cpus = self.cpus(settings)?;
        surroundings.hardware_queues = self.hardware_queues(settings, surroundings.cpus)?;
        surroundings.odds = self.odds(settings)?;
        Ok(surroundings)
    }

    /// Whether the driver takes the next request out of the elevator while the disk is full.
    fn peek(&self, setting: &SceneSetting) -> Result<DispatchAhead, ExperimentError> {
        match setting.value.as_str() {
            "true" => Ok(DispatchAhead::OneMore),
            "false" => Ok(DispatchAhead::Budget),
            other => {
                let problem = format!("`{other}` is not a value of `queue.peek`: expected true or false");
                Err(self.source.complain(&setting.at, problem))
            }
        }
    }

    /// The host's memory, by the parameters of `--host`.
    fn memory(&self, settings: &[SceneSetting]) -> Result<HostKnobs, ExperimentError> {
        let mut knobs = HostKnobs::default();
        for setting in settings {
            let Some(name) = setting.address.strip_prefix("host.").filter(|name| knobs.find(name).is_ok()) else {
                continue;
            };
            knobs.set_text(name, &setting.value).map_err(|e| self.source.complain(&setting.at, e.to_string()))?;
        }
        Ok(knobs)
    }

    /// Whether processes' own writes are marked as synchronous.
    fn direct_in_background(&self, settings: &[SceneSetting]) -> Result<bool, ExperimentError> {
        let Some(setting) = settings.iter().find(|setting| setting.address == DIRECT_WRITES) else { return Ok(false) };
        match setting.value.as_str() {
            "waited_for" => Ok(false),
            "background" => Ok(true),
            other => {
                let problem =
                    format!("`{other}` is not a value of `{DIRECT_WRITES}`: expected waited_for or background");
                Err(self.source.complain(&setting.at, problem))
            }
        }
    }

    /// Which task runs first: by default always the worker, since the odds are unknown for a host that was not traced.
    fn odds(&self, settings: &[SceneSetting]) -> Result<RaceOdds, ExperimentError> {
        let mut odds = RaceOdds { worker_first: 100, ..RaceOdds::default() };
        for setting in settings {
            if let Some(name) = setting.address.strip_prefix("host.") {
                odds.set(name, &setting.value).map_err(|problem| self.source.complain(&setting.at, problem))?;
            }
        }
        Ok(odds)
    }

    /// How many hardware queues are told apart; only on processors whose work is counted.
    fn hardware_queues(
        &self,
        settings: &[SceneSetting],
        cpus: Option<HostCpus>,
    ) -> Result<Option<u32>, ExperimentError> {
        let Some(setting) = settings.iter().find(|setting| setting.address == HARDWARE_QUEUES) else { return Ok(None) };
        let most = HostCpus::MOST;
        let problem = match setting.value.parse().ok().filter(|count| (1..=most).contains(count)) {
            Some(_) if cpus.is_none() => {
                format!("`{HARDWARE_QUEUES}` needs processors: expected host.cpus or host.cpu, too")
            }
            Some(count) => return Ok(Some(count)),
            None => {
                let value = &setting.value;
                format!("`{value}` is not a value of `{HARDWARE_QUEUES}`: expected a number from 1 to {most}")
            }
        };
        Err(self.source.complain(&setting.at, problem))
    }

    /// The host's processors: free unless one of these is set.
    fn cpus(&self, settings: &[SceneSetting]) -> Result<Option<HostCpus>, ExperimentError> {
        let mut cpus: Option<HostCpus> = None;
        let memory = HostKnobs::default();
        let usual = || HostCpus { cpus: HostCpus::USUAL, costs: CpuPreset::usual().costs };
        for setting in settings.iter().filter(|setting| setting.address.split('.').next() == Some("host")) {
            let complain = |problem: String| self.source.complain(&setting.at, problem);
            match setting.address.strip_prefix("host.").unwrap_or_default() {
                "cpus" => {
                    let number = HostCpus::count(&setting.value).map_err(complain)?;
                    cpus = Some(HostCpus { cpus: number, ..cpus.unwrap_or_else(usual) });
                }
                "cpu" => {
                    if setting.value == "off" {
                        continue;
                    }
                    let preset = CpuPreset::builtin(&setting.value).map_err(complain)?;
                    cpus = Some(HostCpus { costs: preset.costs, ..cpus.unwrap_or_else(usual) });
                }
                other if RaceOdds::NAMES.contains(&other) || memory.find(other).is_ok() => {}
                _ if [DIRECT_WRITES, HARDWARE_QUEUES].contains(&setting.address.as_str()) => {}
                other => {
                    let problem = format!("`{}` cannot be set", setting.address);
                    let known = ["cpus", "cpu", "nr_hw_queues", "direct_writes"].into_iter().chain(RaceOdds::NAMES);
                    let known = known.chain(memory.knobs().into_iter().map(|knob| knob.name));
                    return Err(self.source.unknown(&setting.at, &problem, other, known));
                }
            }
        }
        let off = settings.iter().any(|setting| setting.address == "host.cpu" && setting.value == "off");
        Ok(cpus.filter(|_| !off))
    }

    fn workload(
        &self,
        spec: &WorkloadSpec,
        settings: &[SceneSetting],
        disk_sectors: u64,
    ) -> Result<SceneWorkload, ExperimentError> {
        let name = &spec.name.value;
        let prefix = format!("{name}.");
        let own = || settings.iter().filter_map(|s| Some((s.address.strip_prefix(&prefix)?, s)));
        let start = match own().find(|(key, _)| *key == "start") {
            None => Span::ZERO,
            Some((_, s)) => s.value.parse().map_err(|_| {
                let problem = format!("`{}` is not a value of `start`: expected a time, as in 5s", s.value);
                self.source.complain(&s.at, problem)
            })?,
        };
        match &spec.kind {
            SceneKind::Program(program) => {
                let said = own().filter(|(key, _)| *key != "start").map(|(key, s)| (key, s.value.as_str()));
                let settings = Settings::of(program, said).map_err(|error| {
                    let place = own().find(|(key, _)| *key == error.name).map_or(&spec.name.at, |(_, s)| &s.at);
                    let near = error.nearest.map(str::to_owned);
                    ExperimentError { nearest: near, ..self.source.complain(place, error.problem) }
                })?;
                Ok(SceneWorkload::Program(Start { name: name.clone(), program, settings, at: Instant::ZERO + start }))
            }
            SceneKind::Job(text) => {
                if let Some((_, said)) = own().find(|(key, _)| *key == "start") {
                    let problem = "a job file's processes begin when their own `startdelay` says";
                    return Err(self.source.complain(&said.at, problem));
                }
                let variables = own().map(|(key, s)| (key.to_owned(), s.value.clone())).collect();
                let host = Host { variables, ..Host::default() };
                let file = JobFile::read(&host, std::slice::from_ref(text), &mut |name| (self.read)(name));
                let plan = file.and_then(|file| file.plan(disk_sectors));
                let complain = |e: blksched_workloads::fio::Errors| {
                    self.source.complain(&spec.name.at, format!("its job file:\n{}", e.render(Style::Plain)))
                };
                Ok(SceneWorkload::Job { name: name.clone(), plan: Arc::new(plan.map_err(complain)?) })
            }
        }
    }
}

/// The program, built-in workload or job file that a `[[workload]]` names. `read` returns a job file's text.
pub(super) fn kind(
    source: Source<'_>,
    word: &Located<String>,
    from: &str,
    read: &dyn Fn(&str) -> Result<String, String>,
) -> Result<SceneKind, ExperimentError> {
    let Located { value, at } = word;
    match from {
        "program" => program(value).map(SceneKind::Program).ok_or_else(|| {
            let known = blksched_workloads::programs::PROGRAMS.iter().map(|program| program.name);
            source.unknown(at, &format!("`{value}` is not a program"), value, known)
        }),
        "builtin" => match builtin(value) {
            Some(found) => Ok(SceneKind::Job(Text { name: found.name.to_owned(), text: found.text.to_owned() })),
            None => {
                let known = blksched_workloads::BUILTINS.iter().map(|known| known.name);
                Err(source.unknown(at, &format!("`{value}` is not a built-in workload"), value, known))
            }
        },
        _ => match read(value) {
            Ok(text) => Ok(SceneKind::Job(Text { name: value.clone(), text })),
            Err(error) => Err(source.complain(at, format!("`{value}`: {error}"))),
        },
    }
}
