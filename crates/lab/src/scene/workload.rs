//! The workload: job files (including built-in ones), fio's options on the command line, programs, and traces,
//! together.

use blksched_measure::Work;
use blksched_measure::fio_json::FioResult;
use blksched_simulate::recording::Took;
use blksched_traces::machine::{Device, Machine};
use blksched_workloads::fio::{Errors, Host, JobFile, Note, Text};
use blksched_workloads::host::HostKnobs;
use blksched_workloads::host::fs::{FsKind, FsMount};
use blksched_workloads::programs::Start;
use blksched_workloads::replay::{MemberSpan, PlacedBelow, Replay};
use blksched_workloads::{DiskPlaces, Plan};

use super::Scene;
use super::reading::Loaded;
use super::trace::Trace;
use super::word::Word;
use crate::error::Error;
use crate::files::Files;

/// The workload that runs when none is named.
pub const DEFAULT_LOAD: &str = "beside-a-backup";

/// The name of standard input among the names of a load, in messages.
pub const STANDARD_INPUT: &str = "standard input";

/// A workload, read and checked.
pub struct Workload {
    /// The name as given.
    pub name: String,
    /// Its job files as one.
    pub file: Option<JobFile>,
    programs: Vec<Start>,
    /// Each with the device above its others, if it has any.
    replays: Vec<(Replay, Option<(u32, u32)>)>,
    /// Notes on the traces.
    told: Vec<String>,
    /// What is known of the device on which a trace was recorded: it provides defaults.
    pub machine: Option<Device>,
    /// What its header says of all devices.
    pub header: Option<Machine>,
    /// How long I/Os took, if the load is a single trace that tells.
    pub took: Vec<(Work, Took)>,
    /// What fio measured, if the load is its result alone.
    pub measured: Option<FioResult>,
    /// Why this workload cannot rank schedulers, if it cannot.
    pub unranked: Option<String>,
    host: HostKnobs,
    /// The file system that was asked for beside the job files.
    fs: Option<FsMount>,
    /// The device's names, if it is one device of a trace of several.
    pub device: Vec<String>,
}

impl Workload {
    /// Loads and checks the scene's load.
    ///
    /// # Errors
    /// The first word that is not understood, or every mistake of its job files.
    pub fn load(scene: &Scene, files: &dyn Files) -> Result<Workload, Error> {
        let jobs = files.expanded(&scene.jobs)?;
        let names: Vec<&str> = jobs.iter().map(String::as_str).collect();
        let names = if names.is_empty() && scene.typed.text.is_none() { vec![DEFAULT_LOAD] } else { names };
        if names.iter().filter(|name| **name == "-").count() > 1 {
            return Err(Error::Input("`-` is given twice: standard input can be read once".to_owned()));
        }
        let (mut texts, mut programs): (Vec<Text>, Vec<Start>) = (Vec::new(), Vec::new());
        let (mut traces, mut found): (Vec<Trace>, Vec<String>) = (Vec::new(), Vec::new());
        let mut results = Vec::new();
        for name in &names {
            match files.word(name, scene.typed.text.is_some())? {
                Word::Jobs(text) => texts.push(text),
                Word::Found(job) => {
                    texts.push(job.text);
                    found.push(job.told);
                    results.push(job.result);
                }
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
        let said = names.iter().copied().chain(scene.typed.text.as_ref().map(|typed| typed.name.as_str()));
        let name = said.map(|name| if name == "-" { STANDARD_INPUT } else { name }).collect::<Vec<_>>().join(" ");
        let file =
            if texts.is_empty() && scene.typed.text.is_none() { None } else { Some(job_file(scene, &texts, files)?) };
        let loaded = traces.iter().map(|trace| trace.load(files)).collect::<Result<Vec<_>, _>>()?;
        let of_traces = loaded.iter().flat_map(|trace| trace.notes.iter().cloned());
        let told = scene.typed.notes.iter().cloned().chain(found).chain(of_traces).collect();
        let machine = loaded.iter().find_map(|trace| trace.machine.clone());
        let header = loaded.iter().find_map(|trace| trace.header.clone());
        let unranked = loaded.iter().find_map(|trace| trace.unranked.clone());
        let took = match (&loaded[..], &file, programs.is_empty()) {
            ([alone], None, true) => alone.took.clone(),
            _ => Vec::new(),
        };
        // Beside another load, or with other options, it is not what fio measured.
        let alone = names.len() == 1 && scene.typed.text.is_none();
        let measured = results.into_iter().flatten().next().filter(|_| alone);
        let replays = loaded.into_iter().map(|trace| (trace.replay, trace.top)).collect();
        let (host, fs, device) = (scene.host.memory, scene.fs, Vec::new());
        Ok(Workload {
            name,
            file,
            programs,
            replays,
            told,
            machine,
            header,
            took,
            measured,
            unranked,
            host,
            fs,
            device,
        })
    }

    /// One workload for each disk: a single one, unless it is a trace each of whose devices becomes a disk.
    ///
    /// # Errors
    /// As [`load`](Workload::load).
    pub fn each(scene: &Scene, files: &dyn Files) -> Result<Vec<Workload>, Error> {
        let trace = match (&scene.jobs[..], &scene.typed.text) {
            // Nothing else is opened here: a pipe can be read only once.
            ([name], None) if name.contains("device=each") => match files.word(name, false)? {
                Word::Trace(trace) => Some((name, trace)),
                Word::Jobs(_) | Word::Found(_) | Word::Program(_) => None,
            },
            _ => None,
        };
        match trace {
            Some((name, trace)) if trace.is_each(files)? => {
                let whole = |part: Loaded| Workload::of(format!("{name}, device {}", part.device[0]), part, scene);
                Ok(trace.load_each(files)?.into_iter().map(whole).collect())
            }
            _ => Ok(vec![Workload::load(scene, files)?]),
        }
    }

    /// A workload that consists of a trace, or of one of its devices.
    fn of(name: String, loaded: Loaded, scene: &Scene) -> Workload {
        let Loaded { replay, top, notes, machine, header, took, unranked, device } = loaded;
        let (file, programs, replays, told) = (None, Vec::new(), vec![(replay, top)], notes);
        let (measured, host, fs) = (None, scene.host.memory, scene.fs);
        Workload { name, file, programs, replays, told, machine, header, took, measured, unranked, host, fs, device }
    }

    /// Whether there are programs or traces, which name no files.
    pub(super) fn has_others(&self) -> bool {
        !self.programs.is_empty() || !self.replays.is_empty()
    }

    /// The names of files and devices that its jobs use, and the device that their file system's log is on.
    pub(super) fn used(&self) -> Vec<String> {
        let Some(file) = &self.file else { return Vec::new() };
        let fs = file.file_system().or(self.fs);
        let log = fs.and_then(|fs| fs.options.log_disk).map(|disk| format!("/dev/{}", disk.as_str()));
        let mut used = file.file_names();
        used.extend(log);
        used
    }

    /// Its processes on these disks; programs and traces are on the first, and what was recorded below a trace's device
    /// on these members.
    pub(super) fn plan(&self, disks: &DiskPlaces, members: &[(String, MemberSpan)]) -> Result<Plan, Error> {
        let disk_sectors = disks.all()[0].sectors;
        if let Some(fs) = self.fs.filter(|_| self.file.is_some()) {
            fs.fits(disk_sectors).map_err(|wrong| Error::Input(format!("--fs {fs}: {wrong}")))?;
        }
        let fs = |file: &JobFile| self.fs.unwrap_or_else(|| file.usual_file_system());
        let jobs = self.file.as_ref().map(|file| file.plan_on_disks(disks, fs(file))).transpose();
        let mut plan = jobs.map_err(|errors| self.said_beside(errors))?.unwrap_or_default();
        for start in &self.programs {
            plan.add_program(start.clone(), disk_sectors).map_err(Error::Input)?;
        }
        for (replay, top) in &self.replays {
            let replay = match top {
                Some(top) => self.with_members(replay, *top, members, &mut plan.told)?,
                None => replay.clone(),
            };
            plan.add_replay(replay, disk_sectors).map_err(Error::Input)?;
        }
        Ok(plan)
    }

    /// A fault of the file system that `--fs` says, and no line of the job file, is shown there.
    fn said_beside(&self, errors: Errors) -> Error {
        let is_beside = self.file.as_ref().is_some_and(|file| file.file_system().is_none());
        if let (Some(fs), [wrong]) = (self.fs.filter(|_| is_beside), errors.problems.as_slice())
            && wrong.is_of_file_system
        {
            return Error::Input(format!("--fs {fs}: {}; expected {}", wrong.title, wrong.expected));
        }
        Error::Jobs(errors)
    }

    /// The replay with what was recorded below its device on these members, which have the names of the recording.
    fn with_members(
        &self,
        replay: &Replay,
        top: (u32, u32),
        members: &[(String, MemberSpan)],
        told: &mut Vec<String>,
    ) -> Result<Replay, Error> {
        let named = |device: (u32, u32)| self.header.as_ref()?.devices.get(&device)?.word("name");
        let member = |device| {
            let name = named(device)?;
            members.iter().find(|(known, _)| known == name).map(|(_, span)| *span)
        };
        let (placed, PlacedBelow { placed: on, left_out }) = replay.with_members(top, member).map_err(Error::Input)?;
        let what = "I/Os recorded below it, which are no parts of its own,";
        if on > 0 {
            told.push(format!("{}: {on} {what} go to the members, at their recorded sectors", replay.name));
        }
        if left_out > 0 {
            let why = "no member here has their device's name";
            told.push(format!("{}: {left_out} {what} are left out: {why}", replay.name));
        }
        Ok(placed)
    }

    /// What a user should know about options that change nothing, and about assumptions.
    pub fn notes(&self, plan: &Plan) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(file) = &self.file {
            let say = |note: &Note| format!("{}: {}: {}", file.locate(&note.place), note.option, note.why);
            notes.extend(file.notes().iter().chain(&plan.notes).map(say));
        } else if self.host != HostKnobs::default() {
            let why = "programs have memory of their own, set by their parameters, and a trace was recorded below it";
            notes.push(format!("--host changes nothing: {why}"));
        }
        if let (None, Some(fs)) = (&self.file, self.fs) {
            notes.push(format!("--fs {fs} changes nothing: programs and traces use the disk itself"));
        }
        let is_said = self.fs.is_some() || self.file.as_ref().is_some_and(|file| file.file_system().is_some());
        notes.extend((!plan.files.is_empty()).then(|| on_a_file_system(plan, is_said)));
        notes.extend(self.told.iter().chain(&plan.told).cloned());
        notes.extend(self.machine.as_ref().map(|device| {
            let words: Vec<String> = device.words.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!(
                "recorded on {}: kernel, scheduler, queue_depth and max_sectors_kb are defaults here",
                words.join(" ")
            )
        }));
        notes.extend(self.replays.iter().flat_map(|(replay, _)| replay.notes()));
        notes
    }
}

/// What is assumed of the files.
fn on_a_file_system(plan: &Plan, is_said: bool) -> String {
    let why =
        if is_said { "" } else { ", as names outside /dev are (--fs xfs: on xfs; --fs none: on the disk itself)" };
    format!("files are on a fresh {} of Linux 6.18{why}; what of it is modelled: docs/host.md", plan.fs)
}

/// Whether the file system asked for beside the job file can be the one below its files.
fn fits(file: &JobFile, fs: Option<FsMount>) -> Result<(), Error> {
    let Some(asked) = fs else { return Ok(()) };
    match file.file_system() {
        Some(said) if said != asked => Err(Error::Input(format!("--fs {asked}: the job file says fs={said}"))),
        None if asked != FsKind::None && !file.uses_files() => Err(Error::Jobs(file.without_files_on(asked))),
        _ => Ok(()),
    }
}

fn job_file(scene: &Scene, texts: &[Text], files: &dyn Files) -> Result<JobFile, Error> {
    let mut read = |name: &str| files.text(name);
    let host = Host {
        mb_memory: scene.host.memory.memory_mib(),
        ncpus: u64::from(scene.host.cpus),
        variables: files.variables(),
        ..Host::default()
    };
    let file = JobFile::read_beside(&host, &scene.typed, texts, &mut read);
    let mut file = file.map_err(Error::Jobs)?;
    fits(&file, scene.fs)?;
    for name in file.traces() {
        let read = Trace::of(&name, "").read(files).map_err(|error| error.to_string());
        file.give_trace(&name, read);
    }
    Ok(file)
}
