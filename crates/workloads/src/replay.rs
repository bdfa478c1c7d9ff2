//! Recorded traces as a workload: the requests to a kernel's block layer, repeated on the simulated disk.
//!
//! **Rule** Each process of a recording becomes a process of the run, and each I/O that it queued (`Q`) is submitted
//! again: same place, length, direction, flags, and priority if the recording has it. `timing` determines when:
//! * `recorded`: at its recorded time, however slow the disk is (an open loop);
//! * `closed`: once no more of the process's earlier I/Os are in flight than were in flight when it was recorded, and
//!   after the process's recorded think time. A reader that waited for each block waits for each block;
//! * `no_stall`: the same without the think time, as fast as the dependencies allow.
//!
//! I/Os that a process plugged together are submitted together, when its plug opened. How they merged, waited and
//! completed in the recording is not replayed: that is what the simulation is for. A process ends when its last I/O
//! completes.
//! **Left out** what a trace does not show: which process waited for which, reads answered from memory, and what a
//! process would have done next on a faster disk.

mod below;
mod builder;
mod in_flight;
mod joint;
mod packed;
mod priority_runs;
mod recording;
mod source;
mod spool;
mod windows;

use std::sync::Arc;

use blksched::{Class, Instant, Op, Priority, Span, SubmitterId};

pub use below::{MemberSpan, PlacedBelow};
pub use builder::Builder;
pub use in_flight::InFlightIos;
pub use joint::Joint;
use joint::Member;
pub use recording::{Recording, TraceAction, TraceEvent};
pub(crate) use recording::{ReplayIo, StandsFor};
use source::Replayer;
pub use spool::KEPT_IN_MEMORY;
pub use windows::Windows;

use crate::Source;
use crate::programs::{Parameter, ParameterKind, ParametersSaid, Settings};

/// The parameters of a replay; fio has most of them as `replay_…`.
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "timing",
        kind: ParameterKind::Word(&["recorded", "closed", "no_stall"]),
        default: "recorded",
        doc: "when an I/O is submitted: at its recorded moment; when as few I/Os of its process are in flight as in \
              the recording, and after the process's recorded pause; or without that pause (fio: replay_no_stall)",
    },
    Parameter {
        name: "time_scale",
        kind: ParameterKind::Count,
        default: "100",
        doc: "the recorded rate in percent: 200 is twice as fast (fio: replay_time_scale)",
    },
    Parameter {
        name: "scale",
        kind: ParameterKind::Count,
        default: "1",
        doc: "sectors are divided by this, for a smaller disk (fio: replay_scale)",
    },
    Parameter {
        name: "align",
        kind: ParameterKind::Bytes,
        default: "512B",
        doc: "places are rounded down to a multiple of this power of two (fio: replay_align)",
    },
    Parameter {
        name: "skip",
        kind: ParameterKind::Word(&["nothing", "read", "write", "trim", "sync"]),
        default: "nothing",
        doc: "kinds of I/Os to leave out (fio: replay_skip)",
    },
    Parameter {
        name: "loops",
        kind: ParameterKind::Count,
        default: "1",
        doc: "how often it is replayed; each pass begins where the recording ended",
    },
    Parameter {
        name: "class",
        kind: ParameterKind::Word(&["recorded", "rt", "be", "idle"]),
        default: "recorded",
        doc: "the I/O class of all its processes, in ionice's terms; with process=, of that process only",
    },
    Parameter {
        name: "rows",
        kind: ParameterKind::Word(&["process", "name"]),
        default: "process",
        doc: "a row of the report for each process, or for each name of processes",
    },
];

/// The most repetitions: with more, the run would not end.
const MOST_LOOPS: u64 = 10_000;

/// When I/Os are submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timing {
    Recorded,
    Closed,
    NoStall,
}

/// A recording to be replayed, with all parameters decided.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Its name in messages.
    pub name: String,
    /// When it begins.
    pub at: Instant,
    settings: Settings,
    recording: Arc<Recording>,
    disk: StandsFor,
    /// The device above the others, and where those are.
    below: Option<below::MembersBelow>,
}

/// One process of a replay, laid out on a disk.
#[derive(Clone, Debug)]
pub(crate) struct ReplayedProcess {
    pub name: String,
    /// The row of the report, from 0.
    pub row: u32,
    /// How many I/Os it may have in flight.
    pub depth: u32,
    /// The priority of its first I/O.
    pub priority: Priority,
    process: usize,
    /// Whether it has I/Os on other disks of the world, too.
    pub is_shared: bool,
}

impl Replay {
    /// A replay of `recording` with parameters as a user writes them: `timing=closed,scale=4`. Besides [`PARAMETERS`]
    /// there are `name` and `start`, as for programs.
    ///
    /// # Errors
    /// If there is no such parameter, a value is not of its kind, or the recording lacks what the timing needs.
    pub fn of(name: &str, said: &str, recording: Arc<Recording>) -> Result<Replay, String> {
        let ParametersSaid { name: called, at, own } = ParametersSaid::read(said)?;
        let settings = Settings::read("a replay", PARAMETERS, own).map_err(|error| error.to_string())?;
        let name = called.unwrap_or_else(|| name.to_owned());
        let left_out = match settings.word("skip") {
            "read" => Some(Op::Read),
            "write" => Some(Op::Write),
            "trim" => Some(Op::Discard),
            "sync" => Some(Op::Flush),
            _ => None,
        };
        let recording = match left_out {
            Some(op) => Arc::new(recording.without(op)?),
            None => recording,
        };
        let class = match settings.word("class") {
            "rt" => Some(Class::RealTime),
            "be" => Some(Class::BestEffort),
            "idle" => Some(Class::Idle),
            _ => None,
        };
        let recording = class.map_or(recording.clone(), |class| Arc::new(recording.of_class(class)));
        let loops = settings.count("loops");
        if !(1..=MOST_LOOPS).contains(&loops) {
            return Err(format!("`{loops}` is not a value of `loops`: expected a number from 1 to {MOST_LOOPS}"));
        }
        let recording = if loops == 1 { recording } else { Arc::new(recording.repeated(loops)) };
        let replay = Replay { name, at, settings, recording, disk: StandsFor::Whole, below: None };
        if replay.recording.ios() == 0 {
            return Err("`skip` leaves nothing of the trace".to_owned());
        }
        if !replay.sectors_per_step().is_power_of_two() {
            return Err("`align` is not a power of two, or less than 512 bytes".to_owned());
        }
        if settings_say_zero(&replay.settings) {
            return Err("`time_scale` and `scale` are at least 1".to_owned());
        }
        if replay.timing() != Timing::Recorded && !replay.recording.has_completions() {
            return Err("the trace has no completions, so it is not known which process waited for what: only \
                        timing=recorded can replay it"
                .to_owned());
        }
        Ok(replay)
    }

    pub(crate) fn timing(&self) -> Timing {
        match self.settings.word("timing") {
            "closed" => Timing::Closed,
            "no_stall" => Timing::NoStall,
            _ => Timing::Recorded,
        }
    }

    fn sectors_per_step(&self) -> u64 {
        self.settings.sectors("align")
    }

    /// Where a recorded sector is placed here.
    fn place(&self, sector: u64) -> u64 {
        place(sector, self.settings.count("scale"), self.sectors_per_step())
    }

    /// What was in the recording and what was not, for the reader of the result.
    pub fn notes(&self) -> Vec<String> {
        let when = match self.timing() {
            Timing::Recorded => "submitted at their recorded moments, however slow the disk is",
            Timing::Closed => "each submitted when its process had as few in flight, and after its recorded pause",
            Timing::NoStall => "each submitted when its process had as few in flight, without its pauses",
        };
        self.recording.notes(&self.name, when, self.disk)
    }

    /// How long it lasts here if it is submitted at its recorded moments, and how many of its I/Os are submitted in the
    /// first `limit` of that.
    pub(crate) fn begins_with(&self, limit: Span) -> (Span, usize) {
        let (whole, ios) = self.recording.begins_with(self.recorded(limit));
        (self.played_in(whole), ios)
    }

    /// Only the part of it in these windows, which are on the clock of the replay.
    ///
    /// # Errors
    /// If a temporary file cannot be written or read.
    pub(crate) fn within(&self, windows: &Windows) -> Result<Replay, String> {
        let of = windows.of.iter().map(|&(from, until)| (self.recorded(from), self.recorded(until))).collect();
        let recorded = Windows { of, whole: self.recorded(windows.whole) };
        Ok(Replay { recording: Arc::new(self.recording.within(&recorded)?), ..self.clone() })
    }

    /// How many I/Os it has.
    pub(crate) fn ios(&self) -> usize {
        self.recording.ios()
    }

    /// A stretch of the replay on the recording's clock.
    fn recorded(&self, span: Span) -> Span {
        let scaled = u128::from(span.as_ns()) * u128::from(self.settings.count("time_scale")) / 100;
        Span::from_ns(u64::try_from(scaled).unwrap_or(u64::MAX))
    }

    /// A stretch of the recording on the replay's clock.
    fn played_in(&self, span: Span) -> Span {
        let scaled = u128::from(span.as_ns()) * 100 / u128::from(self.settings.count("time_scale"));
        Span::from_ns(u64::try_from(scaled).unwrap_or(u64::MAX))
    }

    /// The part of it that belongs to this device, for a world of several disks ([`Joint`]); `None` if it has no such
    /// device.
    pub fn on(&self, device: (u32, u32)) -> Option<Replay> {
        let nth = self.recording.devices().iter().position(|known| *known == device)?;
        let disk = StandsFor::Nth(u16::try_from(nth).ok()?);
        let is_asked = (0..self.recording.processes.len()).any(|nth| self.recording.priority(nth, disk).is_some());
        is_asked.then(|| Replay { disk, ..self.clone() })
    }

    /// Its processes on a disk of this size.
    ///
    /// # Errors
    /// If it does not fit there.
    pub(crate) fn parts(&self, disk_sectors: u64) -> Result<Vec<ReplayedProcess>, String> {
        let (reach, longest) = self.recording.reach(self.on_its_disk());
        let end = self.place(reach).saturating_add(u64::from(longest));
        if let Some(needed) = beyond(self.place(reach), longest, reach, disk_sectors) {
            let gib = |sectors: u64| sectors as f64 / (1 << 21) as f64;
            return Err(format!(
                "{}: the trace reaches {:.1} GiB and the disk ends at {:.1} GiB; scale={needed} would divide its \
                 sectors so that it fits",
                self.name,
                gib(end),
                gib(disk_sectors)
            ));
        }
        let mut rows: Vec<&str> = Vec::new();
        let mut parts = Vec::new();
        for (process, recorded) in self.recording.processes.iter().enumerate() {
            let Some(priority) = self.recording.priority(process, self.disk) else { continue };
            let row = match self.settings.word("rows") {
                "name" => rows.iter().position(|name| *name == recorded.name).unwrap_or(rows.len()),
                _ => rows.len(),
            };
            if row == rows.len() {
                rows.push(&recorded.name);
            }
            let name = match self.settings.word("rows") {
                "name" => recorded.name.clone(),
                _ => format!("{}.{}", recorded.name, recorded.pid),
            };
            let is_shared = !recorded.is_wholly_on(self.disk);
            parts.push(ReplayedProcess {
                name,
                row: row as u32,
                depth: recorded.depth(),
                priority,
                process,
                is_shared,
            });
        }
        Ok(parts)
    }

    /// The state machine of one of its processes; what it has on other disks of the world is coordinated by `joint`.
    pub(crate) fn source(&self, part: &ReplayedProcess, submitter: SubmitterId, joint: &mut Joint) -> Box<dyn Source> {
        if !part.is_shared {
            return Box::new(Replayer::new(self.clone(), part.process, submitter));
        }
        Box::new(Member::new(joint.process(self, part.process), self.disk, submitter))
    }
}

/// Where a recorded sector is placed: divided by `scale`, and rounded down to a multiple of `step` sectors.
pub(crate) fn place(sector: u64, scale: u64, step: u64) -> u64 {
    sector / scale / step * step
}

/// The least scale with which `reach`, the last recorded sector, would be on the disk; `None` if the longest I/O at
/// `last` ends on the disk.
pub(crate) fn beyond(last: u64, longest: u32, reach: u64, disk_sectors: u64) -> Option<u64> {
    let left = disk_sectors.saturating_sub(u64::from(longest)).max(1);
    (last.saturating_add(u64::from(longest)) > disk_sectors).then(|| (reach / (left + 1) + 1).max(2))
}

fn settings_say_zero(settings: &Settings) -> bool {
    settings.count("time_scale") == 0 || settings.count("scale") == 0
}
