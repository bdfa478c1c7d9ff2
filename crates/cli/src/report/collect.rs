//! Observes a run and keeps the data that a report shows.

use std::collections::BTreeMap;

use blksched::author::RequestId;
use blksched::{Command, Instant, Op, Reason};
use blksched_report::{RecordedCommand, RecordedIo, RecordedRun, TimePart as ReportPart, TimePiece, Way};
use blksched_simulate::story::{Happening, IoId, Leg, Onlooker, Part, Story, Storyteller, Whose};

use super::decisions::Decisions;
use blksched_lab::why::names::Names;
use blksched_lab::why::phrase::{rule, sentence};

/// How many of the slowest I/Os have their story as a sentence.
pub(super) const SENTENCES: usize = 200;

/// Collects everything for the report.
pub(super) struct Collector {
    /// Tells the stories.
    pub(super) teller: Storyteller,
    names: Names,
    run: RecordedRun,
    decisions: Decisions,
    parts: BTreeMap<Part, u32>,
    /// By request: when the scheduler got it, and the row of its command.
    queued: BTreeMap<RequestId, Instant>,
    in_disk: BTreeMap<RequestId, usize>,
    carried: BTreeMap<RequestId, Vec<IoId>>,
    /// The commands that carry an I/O in flight.
    rows: BTreeMap<IoId, Vec<usize>>,
}

impl Collector {
    pub(super) fn new(mut teller: Storyteller, names: Names) -> Collector {
        teller.keep_latest();
        Collector {
            teller,
            decisions: Decisions::new(names.clone()),
            names,
            run: RecordedRun::default(),
            parts: BTreeMap::new(),
            queued: BTreeMap::new(),
            in_disk: BTreeMap::new(),
            carried: BTreeMap::new(),
            rows: BTreeMap::new(),
        }
    }

    /// What was collected, and the teller; what still lasts is closed at `end`.
    pub(super) fn finish(mut self, end: Instant) -> (RecordedRun, Storyteller) {
        for row in std::mem::take(&mut self.in_disk).into_values() {
            self.run.sent[row].ended_ns = end.as_ns();
        }
        self.decisions.finish(end, &mut self.run);
        // A process is known by its number; write-back has one more.
        let most = self.run.ios.iter().map(|io| io.process).chain(self.run.sent.iter().map(|sent| sent.process)).max();
        for process in 0..=most.unwrap_or(0) {
            let submitter = blksched::SubmitterId(process);
            let job = self.names.job(submitter);
            let place = self.run.jobs.iter().position(|known| *known == job).unwrap_or_else(|| {
                self.run.jobs.push(job);
                self.run.jobs.len() - 1
            });
            self.run.processes.push(self.names.process(submitter));
            self.run.jobs_of.push(place as u32);
        }
        self.run.elapsed_ns = end.as_ns();
        self.run.ios.sort_unstable_by_key(|io| io.nth);
        for story in self.teller.stories() {
            self.run.stories.insert(story.nth, sentence(story, &self.names));
        }
        (self.run, self.teller)
    }

    fn started(&mut self, at: Instant, command: &Command) {
        let row = self.run.sent.len();
        let queued = self.queued.remove(&command.rq).unwrap_or(at);
        self.run.sent.push(RecordedCommand {
            process: command.submitter.0,
            way: way(command.op),
            sector: command.start.0,
            sectors: command.sectors,
            queued_ns: queued.as_ns(),
            issued_ns: at.as_ns(),
            ended_ns: at.as_ns(),
            io: 0,
        });
        self.in_disk.insert(command.rq, row);
        for io in self.carried.remove(&command.rq).unwrap_or_default() {
            self.rows.entry(io).or_default().push(row);
        }
    }

    fn ended(&mut self, at: Instant, rq: RequestId) {
        if let Some(row) = self.in_disk.remove(&rq) {
            self.run.sent[row].ended_ns = at.as_ns();
        }
    }

    fn heard(&mut self, at: Instant, reason: Reason) {
        match reason {
            Reason::Inserted { rq, .. } => {
                self.queued.entry(rq).or_insert(at);
            }
            Reason::Coalesced { into, victim } => {
                let first = self.queued.remove(&victim).into_iter().chain(self.queued.get(&into).copied()).min();
                self.queued.extend(first.map(|first| (into, first)));
            }
            Reason::Requeued { rq } => {
                self.ended(at, rq);
                self.queued.insert(rq, at);
            }
            Reason::Completed { rq, .. } => self.ended(at, rq),
            _ => {}
        }
        self.decisions.hear(at, reason, !self.in_disk.is_empty());
    }

    fn story(&mut self, story: &Story) {
        for row in self.rows.remove(&story.begun.io).unwrap_or_default() {
            let io = &mut self.run.sent[row].io;
            *io = if *io == 0 { story.nth } else { (*io).min(story.nth) };
        }
        let first = self.run.pieces.len() as u32;
        for piece in &story.pieces {
            let part = self.part(piece.part);
            let ns = piece.length().as_ns();
            self.run.pieces.push(TimePiece { part, ns, commands: piece.commands });
        }
        self.run.ios.push(RecordedIo {
            nth: story.nth,
            process: story.begun.by.0,
            way: way(story.begun.op),
            sector: story.begun.start.0,
            sectors: story.begun.sectors,
            begun_ns: story.begun_at.as_ns(),
            latency_ns: story.latency().as_ns(),
            pieces: (first, story.pieces.len() as u32),
        });
    }

    fn part(&mut self, part: Part) -> u32 {
        if let Some(&known) = self.parts.get(&part) {
            return known;
        }
        let whom = match part.whose() {
            Whose::Nobody => String::new(),
            whose => self.names.whose(whose),
        };
        let nth = self.run.parts.len() as u32;
        self.run.parts.push(ReportPart { leg: number(part.leg()), rule: rule(part).to_owned(), whom });
        self.parts.insert(part, nth);
        nth
    }
}

impl Onlooker for Collector {
    fn sees(&mut self, at: Instant, what: &Happening) {
        match *what {
            Happening::Carried { rq, io } => self.carried.entry(rq).or_default().push(io),
            Happening::Started { command } => self.started(at, &command),
            Happening::Heard(reason) => self.heard(at, reason),
            // The disk is done; the queue may learn of it later.
            Happening::Served { rq, .. } => self.ended(at, rq),
            _ => {}
        }
        self.teller.sees(at, what);
        if let Some(story) = self.teller.latest() {
            self.story(&story);
        }
        if let Happening::Landed { io } = *what {
            // A transfer within the host's memory has no story.
            self.rows.remove(&io);
        }
    }
}

fn way(op: Op) -> Way {
    match op {
        Op::Read => Way::Read,
        Op::Write | Op::WriteZeroes => Way::Write,
        Op::Discard => Way::Trim,
        Op::Flush => Way::Sync,
    }
}

/// The legs of an I/O's way, in order.
pub(super) const LEGS: [Leg; 5] = [Leg::Before, Leg::Elevator, Leg::Drive, Leg::Service, Leg::After];

/// A leg's place in [`LEGS`].
pub(super) fn number(leg: Leg) -> u8 {
    LEGS.iter().position(|known| *known == leg).unwrap_or_default() as u8
}
