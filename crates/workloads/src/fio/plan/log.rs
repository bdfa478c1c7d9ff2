//! A job's trace, laid out on the disk.

use std::collections::BTreeMap;

use blksched::{Op, Sector, Span};

use crate::fio::ddir::Ddir;
use crate::fio::errors::{Note, Problem};
use crate::fio::names::names_in;
use crate::fio::process::{LogEntry, LogPlan};
use crate::fio::sections::JobSection;
use crate::fio::settings::ReplaySettings;
use crate::replay::{Recording, StandsFor, beyond, place};

/// The contents of each trace, or the reason why it could not be read.
pub(in crate::fio) type Traces = BTreeMap<String, Result<Recording, String>>;

/// The name of the trace of one clone of a job.
pub(in crate::fio) fn name(replay: &ReplaySettings, number: u64) -> Option<String> {
    let names = names_in(replay.log.as_deref()?);
    let nth = number as usize % names.len().max(1);
    // An empty name cannot be read.
    Some(names.into_iter().nth(nth).unwrap_or_default())
}

/// What a clone replays, if it does.
pub(super) fn log(job: &JobSection, number: u64, traces: &Traces, disk: u64) -> Result<Option<LogPlan>, Problem> {
    let replay = &job.settings.files.replay;
    let Some(name) = name(replay, number) else { return Ok(None) };
    let problem = |title: String, expected: String| {
        Problem::new(job.settings.place_of("read_iolog", &job.place), title, expected)
    };
    let recording = match traces.get(&name) {
        Some(Ok(recording)) => recording,
        Some(Err(why)) => return Err(problem(format!("`{name}` cannot be replayed"), why.clone())),
        None => return Err(problem(format!("`{name}` cannot be replayed"), "no trace is read here".to_owned())),
    };
    let unread = |why: String| problem(format!("`{name}` cannot be replayed"), why);
    let left = replay.skip.iter().try_fold(recording.clone(), |left, op| left.without(*op)).map_err(unread)?;
    let (reach, longest) = left.reach(StandsFor::Whole);
    if let Some(scale) = beyond(place(reach, replay.scale, replay.align / 512), longest, reach, disk) {
        let title = format!("`{name}` reaches beyond the end of the disk");
        return Err(problem(title, format!("replay_scale={scale} would make it fit")));
    }
    let mut before = Span::ZERO;
    let entry = |io: crate::replay::ReplayIo| {
        let pause = if replay.no_stall { Span::ZERO } else { (io.at - before) * 100 / replay.time_scale };
        before = io.at;
        LogEntry {
            pause,
            ddir: ddir(io.op),
            start: Sector(place(io.start, replay.scale, replay.align / 512)),
            sectors: io.sectors,
        }
    };
    let entries = left.in_order().into_iter().map(entry).collect();
    match left.trouble() {
        Some(why) => Err(unread(why.to_owned())),
        None => Ok(Some(LogPlan { entries })),
    }
}

fn ddir(op: Op) -> Option<Ddir> {
    match op {
        Op::Read => Some(Ddir::Read),
        Op::Write => Some(Ddir::Write),
        Op::Discard => Some(Ddir::Trim),
        Op::Flush | Op::WriteZeroes => None,
    }
}

/// Notes on the trace's content, and on options that repeat it; given once, at the job's first process.
pub(super) fn notes(job: &JobSection, number: u64, traces: &Traces) -> Vec<Note> {
    let s = &job.settings;
    let Some(name) = name(&s.files.replay, number).filter(|_| number == 0) else { return Vec::new() };
    let read = traces.get(&name).and_then(|read| read.as_ref().ok());
    let told = read
        .map(|recording| recording.notes(&name, "as one process, iodepth at a time", StandsFor::Whole))
        .unwrap_or_default();
    let place = s.place_of("read_iolog", &job.place);
    let told = told.into_iter().map(|why| Note { place: place.clone(), option: "read_iolog", why });
    let without_effect = ["rw", "bs", "bsrange", "bssplit", "size", "rwmixread", "rwmixwrite"];
    let said = without_effect.into_iter().filter(|option| s.said.contains_key(*option));
    let note = |option| {
        let why = "the trace that `read_iolog` names determines what is done".to_owned();
        Note { place: s.place_of(option, &job.place), option, why }
    };
    told.chain(said.map(note)).collect()
}
