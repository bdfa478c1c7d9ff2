//! The workload: job files (including built-in ones), fio's options on the command line, programs, and traces,
//! together.

use std::fs::File;
use std::io::IsTerminal;
use std::path::Path;

use blksched_measure::Work;
use blksched_simulate::recording::{Content, Took, content};
use blksched_text::{nearest, path_of_name};
use blksched_traces::machine::Device;
use blksched_workloads::fio::{Host, JobFile, Note, Style, Text};
use blksched_workloads::host::HostKnobs;
use blksched_workloads::programs::{PROGRAMS, Start, program};
use blksched_workloads::replay::Replay;
use blksched_workloads::{BUILTINS, Plan, builtin};

use crate::failure::Failure;
use crate::input::trace::{Loaded, Trace};
use crate::input::{bytes_of, text_beside, text_of, uri};
use crate::scene::Scene;

/// The workload that runs when none is named.
pub(crate) const DEFAULT_LOAD: &str = "beside-a-backup";

/// A workload, read and checked.
pub(crate) struct Workload {
    /// The name as given.
    pub(crate) name: String,
    /// Its job files as one.
    pub(crate) file: Option<JobFile>,
    programs: Vec<Start>,
    replays: Vec<Replay>,
    /// Notes on the traces.
    told: Vec<String>,
    /// What is known of the device on which a trace was recorded: it provides defaults.
    pub(crate) machine: Option<Device>,
    /// How long I/Os took, if the load is a single trace that tells.
    pub(crate) took: Vec<(Work, Took)>,
    /// Why this workload cannot rank schedulers, if it cannot.
    pub(crate) unranked: Option<String>,
    host: HostKnobs,
    /// The device's names, if it is one device of a trace of several.
    pub(crate) device: Vec<String>,
}

/// One word of the command line.
enum Word {
    Jobs(Text),
    Program(Start),
    Trace(Trace),
}

impl Workload {
    pub(crate) fn load(scene: &Scene) -> Result<Workload, Failure> {
        let jobs = uri::expanded(&scene.jobs).map_err(Failure::Input)?;
        let names: Vec<&str> = jobs.iter().map(String::as_str).collect();
        let names = if names.is_empty() && scene.typed.is_none() { vec![DEFAULT_LOAD] } else { names };
        if names.iter().filter(|name| **name == "-").count() > 1 {
            return Err(Failure::Input("`-` is given twice: standard input can be read once".to_owned()));
        }
        let (mut texts, mut programs): (Vec<Text>, Vec<Start>) = (Vec::new(), Vec::new());
        let mut traces: Vec<Trace> = Vec::new();
        for name in &names {
            match word(name, scene.typed.is_some())? {
                Word::Jobs(text) => texts.push(text),
                // A shell expands `x.blktrace.*` to all files of one trace.
                Word::Trace(trace) if traces.contains(&trace) => {}
                Word::Trace(trace) => traces.push(trace),
                Word::Program(mut start) => {
                    let twins = programs.iter().filter(|other| other.program.name == start.program.name).count();
                    if twins > 0 && programs.iter().any(|other| other.name == start.name) {
                        start.name = format!("{} ({})", start.name, twins + 1);
                    }
                    programs.push(start);
                }
            }
        }
        texts.extend(scene.typed.clone());
        let said = names.iter().copied().chain(scene.typed.as_ref().map(|typed| typed.name.as_str()));
        let name = said.map(|name| if name == "-" { STANDARD_INPUT } else { name }).collect::<Vec<_>>().join(" ");
        let file = if texts.is_empty() { None } else { Some(job_file(scene, &texts)?) };
        let loaded = traces.iter().map(Trace::load).collect::<Result<Vec<_>, _>>()?;
        let told = loaded.iter().flat_map(|trace| trace.notes.iter().cloned()).collect();
        let machine = loaded.iter().find_map(|trace| trace.machine.clone());
        let unranked = loaded.iter().find_map(|trace| trace.unranked.clone());
        let took = match (&loaded[..], &file, programs.is_empty()) {
            ([alone], None, true) => alone.took.clone(),
            _ => Vec::new(),
        };
        let replays = loaded.into_iter().map(|trace| trace.replay).collect();
        let (host, device) = (scene.host.memory, Vec::new());
        Ok(Workload { name, file, programs, replays, told, machine, took, unranked, host, device })
    }

    /// One workload for each disk: a single one, unless it is a trace each of whose devices becomes a disk.
    pub(crate) fn each(scene: &Scene) -> Result<Vec<Workload>, Failure> {
        let trace = match (&scene.jobs[..], &scene.typed) {
            // Nothing else is opened here: a pipe can be read only once.
            ([name], None) if name.contains("device=each") => match word(name, false)? {
                Word::Trace(trace) => Some((name, trace)),
                Word::Jobs(_) | Word::Program(_) => None,
            },
            _ => None,
        };
        match trace {
            Some((name, trace)) if trace.is_each()? => {
                let whole = |part: Loaded| Workload::of(format!("{name}, device {}", part.device[0]), part, scene);
                Ok(trace.load_each()?.into_iter().map(whole).collect())
            }
            _ => Ok(vec![Workload::load(scene)?]),
        }
    }

    /// A workload that consists of a trace, or of one of its devices.
    fn of(name: String, loaded: Loaded, scene: &Scene) -> Workload {
        let Loaded { replay, notes, machine, took, unranked, device } = loaded;
        let (file, programs, host) = (None, Vec::new(), scene.host.memory);
        Workload { name, file, programs, replays: vec![replay], told: notes, machine, took, unranked, host, device }
    }

    /// Its processes on a disk of this size.
    pub(crate) fn plan(&self, disk_sectors: u64) -> Result<Plan, Failure> {
        let jobs = self.file.as_ref().map(|file| file.plan(disk_sectors)).transpose();
        let mut plan = jobs.map_err(|errors| Failure::Excerpts(errors.render(style())))?.unwrap_or_default();
        for start in &self.programs {
            plan.add_program(start.clone(), disk_sectors).map_err(Failure::Input)?;
        }
        for replay in &self.replays {
            plan.add_replay(replay.clone(), disk_sectors).map_err(Failure::Input)?;
        }
        Ok(plan)
    }

    /// What a user should know about options that change nothing, and about assumptions.
    pub(crate) fn notes(&self, plan: &Plan) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(file) = &self.file {
            let say = |note: &Note| format!("{}: {}: {}", file.locate(&note.place), note.option, note.why);
            notes.extend(file.notes().iter().chain(&plan.notes).map(say));
        } else if self.host != HostKnobs::default() {
            let why = "programs have memory of their own, set by their parameters, and a trace was recorded below it";
            notes.push(format!("--host changes nothing: {why}"));
        }
        notes.extend(self.told.iter().cloned());
        notes.extend(self.machine.as_ref().map(|device| {
            let words: Vec<String> = device.words.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!("recorded on {}: scheduler, queue_depth and max_sectors_kb are defaults here", words.join(" "))
        }));
        notes.extend(self.replays.iter().flat_map(Replay::notes));
        notes
    }
}

fn job_file(scene: &Scene, texts: &[Text]) -> Result<JobFile, Failure> {
    let mut read = |name: &str| text_beside(Path::new(name));
    let host = Host {
        mb_memory: scene.host.memory.memory_mib(),
        ncpus: u64::from(scene.host.cpus),
        ..Host::with_environment()
    };
    let file = JobFile::read(&host, texts, &mut read);
    let mut file = file.map_err(|errors| Failure::Excerpts(errors.render(style())))?;
    for name in file.traces() {
        let read = Trace::of(&name, "").read();
        file.give_trace(&name, read);
    }
    Ok(file)
}

const STANDARD_INPUT: &str = "standard input";

/// A file, which takes precedence over a name; a built-in workload; or a program. `typed`: whether fio options are on
/// the command line.
fn word(name: &str, typed: bool) -> Result<Word, Failure> {
    if name == "-" {
        let text = text_of(STANDARD_INPUT, bytes_of(std::io::stdin()))?;
        return Ok(Word::Jobs(Text { name: STANDARD_INPUT.to_owned(), text }));
    }
    if uri::is_uri(name) && !path_of_name(name).exists() {
        let name = uri::local(name).map_err(Failure::Input)?;
        return match uri::is_uri(&name) {
            true => Trace::parse(&name).map(Word::Trace).map_err(Failure::Input),
            false => word(&name, typed),
        };
    }
    let path = &*path_of_name(name);
    if path.is_dir() && builtin(name).is_none() && program(name).is_none() {
        return Err(Failure::Input(format!("{name}: a directory: expected {}", job_files_in(path))));
    }
    if path.exists() && !path.is_dir() {
        let failed = |error| Failure::Input(format!("{name}: {error}"));
        if Trace::is_one(name) {
            return Ok(Word::Trace(Trace::of(name, "")));
        }
        // A pipe can be read only once, so it is taken for a job file's text.
        let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
        return match if is_file {
            content(name, File::open(path).map_err(failed)?).map_err(failed)?
        } else {
            Content::Jobs
        } {
            Content::Trace => Ok(Word::Trace(Trace::of(name, ""))),
            Content::Unknown(problem) => Err(Failure::Input(problem)),
            Content::Jobs => {
                let read = File::open(path).and_then(bytes_of);
                Ok(Word::Jobs(Text { name: name.to_owned(), text: text_of(name, read)? }))
            }
        };
    }
    if let Some(known) = builtin(name) {
        return Ok(Word::Jobs(Text { name: known.name.to_owned(), text: known.text.to_owned() }));
    }
    if name.split(':').next().and_then(program).is_some() {
        let start = Start::parse(name).map_err(|problem| Failure::Input(format!("{name}: {problem}")))?;
        return Ok(Word::Program(start));
    }
    Trace::parse(name).map(Word::Trace).map_err(|_| unknown(name, typed))
}

/// What a user who named a directory may have meant.
fn job_files_in(directory: &Path) -> String {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == "fio")).collect();
    files.sort();
    match &files[..] {
        [] => "a job file, as in my.fio".to_owned(),
        [first, ..] => format!("a job file, as in {}", first.display()),
    }
}

/// The recorded trace that this word names, if it is one.
#[cfg(feature = "sweep")]
pub(crate) fn recorded(name: &str) -> Option<Trace> {
    match word(name, false) {
        Ok(Word::Trace(trace)) => Some(trace),
        _ => None,
    }
}

/// Checks job files, programs' parameters and names before anything runs; a trace's contents are checked later.
#[cfg(feature = "sweep")]
pub(crate) fn check_load(scene: &Scene) -> Result<(), Failure> {
    for name in &scene.jobs {
        match word(name, false) {
            Ok(Word::Trace(_)) => return Ok(()),
            // A file that exists but cannot be run is reported in its rows.
            Err(_) if path_of_name(name).is_file() => return Ok(()),
            other => drop(other?),
        }
    }
    let sectors = blksched_disks::load(&scene.disk).map_err(Failure::input)?.build(scene.seed).facts().sectors;
    Workload::load(scene)?.plan(sectors).map(drop)
}

fn unknown(name: &str, typed: bool) -> Failure {
    let plain = name.split(':').next().unwrap_or(name);
    let builtins: Vec<&str> = BUILTINS.iter().map(|known| known.name).collect();
    let programs: Vec<&str> = PROGRAMS.iter().map(|known| known.name).collect();
    let all = builtins.iter().chain(&programs).copied();
    let hint = nearest(plain, all).map(|near| format!("; the nearest workload is `{near}`"));
    let value = if typed { "; the value of an option of fio's goes after `=`, as in --rw=read" } else { "" };
    Failure::Input(format!(
        "`{name}` is neither a file nor a workload{}{value} (known: {}; programs: {})",
        hint.unwrap_or_default(),
        builtins.join(", "),
        programs.join(", ")
    ))
}

fn style() -> Style {
    if std::io::stderr().is_terminal() { Style::Coloured } else { Style::Plain }
}

/// For fuzzing: fio options and programs as typed are parsed or refused; no file is read.
pub(super) fn fuzz(scene: &Scene) {
    const SECTORS: u64 = 1 << 21;
    let mut plan = Plan::default();
    if let Some(typed) = &scene.typed {
        let file =
            JobFile::read(&Host::default(), std::slice::from_ref(typed), &mut |name| Err(format!("no file {name}")));
        match file.and_then(|file| file.plan(SECTORS)) {
            Ok(jobs) => plan = jobs,
            Err(errors) => assert!(errors.render(Style::Plain).starts_with("error: ")),
        }
    }
    for start in scene.jobs.iter().filter_map(|name| Start::parse(name).ok()) {
        drop(plan.add_program(start, SECTORS));
    }
}
