//! A server's recording (`serve --record`): the handling of each I/O by its queue, and the reasons.
//!
//! The log has every call and answer; the reasons come from repeating the calls. For the device it has the times of
//! issue and completion of each command, so a command's own service is the time after the previous completion.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

use blksched::author::RequestId;
use blksched::{Catalogue, Command, Instant, Listener, Reason, Tag};
use blksched_calls::{PlayStep, play};
use blksched_disks::Activity;
use blksched_simulate::story::{Begun, Happening, IoId, SharedOnlooker, StoriesAsked, Storyteller};
use blksched_traces::call_log::{CallLog, FORMAT};

use super::arguments::ExplainArguments;
use super::names::Names;
use super::watch::{Outputs, look_on};
use crate::failure::Failure;
use crate::scene::Scene;

/// What a recording says about itself.
pub(super) struct ServerRecord {
    pub(super) elevator: String,
    pub(super) end: Instant,
}

/// The only workload, if it is a server's recording.
pub(super) fn recording(jobs: &[String]) -> Option<&str> {
    let [file] = jobs else { return None };
    let mut first = String::new();
    // The format's name is at the beginning of the first line, which is short.
    let unpacked = blksched_traces::unpack::unpacked(File::open(file).ok()?).ok()?;
    let mut reader = BufReader::new(std::io::Read::take(unpacked, 4096));
    reader.read_line(&mut first).ok()?;
    first.contains(FORMAT).then_some(file.as_str())
}

/// An option about simulation, which a recording does not need.
pub(super) fn superfluous(arguments: &ExplainArguments) -> Option<&'static str> {
    let scene = &arguments.scene;
    let usual = Scene::of("", "hdd-7200", 1);
    let said = [
        (arguments.elevator.is_some(), "--elevator"),
        (scene.disk != usual.disk, "--disk"),
        (scene.seed != usual.seed, "--seed"),
        (scene.time.is_some(), "--time"),
        (scene.starts != usual.starts, "--starts"),
        (!scene.set.is_empty(), "--set"),
        (scene.depth.is_some(), "--depth"),
        (scene.nr_requests.is_some(), "--nr-requests"),
        (scene.max_sectors_kb.is_some(), "--max-sectors-kb"),
        (scene.attached.is_some(), "--attached"),
        (scene.wbt_lat_usec.is_some(), "--wbt-lat-usec"),
        (scene.host != usual.host, "--host"),
        (scene.parse_only, "--parse-only"),
    ];
    said.into_iter().find_map(|(said, option)| said.then_some(option))
}

/// The log, and the names of its submitters.
pub(super) fn read(file: &str) -> Result<(CallLog, Names), Failure> {
    let log = CallLog::open(file.as_ref()).map_err(|error| Failure::Input(format!("{file}: {error}")))?;
    let most = log.records.iter().filter_map(|record| match &record.call {
        blksched_traces::call_log::Call::Submit(bio) => Some(bio.submitter),
        _ => None,
    });
    // Submitters count from 0 without gaps, but a damaged file may contain any number.
    let most = most.max().unwrap_or(0).min(1 << 20);
    Ok((log, Names::numbered(most)))
}

/// Makes the calls again, observed by the story teller and the collector.
pub(super) fn explain(
    file: &str,
    log: &CallLog,
    names: &Names,
    outputs: &Outputs,
    asked: StoriesAsked,
    catalogue: &Catalogue,
) -> Result<(ServerRecord, Storyteller), Failure> {
    look_on(unknown_disk(asked), names, outputs, |onlooker| {
        let end = replay(file, log, onlooker, catalogue)?;
        Ok((ServerRecord { elevator: log.header.elevator.clone(), end }, end))
    })
}

/// For a recording, the disk's client is the one that writes back, and nothing is known of the device's inside.
pub(crate) fn unknown_disk(asked: StoriesAsked) -> Storyteller {
    Storyteller::new(asked, blksched::SubmitterId(u32::MAX), u32::MAX)
}

/// Replays the calls of a log for an observer; returns when they ended.
pub(crate) fn replay(
    file: &str,
    log: &CallLog,
    onlooker: SharedOnlooker,
    catalogue: &Catalogue,
) -> Result<Instant, Failure> {
    let driver = RefCell::new(DriverTeller::new(onlooker.clone()));
    let played = play(log, catalogue, Ear(onlooker), |at, step| driver.borrow_mut().step(at, step));
    played.map_err(|error| Failure::Input(format!("{file}:{error}")))?;
    Ok(Instant::from_ns(log.records.last().map_or(0, |record| record.t)))
}

/// Passes on the queue's reasons.
struct Ear(SharedOnlooker);

impl Listener for Ear {
    fn hear(&mut self, at: Instant, reason: Reason) {
        self.0.borrow_mut().sees(at, &Happening::Heard(reason));
    }
}

/// Passes on the driver's actions, with new numbers for reused I/O ids.
struct DriverTeller {
    onlooker: SharedOnlooker,
    ios: BTreeMap<Tag, IoId>,
    free: Vec<IoId>,
    made: u64,
    issued: BTreeMap<RequestId, Instant>,
    completed: Instant,
}

impl DriverTeller {
    fn new(onlooker: SharedOnlooker) -> DriverTeller {
        DriverTeller {
            onlooker,
            ios: BTreeMap::new(),
            free: Vec::new(),
            made: 0,
            issued: BTreeMap::new(),
            completed: Instant::ZERO,
        }
    }

    fn tell(&self, at: Instant, what: Happening) {
        self.onlooker.borrow_mut().sees(at, &what);
    }

    fn step(&mut self, at: Instant, step: PlayStep) {
        match step {
            PlayStep::Submits(bio) => {
                let io = self.free.pop().unwrap_or_else(|| {
                    self.made += 1;
                    IoId(self.made - 1)
                });
                self.ios.insert(bio.tag, io);
                let bio = blksched::Bio { tag: Tag(io.0), ..bio };
                self.tell(at, Happening::Began(Begun::direct(&bio)));
                self.tell(at, Happening::Entered { bio });
            }
            PlayStep::Submitted(bio, became) => {
                let io = self.ios[&bio.tag];
                self.tell(at, Happening::Taken { io, became });
            }
            PlayStep::Issued(command, tags) => self.issued(at, command, &tags),
            PlayStep::Completes(rq) => {
                let issued = self.issued.remove(&rq).unwrap_or(at);
                let service = Activity { transfer: at.since(issued.max(self.completed)), ..Activity::default() };
                self.completed = at;
                self.tell(at, Happening::Served { rq, service });
            }
            PlayStep::Delivered(tag) => {
                if let Some(io) = self.ios.remove(&tag) {
                    self.tell(at, Happening::Landed { io });
                    self.free.push(io);
                }
            }
        }
    }

    fn issued(&mut self, at: Instant, command: Command, tags: &[Tag]) {
        self.issued.insert(command.rq, at);
        for io in tags.iter().filter_map(|tag| self.ios.get(tag)) {
            self.tell(at, Happening::Carried { rq: command.rq, io: *io });
        }
        self.tell(at, Happening::Started { command });
    }
}
