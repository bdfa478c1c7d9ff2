//! A run as blktrace's binary format, with the scheduler's reasons as messages: blkparse and btt read it.
//!
//! `Q` a bio enters the block queue, `M` or `F` it joins a request, otherwise `G` it gets its own, `S` it sleeps for
//! one; `P` its submitter's plug begins to collect (or the queue is plugged), `U` it is unplugged; `I` inserted into
//! the elevator, `D` issued to the device, `R` requeued, `C` completed; `m` the scheduler's reasons.

use std::collections::BTreeMap;
use std::io::{self, Write};

use blksched::author::Waiter;
use blksched::reasons::End;
use blksched::{Bio, Command, Instant, Op, Reason, Sector, Submitted, SubmitterId};
use blksched_traces::blktrace::{Action, BlktraceEvent, Categories};

use super::happening::{Happening, Onlooker};

/// 8,0: the first disk.
const DEVICE: u32 = 8 << 20;
/// A message (`BLK_TN_MESSAGE`).
const MESSAGE: u16 = 2;

/// What an event is about.
#[derive(Clone, Copy)]
struct About {
    pid: u32,
    kind: u16,
    sector: u64,
    sectors: u32,
}

/// Writes every event as it happens. The first error is kept until the end, and nothing more is written after it.
pub struct BlockTrace {
    out: Box<dyn Write>,
    names: Box<dyn Fn(SubmitterId) -> String>,
    words: Box<dyn Fn(Reason) -> String>,
    named: BTreeMap<SubmitterId, ()>,
    sequence: u32,
    /// The bio that the queue is handling, and what was reported of requests meanwhile.
    entering: Option<Bio>,
    meanwhile: Vec<(Instant, Action, About)>,
    /// How many requests each submitter's plug holds.
    plugged: BTreeMap<SubmitterId, u32>,
    /// Bios that sleep for a request.
    asleep: BTreeMap<SubmitterId, Bio>,
    /// The command of each request in the device, by its index.
    commands: BTreeMap<usize, Command>,
    failed: Option<io::Error>,
}

impl BlockTrace {
    /// A trace written to `out`; `names` names processes, and `words` turns a reason into a message.
    pub fn new(
        out: Box<dyn Write>,
        names: Box<dyn Fn(SubmitterId) -> String>,
        words: Box<dyn Fn(Reason) -> String>,
    ) -> BlockTrace {
        BlockTrace {
            out,
            names,
            words,
            named: BTreeMap::new(),
            sequence: 0,
            entering: None,
            meanwhile: Vec::new(),
            plugged: BTreeMap::new(),
            asleep: BTreeMap::new(),
            commands: BTreeMap::new(),
            failed: None,
        }
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// If anything could not be written.
    pub fn finish(mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }

    fn write(&mut self, event: BlktraceEvent) {
        if self.failed.is_none() {
            self.failed = event.write(&mut self.out).err();
        }
    }

    fn event(&mut self, at: Instant, action: Action, about: About, payload: Vec<u8>) {
        self.sequence += 1;
        self.write(BlktraceEvent {
            sequence: self.sequence,
            time: at.as_ns(),
            sector: about.sector,
            bytes: about.sectors * 512,
            action,
            kind: Categories(about.kind),
            pid: about.pid,
            device: DEVICE,
            payload,
            ..BlktraceEvent::default()
        });
    }

    /// Describes an I/O of a submitter, which is named at its first.
    fn about(&mut self, at: Instant, by: SubmitterId, kind: u16, place: (Sector, u32)) -> About {
        if self.named.insert(by, ()).is_none() {
            let name = (self.names)(by);
            self.write(BlktraceEvent::process(at.as_ns(), by.0 + 1, &name));
        }
        About { pid: by.0 + 1, kind, sector: place.0.0, sectors: place.1 }
    }

    fn of_bio(&mut self, at: Instant, bio: &Bio) -> About {
        let sync = if bio.waiter == Waiter::Sync && bio.op != Op::Read { Categories::SYNC } else { 0 };
        let fua = if bio.durability.fua { Categories::FUA } else { 0 };
        let flush = if bio.durability.preflush { Categories::FLUSH } else { 0 };
        let meta = if bio.hints.meta { Categories::META } else { 0 };
        self.about(at, bio.submitter, kind(bio.op) | sync | fua | flush | meta, (bio.start, bio.sectors))
    }

    fn of_command(&mut self, at: Instant, command: &Command) -> About {
        let fua = if command.fua { Categories::FUA } else { 0 };
        self.about(at, command.submitter, kind(command.op) | fua, (command.start, command.sectors))
    }

    fn got_request(&mut self, at: Instant, bio: &Bio) {
        let about = self.of_bio(at, bio);
        self.event(at, Action::GetRequest, about, Vec::new());
    }

    fn taken(&mut self, at: Instant, became: Submitted) {
        let Some(bio) = self.entering.take() else { return };
        let about = self.of_bio(at, &bio);
        match became {
            Submitted::Merged { end: End::Back, .. } => self.event(at, Action::BackMerge, about, Vec::new()),
            Submitted::Merged { end: End::Front, .. } => self.event(at, Action::FrontMerge, about, Vec::new()),
            Submitted::MergedOnInsert { .. } | Submitted::Inserted(_) => self.got_request(at, &bio),
            Submitted::Asleep => {
                self.event(at, Action::SleepRequest, about, Vec::new());
                self.asleep.insert(bio.submitter, bio);
            }
            // A flush is handled by the queue: it is never in a plug.
            Submitted::Held if bio.op != Op::Flush && bio.durability.is_volatile() => {
                self.got_request(at, &bio);
                let plugged = self.plugged.entry(bio.submitter).or_default();
                *plugged += 1;
                if *plugged == 1 {
                    self.event(at, Action::Plug, About { sector: 0, sectors: 0, kind: 0, ..about }, Vec::new());
                }
            }
            Submitted::Held | Submitted::Done => self.got_request(at, &bio),
        }
        for (at, action, about) in std::mem::take(&mut self.meanwhile) {
            self.event(at, action, about, Vec::new());
        }
    }

    fn heard(&mut self, at: Instant, reason: Reason) {
        match reason {
            Reason::Inserted { dir, start, sectors, submitter, .. } => {
                let op = if dir == blksched::Dir::Read { Op::Read } else { Op::Write };
                let about = self.about(at, submitter, kind(op), (start, sectors));
                if let Some(bio) = self.asleep.remove(&submitter) {
                    self.got_request(at, &bio);
                }
                self.opens(at, submitter, about);
                match self.entering {
                    Some(bio) if bio.submitter == submitter => self.meanwhile.push((at, Action::Insert, about)),
                    _ => self.event(at, Action::Insert, about, Vec::new()),
                }
            }
            Reason::Woke { submitter } => {
                if let Some(bio) = self.asleep.remove(&submitter) {
                    self.got_request(at, &bio);
                }
            }
            Reason::Plugged => self.event(at, Action::Plug, NOTHING, Vec::new()),
            Reason::Unplugged(_) => self.event(at, Action::Unplug, NOTHING, 0u64.to_be_bytes().to_vec()),
            Reason::Completed { rq, .. } => {
                if let Some(command) = self.commands.remove(&rq.index()) {
                    let about = self.of_command(at, &command);
                    self.event(at, Action::Complete, about, Vec::new());
                }
            }
            Reason::Requeued { rq } => {
                if let Some(command) = self.commands.remove(&rq.index()) {
                    let about = self.of_command(at, &command);
                    self.event(at, Action::Requeue, about, Vec::new());
                }
            }
            Reason::Merged { .. } | Reason::Searched { .. } | Reason::Issued { .. } | Reason::Slept { .. } => {}
            _ => {
                let text = (self.words)(reason);
                self.message(at, &text);
            }
        }
    }

    /// The submitter's plug opens, as what it held goes to the elevator.
    fn opens(&mut self, at: Instant, submitter: SubmitterId, about: About) {
        if let Some(held) = self.plugged.remove(&submitter).filter(|&held| held > 0) {
            let about = About { sector: 0, sectors: 0, kind: 0, ..about };
            self.event(at, Action::Unplug, about, u64::from(held).to_be_bytes().to_vec());
        }
    }

    fn message(&mut self, at: Instant, text: &str) {
        let payload = text.bytes().take(120).collect();
        let event = BlktraceEvent {
            time: at.as_ns(),
            device: DEVICE,
            action: Action::Note(MESSAGE),
            payload,
            ..BlktraceEvent::default()
        };
        self.write(event);
    }
}

const NOTHING: About = About { pid: 0, kind: 0, sector: 0, sectors: 0 };

impl Onlooker for BlockTrace {
    fn sees(&mut self, at: Instant, what: &Happening) {
        match *what {
            Happening::Entered { bio } => {
                let about = self.of_bio(at, &bio);
                self.event(at, Action::Queue, about, Vec::new());
                self.entering = Some(bio);
            }
            Happening::Taken { became, .. } => self.taken(at, became),
            Happening::Started { command } => {
                let about = self.of_command(at, &command);
                self.event(at, Action::Issue, about, Vec::new());
                self.commands.insert(command.rq.index(), command);
            }
            Happening::Heard(reason) => self.heard(at, reason),
            _ => {}
        }
    }
}

fn kind(op: Op) -> u16 {
    match op {
        Op::Read => Categories::READ,
        Op::Write | Op::WriteZeroes => Categories::WRITE,
        Op::Discard => Categories::DISCARD,
        Op::Flush => Categories::WRITE | Categories::FLUSH,
    }
}
