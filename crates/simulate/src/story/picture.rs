//! A run as a Perfetto trace: a track for each process, the scheduler's slices and batches, the disk's commands,
//! counters, and flows from an I/O through its command to its completion.
//!
//! I/Os that overlap are on lanes of their process's track, commands on lanes of the disk's; a lane holds one at a
//! time, so slices nest. An I/O is written when it has completed, with its pieces as slices inside; one that has not
//! completed by the end is a single slice that says so.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use blksched::author::RequestId;
use blksched::{Command, Dir, Instant, Op, Reason, SubmitterId};
use blksched_traces::perfetto::{
    CounterDescriptor, DebugAnnotation, EventType, ProcessDescriptor, TrackDescriptor, TrackEvent, Writer,
};

use super::happening::{Happening, IoId, IoRoute, Onlooker};
use super::part::Part;
use super::teller::{Story, Storyteller};

/// Numbers of tracks: 1 and 2, then a process's, then lanes and counters.
const SCHEDULER: u64 = 1;
const DISK: u64 = 2;
const FIRST_PROCESS: u64 = 100;
const LANES: u64 = 1 << 32;
const COUNTERS: u64 = 1 << 48;

/// Turns what the picture shows into words.
pub trait Words {
    /// A process by name.
    fn process(&self, submitter: SubmitterId) -> String;
    /// A part of an I/O's time.
    fn part(&self, part: Part) -> String;
    /// A whole story.
    fn story(&self, story: &Story) -> String;
}

/// The lanes of one track: which are free, and how many there are.
#[derive(Default)]
struct Lanes {
    free: Vec<u64>,
    made: u64,
}

/// A command in the disk.
struct InDisk {
    lane: u64,
}

/// Draws a run, and collects stories too.
pub struct Picture<W> {
    /// The stories asked for.
    pub teller: Storyteller,
    words: W,
    out: Writer,
    lanes: BTreeMap<u64, Lanes>,
    processes: BTreeMap<SubmitterId, u64>,
    /// Each I/O in flight: its lane and flow, when it began and its operation.
    ios: BTreeMap<IoId, (u64, u64, Instant, Op)>,
    flows: u64,
    carried: BTreeMap<usize, Vec<IoId>>,
    in_disk: BTreeMap<usize, InDisk>,
    turn: bool,
    batch: bool,
    queued: BTreeSet<usize>,
    /// Bytes completed since the last throughput sample, and its time.
    landed: BTreeMap<SubmitterId, i64>,
    marked: Instant,
    why: Vec<DebugAnnotation>,
}

/// The interval of throughput samples \[ns\].
const WINDOW: u64 = 100_000_000;

impl<W: Words> Picture<W> {
    /// An empty picture, written to `out`.
    pub fn new(mut teller: Storyteller, words: W, out: Box<dyn Write>) -> Picture<W> {
        teller.keep_latest();
        let mut picture = Picture {
            teller,
            words,
            out: Writer::new(out),
            lanes: BTreeMap::new(),
            processes: BTreeMap::new(),
            ios: BTreeMap::new(),
            flows: 0,
            carried: BTreeMap::new(),
            in_disk: BTreeMap::new(),
            turn: false,
            batch: false,
            queued: BTreeSet::new(),
            landed: BTreeMap::new(),
            marked: Instant::ZERO,
            why: Vec::new(),
        };
        picture.named(SCHEDULER, "scheduler", None);
        picture.named(DISK, "disk", None);
        for (nth, (name, unit)) in
            [("requests in the disk", "requests"), ("requests queued", "requests")].iter().enumerate()
        {
            picture.counter(COUNTERS + nth as u64, name, unit, None);
        }
        picture
    }

    /// Closes at `end` what still lasts, and writes everything.
    ///
    /// # Errors
    /// If anything could not be written.
    pub fn finish(mut self, end: Instant) -> io::Result<Storyteller> {
        for in_disk in std::mem::take(&mut self.in_disk).into_values() {
            self.end(end, in_disk.lane);
        }
        for (lane, flow, began, op) in std::mem::take(&mut self.ios).into_values() {
            let name = format!("{}, not ended", word(op));
            let terminating_flow_ids = vec![flow];
            self.begin(began, lane, name, TrackEvent { terminating_flow_ids, ..TrackEvent::default() });
            self.end(end.max(began), lane);
        }
        self.close(end, true, true);
        self.out.finish().map(|()| self.teller)
    }

    fn named(&mut self, uuid: u64, name: &str, parent: Option<u64>) {
        let name = Some(name.to_owned());
        self.out.track(TrackDescriptor { uuid: Some(uuid), name, parent_uuid: parent, ..TrackDescriptor::default() });
    }

    fn counter(&mut self, uuid: u64, name: &str, unit: &str, parent: Option<u64>) {
        let counter = Some(CounterDescriptor { unit_name: Some(unit.to_owned()) });
        let name = Some(name.to_owned());
        let track = TrackDescriptor { uuid: Some(uuid), name, parent_uuid: parent, counter, process: None };
        self.out.track(track);
    }

    /// A process's track, made when it first does something.
    fn process(&mut self, submitter: SubmitterId) -> u64 {
        if let Some(&uuid) = self.processes.get(&submitter) {
            return uuid;
        }
        let uuid = FIRST_PROCESS + u64::from(submitter.0);
        let process_name = Some(self.words.process(submitter));
        let process = Some(ProcessDescriptor { pid: Some(submitter.0 as i32 + 1), process_name });
        self.out.track(TrackDescriptor { uuid: Some(uuid), process, ..TrackDescriptor::default() });
        self.counter(COUNTERS + uuid, "throughput", "bytes/s", Some(uuid));
        self.processes.insert(submitter, uuid);
        uuid
    }

    /// A free lane below `parent`.
    fn lane(&mut self, parent: u64, name: &str) -> u64 {
        let lanes = self.lanes.entry(parent).or_default();
        if let Some(lane) = lanes.free.pop() {
            return lane;
        }
        let uuid = LANES * (parent + 1) + lanes.made;
        lanes.made += 1;
        let name = format!("{name} {}", lanes.made);
        self.named(uuid, &name, Some(parent));
        uuid
    }

    fn free(&mut self, lane: u64) {
        self.lanes.entry(lane / LANES - 1).or_default().free.push(lane);
    }

    fn begin(&mut self, at: Instant, track: u64, name: String, event: TrackEvent) {
        let r#type = Some(EventType::SliceBegin as i32);
        self.out.event(at.as_ns(), TrackEvent { r#type, track_uuid: Some(track), name: Some(name), ..event });
    }

    fn end(&mut self, at: Instant, track: u64) {
        let r#type = Some(EventType::SliceEnd as i32);
        self.out.event(at.as_ns(), TrackEvent { r#type, track_uuid: Some(track), ..TrackEvent::default() });
    }

    fn count(&mut self, at: Instant, counter: u64, value: i64) {
        let r#type = Some(EventType::Counter as i32);
        let track_uuid = Some(counter);
        self.out
            .event(at.as_ns(), TrackEvent { r#type, track_uuid, counter_value: Some(value), ..TrackEvent::default() });
    }

    fn story(&mut self, story: &Story) {
        let Some((lane, flow, ..)) = self.ios.remove(&story.begun.io) else { return };
        let arguments = vec![
            DebugAnnotation::number("io", story.nth),
            DebugAnnotation::number("sector", story.begun.start.0),
            DebugAnnotation::number("bytes", story.begun.sectors * 512),
            DebugAnnotation::text("why", self.words.story(story)),
        ];
        let kind = if story.begun.kind == IoRoute::Call { "call" } else { "I/O" };
        let event = TrackEvent {
            debug_annotations: arguments,
            categories: vec![kind.to_owned()],
            flow_ids: vec![flow],
            ..TrackEvent::default()
        };
        self.begin(story.begun_at, lane, word(story.begun.op).to_owned(), event);
        for piece in &story.pieces {
            let name = self.words.part(piece.part);
            self.begin(piece.from, lane, name, TrackEvent::default());
            self.end(piece.to, lane);
        }
        let r#type = Some(EventType::Instant as i32);
        let done = TrackEvent {
            r#type,
            track_uuid: Some(lane),
            name: Some("complete".to_owned()),
            terminating_flow_ids: vec![flow],
            ..TrackEvent::default()
        };
        self.out.event(story.landed_at.as_ns(), done);
        self.end(story.landed_at, lane);
        self.free(lane);
        *self.landed.entry(story.begun.by).or_default() += (story.begun.sectors * 512) as i64;
    }

    /// A throughput sample: what completed since the last one, as bytes per second.
    fn mark(&mut self, at: Instant) {
        let passed = at.since(self.marked).as_ns();
        if passed < WINDOW {
            return;
        }
        for (by, bytes) in std::mem::take(&mut self.landed) {
            let counter = COUNTERS + self.process(by);
            let rate = (i128::from(bytes) * 1_000_000_000 / i128::from(passed)) as i64;
            self.count(at, counter, rate);
            self.landed.insert(by, 0);
        }
        self.marked = at;
    }

    fn started(&mut self, at: Instant, command: &Command) {
        let lane = self.lane(DISK, "commands");
        let ios = self.carried.remove(&command.rq.index()).unwrap_or_default();
        let flow_ids = ios.iter().filter_map(|io| self.ios.get(io)).map(|&(_, flow, ..)| flow).collect();
        let whose = match command.op {
            Op::Flush => "the block queue".to_owned(),
            _ => self.words.process(command.submitter),
        };
        let mut debug_annotations = vec![
            DebugAnnotation::text("of", whose),
            DebugAnnotation::number("sector", command.start.0),
            DebugAnnotation::number("sectors", u64::from(command.sectors)),
        ];
        debug_annotations.append(&mut self.why);
        let categories = vec!["command".to_owned()];
        let event = TrackEvent { debug_annotations, flow_ids, categories, ..TrackEvent::default() };
        self.begin(at, lane, word(command.op).to_owned(), event);
        self.in_disk.insert(command.rq.index(), InDisk { lane });
        self.count(at, COUNTERS, self.in_disk.len() as i64);
    }

    fn ended(&mut self, at: Instant, rq: RequestId) {
        let Some(InDisk { lane }) = self.in_disk.remove(&rq.index()) else { return };
        self.end(at, lane);
        self.free(lane);
        self.count(at, COUNTERS, self.in_disk.len() as i64);
    }

    /// Ends the current slice or batch.
    fn close(&mut self, at: Instant, batch: bool, turn: bool) {
        if batch && std::mem::take(&mut self.batch) {
            self.end(at, SCHEDULER);
        }
        if turn && std::mem::take(&mut self.turn) {
            self.end(at, SCHEDULER);
        }
    }

    fn heard(&mut self, at: Instant, reason: Reason) {
        match reason {
            Reason::SliceBegan { owner, .. } => {
                self.close(at, true, true);
                let why = vec![DebugAnnotation::text("why", format!("{reason:?}"))];
                let name = self.words.process(owner);
                self.begin(at, SCHEDULER, name, TrackEvent { debug_annotations: why, ..TrackEvent::default() });
                self.turn = true;
            }
            Reason::SliceEnded { .. } => {
                self.moment(at, reason);
                self.close(at, true, true);
            }
            Reason::BatchBegan { dir, .. } => {
                self.close(at, true, false);
                let why = vec![DebugAnnotation::text("why", format!("{reason:?}"))];
                let name = if dir == Dir::Read { "batch of reads" } else { "batch of writes" };
                self.begin(
                    at,
                    SCHEDULER,
                    name.to_owned(),
                    TrackEvent { debug_annotations: why, ..TrackEvent::default() },
                );
                self.batch = true;
            }
            Reason::Inserted { rq, .. } => {
                self.queued.insert(rq.index());
                self.queue(at);
            }
            Reason::Coalesced { victim: rq, .. } | Reason::Issued { rq, .. } => {
                self.queued.remove(&rq.index());
                self.queue(at);
            }
            Reason::Requeued { rq } => {
                self.ended(at, rq);
                self.queued.insert(rq.index());
                self.queue(at);
            }
            Reason::Completed { rq, .. } => self.ended(at, rq),
            Reason::Searched { .. } | Reason::Merged { .. } | Reason::Cancelled | Reason::Elapsed => {}
            _ => self.moment(at, reason),
        }
    }

    /// A reason as an event of its own; it is also shown with the command that follows it.
    fn moment(&mut self, at: Instant, reason: Reason) {
        let text = format!("{reason:?}");
        let name = text.split([' ', '(']).next().unwrap_or_default().to_owned();
        let why = DebugAnnotation::text("reason", text);
        if self.why.len() < 4 {
            self.why.push(why.clone());
        }
        let r#type = Some(EventType::Instant as i32);
        let event = TrackEvent {
            r#type,
            track_uuid: Some(SCHEDULER),
            name: Some(name),
            debug_annotations: vec![why],
            ..TrackEvent::default()
        };
        self.out.event(at.as_ns(), event);
    }

    fn queue(&mut self, at: Instant) {
        self.count(at, COUNTERS + 1, self.queued.len() as i64);
    }
}

impl<W: Words> Onlooker for Picture<W> {
    fn sees(&mut self, at: Instant, what: &Happening) {
        match *what {
            Happening::Began(begun) if begun.kind != IoRoute::Transfer => {
                let process = self.process(begun.by);
                let lane = self.lane(process, "I/O");
                self.flows += 1;
                self.ios.insert(begun.io, (lane, self.flows, at, begun.op));
            }
            Happening::Carried { rq, io } => self.carried.entry(rq.index()).or_default().push(io),
            Happening::Started { command } => self.started(at, &command),
            Happening::Heard(reason) => self.heard(at, reason),
            _ => {}
        }
        self.teller.sees(at, what);
        if let Some(story) = self.teller.latest() {
            self.story(&story);
        }
        self.mark(at);
    }
}

fn word(op: Op) -> &'static str {
    match op {
        Op::Read => "read",
        Op::Write | Op::WriteZeroes => "write",
        Op::Discard => "trim",
        Op::Flush => "flush",
    }
}
