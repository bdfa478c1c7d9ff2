//! A server's recording made again: its calls and answers for an onlooker, the reasons by repeating the calls.

use std::cell::RefCell;
use std::collections::BTreeMap;

use blksched::author::RequestId;
use blksched::{Catalogue, Command, Instant, Listener, Reason, Tag};
use blksched_disks::Activity;
use blksched_simulate::story::{Begun, Happening, IoId, SharedOnlooker, StoriesAsked, Storyteller};
use blksched_traces::call_log::CallLog;
use blksched_traces::calls::{PlayStep, play};

use crate::failure::Failure;

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
    fn on_event(&mut self, at: Instant, reason: Reason) {
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
