//! Observes a run and tells the requested stories.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use blksched::author::RequestId;
use blksched::reasons::{BatchStart, Domain};
use blksched::{Dir, Instant, Op, Reason, Span, SubmitterId};

use blksched_disks::{Activity, Stint, StintWork};
use blksched_workloads::host::Host;

use super::blame::Blame;
use super::calls::{ForJournal, Landed, Transfers};
use super::happening::{Begun, Happening, IoId, IoRoute, Onlooker};
use super::part::{Part, Piece, Whose, add};
use super::path::{Keeps, LandedIo, Nap, Path, Stay, in_memory};
use super::timeline::{CACHED, DoneCommand, Timeline, whose};

/// Which stories are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoriesAsked {
    /// How many of the slowest that the other conditions leave.
    pub slowest: usize,
    /// Only the one with this number.
    pub nth: Option<u64>,
    /// Only those in flight at this moment.
    pub at: Option<Instant>,
    /// Only those of these processes; all if empty.
    pub by: BTreeSet<SubmitterId>,
}

impl StoriesAsked {
    /// No stories.
    pub fn nothing() -> StoriesAsked {
        StoriesAsked { slowest: 0, nth: None, at: None, by: BTreeSet::new() }
    }

    fn wants(&self, story: &Story) -> bool {
        let was_there = |at| story.begun_at <= at && at < story.landed_at;
        self.nth.is_none_or(|nth| story.nth == nth) && self.at.is_none_or(was_there) && self.is_of(story.begun.by)
    }

    /// Whether this process is one of those asked for.
    fn is_of(&self, by: SubmitterId) -> bool {
        self.by.is_empty() || self.by.contains(&by)
    }

    /// Whether it is about the whole run, and not about one moment or one I/O.
    pub fn is_about_the_run(&self) -> bool {
        self.nth.is_none() && self.at.is_none()
    }
}

/// One I/O, from beginning to end.
#[derive(Clone, Debug, PartialEq)]
pub struct Story {
    /// Which one, in the order of submission, from 1.
    pub nth: u64,
    /// Its description.
    pub begun: Begun,
    /// When it began.
    pub begun_at: Instant,
    /// When its process was told of its end.
    pub landed_at: Instant,
    /// Where its time went, without a gap.
    pub pieces: Vec<Piece>,
    /// What of it was for the file system's journal.
    pub journal: ForJournal,
}

impl Story {
    /// Its latency.
    pub fn latency(&self) -> Span {
        self.landed_at.since(self.begun_at)
    }
}

/// An I/O in flight.
#[derive(Clone, Debug)]
struct OpenIo {
    nth: u64,
    begun: Begun,
    begun_at: Instant,
    reached_at: Option<Instant>,
    entered_at: Option<Instant>,
    path: Option<Rc<Path>>,
    max: Option<Nap>,
    /// Its disk, once it has entered the queue.
    disk: usize,
    /// In whose name it is there.
    asks: SubmitterId,
    /// Of a part of a stacked device's I/O: the whole.
    of: Option<IoId>,
    /// It went to disks in parts.
    is_stacked: bool,
}

/// A request in flight.
#[derive(Clone, Debug, Default)]
struct Track {
    queued_at: Option<Instant>,
    is_queued: bool,
    issued: Option<DoneCommand>,
    /// When the disk was done, and the request's own part of the work.
    served: Option<(Instant, Activity)>,
    stays: Vec<Stay>,
    expired: bool,
    ios: Vec<IoId>,
}

/// What is known of one disk and the queue in front of it.
#[derive(Debug)]
struct WatchedDisk {
    /// How many things the disk can do at the same time.
    parts: u32,
    timeline: Timeline,
    tracks: Vec<Track>,
    naps: BTreeMap<SubmitterId, Vec<Nap>>,
    /// Those held by `io.max`, in order of arrival.
    kept: BTreeMap<SubmitterId, Vec<IoId>>,
    /// The policy that holds a submitter's bio back, until its sleep is reported.
    held: Option<(SubmitterId, &'static str)>,
    /// The process whose queue a process shares.
    shares: BTreeMap<SubmitterId, SubmitterId>,
}

impl WatchedDisk {
    fn new(parts: u32) -> WatchedDisk {
        WatchedDisk {
            parts,
            timeline: Timeline::new(),
            tracks: Vec::new(),
            naps: BTreeMap::new(),
            kept: BTreeMap::new(),
            held: None,
            shares: BTreeMap::new(),
        }
    }

    fn naps_of(&self, by: SubmitterId) -> &[Nap] {
        self.naps.get(&by).map_or(&[], Vec::as_slice)
    }

    /// The process in whose elevator queue this process's requests are.
    fn queue_of(&self, mut by: SubmitterId) -> SubmitterId {
        for _ in 0..8 {
            match self.shares.get(&by) {
                Some(&into) if into != by => by = into,
                _ => break,
            }
        }
        by
    }
}

/// Collects stories.
#[derive(Debug)]
pub struct Storyteller {
    asked: StoriesAsked,
    flusher: SubmitterId,
    /// Each disk by its number, and the one that is spoken of.
    disks: Vec<WatchedDisk>,
    at: usize,
    /// By the world's name.
    open: Vec<Option<OpenIo>>,
    begun: u64,
    transfers: Transfers,
    calls: usize,
    blame: Blame,
    /// How long each submitter's calls waited until a write of the journal's had reached its deadline.
    deadlines: BTreeMap<SubmitterId, Span>,
    stories: Vec<Story>,
    /// Of each process asked for its slowest of the whole run.
    slowest_of: BTreeMap<SubmitterId, Story>,
    matched: u64,
    next_forget: usize,
    /// The last story, if each is taken as it comes.
    latest: Option<Story>,
    keeps_latest: bool,
}

/// The timeline is searched for unneeded parts whenever it has doubled since the last search.
const FIRST_LOOK: usize = 4096;

impl Storyteller {
    /// A teller that has seen nothing yet; `flusher` is the submitter of write-back, and `parts` the number of parts of
    /// the disk.
    pub fn new(asked: StoriesAsked, flusher: SubmitterId, parts: u32) -> Storyteller {
        Storyteller {
            asked,
            flusher,
            disks: vec![WatchedDisk::new(parts)],
            at: 0,
            open: Vec::new(),
            begun: 0,
            transfers: Transfers::default(),
            calls: 0,
            blame: Blame::default(),
            deadlines: BTreeMap::new(),
            stories: Vec::new(),
            slowest_of: BTreeMap::new(),
            matched: 0,
            next_forget: FIRST_LOOK,
            latest: None,
            keeps_latest: false,
        }
    }

    /// The same beside another disk of so many parts.
    pub fn beside(mut self, parts: u32) -> Storyteller {
        self.disks.push(WatchedDisk::new(parts));
        self
    }

    fn here(&mut self) -> &mut WatchedDisk {
        &mut self.disks[self.at]
    }

    /// From now on, keeps the last story for [`latest`](Storyteller::latest).
    pub fn keep_latest(&mut self) {
        self.keeps_latest = true;
    }

    /// The story that the last event ended.
    pub fn latest(&mut self) -> Option<Story> {
        self.latest.take()
    }

    /// The stories asked for, the slowest first.
    pub fn stories(&self) -> &[Story] {
        &self.stories
    }

    /// The slowest story of each process asked for, of the whole run.
    pub fn slowest_of_each(&self) -> impl Iterator<Item = &Story> {
        self.slowest_of.values()
    }

    /// What has begun and not ended, of the processes asked for, and when it began.
    pub fn unfinished(&self) -> impl Iterator<Item = (&Begun, Instant)> {
        let is_own = |io: &&OpenIo| io.begun.kind != IoRoute::Transfer && self.asked.is_of(io.begun.by);
        self.open.iter().flatten().filter(is_own).map(|io| (&io.begun, io.begun_at))
    }

    /// Which stories are wanted.
    pub fn asked(&self) -> &StoriesAsked {
        &self.asked
    }

    /// Which process waited for which.
    pub fn blame(&self) -> &Blame {
        &self.blame
    }

    /// How long this submitter's calls waited, in all, while a write of the journal's stood in the elevator until its
    /// deadline.
    pub fn until_deadline(&self, by: SubmitterId) -> Span {
        self.deadlines.get(&by).copied().unwrap_or(Span::ZERO)
    }

    /// How many completed I/Os met the conditions.
    pub fn matched(&self) -> u64 {
        self.matched
    }

    /// The submitter of write-back.
    pub fn flusher(&self) -> SubmitterId {
        self.flusher
    }

    /// The number of I/Os in flight, and of segments of the timeline.
    pub fn kept(&self) -> (usize, usize) {
        (self.open.iter().flatten().count(), self.segments())
    }

    /// The number of segments of all timelines.
    fn segments(&self) -> usize {
        self.disks.iter().map(|disk| disk.timeline.len()).sum()
    }

    /// What a look for unneeded parts may free: segments, and the transfers of calls.
    fn history(&self) -> usize {
        self.segments() + self.transfers.len()
    }

    fn track(&mut self, rq: RequestId) -> &mut Track {
        let tracks = &mut self.here().tracks;
        if tracks.len() <= rq.index() {
            tracks.resize(rq.index() + 1, Track::default());
        }
        &mut tracks[rq.index()]
    }

    fn open(&mut self, io: IoId) -> Option<&mut OpenIo> {
        self.open.get_mut(io.0 as usize)?.as_mut()
    }

    fn began(&mut self, at: Instant, begun: Begun) {
        let place = begun.io.0 as usize;
        if self.open.len() <= place {
            self.open.resize(place + 1, None);
        }
        // Transfers are told as part of the calls that wait for them.
        let nth = if begun.kind == IoRoute::Transfer { 0 } else { self.begun + 1 };
        self.begun = self.begun.max(nth);
        self.calls += usize::from(begun.kind == IoRoute::Call);
        self.open[place] = Some(OpenIo {
            nth,
            begun,
            begun_at: at,
            reached_at: None,
            entered_at: None,
            path: None,
            max: None,
            disk: 0,
            asks: begun.by,
            of: None,
            is_stacked: false,
        });
    }

    /// A part of an I/O begins; what becomes of it is told as the whole's.
    fn parted(&mut self, at: Instant, part: IoId, of: IoId) {
        let Some(whole) = self.open(of) else { return };
        whole.is_stacked = true;
        let begun = Begun { io: part, kind: IoRoute::Transfer, ..whole.begun };
        self.began(at, begun);
        if let Some(part) = self.open(part) {
            part.of = Some(of);
        }
    }

    /// The last part that lands is what the whole has waited for.
    fn part_landed(&mut self, part: OpenIo, of: IoId) {
        let OpenIo { entered_at, path, max, disk, asks, .. } = part;
        if let Some(whole) = self.open(of) {
            (whole.entered_at, whole.path, whole.max, whole.disk, whole.asks) = (entered_at, path, max, disk, asks);
        }
    }

    fn heard(&mut self, at: Instant, reason: Reason) {
        match reason {
            Reason::Inserted { rq, .. } => {
                let track = self.track(rq);
                if !track.is_queued {
                    track.queued_at = track.queued_at.or(Some(at));
                    track.is_queued = true;
                }
            }
            Reason::Coalesced { into, victim } => {
                let gone = core::mem::take(self.track(victim));
                let into = self.track(into);
                into.queued_at = into.queued_at.into_iter().chain(gone.queued_at).min();
            }
            Reason::Issued { rq, dir, sectors, submitter } => {
                let nth = self.here().timeline.start(at);
                let issued = DoneCommand { whose: whose(sectors, submitter), dir, issued_at: at, nth };
                let track = self.track(rq);
                (track.issued, track.is_queued) = (Some(issued), false);
                track.ios.clear();
            }
            Reason::BatchBegan { rq, why: BatchStart::Expired { .. }, .. } => self.track(rq).expired = true,
            Reason::Completed { rq, .. } => self.ended(at, rq, StayEnded::Done),
            Reason::Requeued { rq } => self.ended(at, rq, StayEnded::Requeued),
            Reason::HeldByPolicy { submitter, by } => self.here().held = Some((submitter, by)),
            Reason::Slept { submitter, .. } => {
                let why = match self.here().held.take() {
                    Some((held, by)) if held == submitter => Keeps::Policy(by),
                    _ => Keeps::Slot,
                };
                self.here().naps.entry(submitter).or_default().push(Nap { from: at, to: None, why });
            }
            Reason::Woke { submitter } => {
                let naps = self.here().naps.entry(submitter).or_default();
                naps.iter_mut().filter(|nap| nap.to.is_none()).for_each(|nap| nap.to = Some(at));
            }
            Reason::PassedMax { submitter, .. } => {
                let kept = self.here().kept.entry(submitter).or_default();
                let first = (!kept.is_empty()).then(|| kept.remove(0));
                if let Some(open) = first.and_then(|io| self.open(io)) {
                    open.max.iter_mut().for_each(|nap| nap.to = Some(at));
                }
            }
            Reason::QueueMerged { submitter, into } => drop(self.here().shares.insert(submitter, into)),
            Reason::QueueSplit { submitter } => drop(self.here().shares.remove(&submitter)),
            _ => {}
        }
        self.here().timeline.hear(at, reason);
    }

    /// The disk is done with it, but the processor that handles the interrupt is not.
    fn served(&mut self, at: Instant, rq: RequestId, service: Activity) {
        let track = self.track(rq);
        track.served = Some((at, service));
        if let Some(issued) = track.issued {
            self.here().timeline.stop(at, issued);
        }
    }

    fn ended(&mut self, at: Instant, rq: RequestId, how: StayEnded) {
        let track = self.track(rq);
        let Some(issued) = track.issued.take() else { return };
        let DoneCommand { dir, issued_at, nth, .. } = issued;
        let served = track.served.take();
        let (ended_at, service) = (served.map_or(at, |(at, _)| at), served.map(|(_, service)| service));
        track.stays.push(Stay { issued_at, ended_at, noticed_at: at, nth, service });
        if served.is_none() {
            self.here().timeline.stop(at, issued);
        }
        let track = self.track(rq);
        if how == StayEnded::Requeued {
            // The queue has it again, as before.
            track.is_queued = true;
            return;
        }
        let track = core::mem::take(track);
        let path = Rc::new(Path { dir, queued_at: track.queued_at, stays: track.stays, expired: track.expired });
        for io in track.ios {
            if let Some(open) = self.open(io) {
                open.path = Some(path.clone());
            }
        }
    }

    /// What a disk's only part works for is what all wait for; with several parts, nothing follows from one.
    fn works(&mut self, stint: &Stint) {
        if self.here().parts > 1 {
            return;
        }
        let cached = |whose| DoneCommand { whose, dir: Dir::Write, issued_at: stint.from, nth: CACHED };
        let done = match stint.work {
            StintWork::Command(rq) => self.track(rq).issued,
            StintWork::Cached(submitter) => Some(cached(Whose::Process(submitter))),
            StintWork::Upkeep => Some(cached(Whose::Nobody)),
        };
        if let Some(done) = done {
            self.here().timeline.works(stint.from, stint.until, done);
        }
    }

    fn landed(&mut self, at: Instant, io: IoId) {
        let Some(open) = self.open.get_mut(io.0 as usize).and_then(Option::take) else { return };
        if let Some(of) = open.of {
            return self.part_landed(open, of);
        }
        let OpenIo { nth, begun, begun_at, .. } = open;
        let (pieces, journal) = match begun.kind {
            IoRoute::Call => self.call(begun, begun_at, at),
            IoRoute::Direct | IoRoute::Transfer => (self.way(at, &open), ForJournal::default()),
        };
        match begun.kind {
            IoRoute::Transfer if self.calls > 0 => {
                let expired = open.path.as_ref().is_some_and(|path| path.expired);
                // A call may wait for what any device's flusher writes.
                let by = if Host::is_flusher(self.flusher, begun.by) { self.flusher } else { begun.by };
                let is_metadata = by != self.flusher && (begun.is_metadata || by == SubmitterId(self.flusher.0 + 1));
                self.transfers.landed(by, Landed { pieces, expired, is_metadata });
            }
            IoRoute::Transfer => {}
            IoRoute::Direct | IoRoute::Call => {
                self.calls -= usize::from(begun.kind == IoRoute::Call);
                self.blame.add(begun.by, &pieces);
                *self.deadlines.entry(begun.by).or_default() += journal.until_deadline;
                self.keep(Story { nth, begun, begun_at, landed_at: at, pieces, journal });
            }
        }
        if self.history() >= self.next_forget {
            self.forget(at);
        }
    }

    /// The pieces of a call: the transfers that it waited for, and between them its submitter's naps.
    fn call(&self, begun: Begun, begun_at: Instant, at: Instant) -> (Vec<Piece>, ForJournal) {
        let mut pieces = Vec::new();
        let (told, journal) = self.transfers.pieces((begun.by, begun.op), self.flusher, (begun_at, at));
        for piece in told {
            match piece.part {
                Part::Memory => {
                    // Where it slept meanwhile, if anywhere.
                    let slept = |disk: &&WatchedDisk| {
                        let naps = disk.naps_of(begun.by).iter();
                        naps.rev().any(|nap| nap.from < piece.to && nap.to.is_none_or(|to| to > piece.from))
                    };
                    let disk = self.disks.iter().find(slept).unwrap_or(&self.disks[0]);
                    let kept = in_memory(&disk.timeline, disk.naps_of(begun.by), piece.from, piece.to);
                    kept.into_iter().for_each(|piece| add(&mut pieces, piece));
                }
                _ => add(&mut pieces, piece),
            }
        }
        (pieces, journal)
    }

    fn way(&self, at: Instant, open: &OpenIo) -> Vec<Piece> {
        let by = open.asks;
        let disk = &self.disks[open.disk];
        let max = open.max.map(|nap| vec![nap]);
        let naps = max.as_deref().unwrap_or_else(|| disk.naps_of(by));
        let way = LandedIo {
            timeline: &disk.timeline,
            queue: disk.queue_of(by),
            domain: domain(open.begun.op),
            is_durable: open.begun.is_durable,
            began_at: open.begun_at,
            reached_at: open.reached_at,
            is_stacked: open.is_stacked,
            entered_at: open.entered_at,
            landed_at: at,
            path: open.path.as_deref(),
            naps,
        };
        way.pieces()
    }

    fn keep(&mut self, story: Story) {
        self.latest = self.keeps_latest.then(|| story.clone());
        let by = story.begun.by;
        if self.asked.is_of(by) && self.slowest_of.get(&by).is_none_or(|other| other.latency() < story.latency()) {
            self.slowest_of.insert(by, story.clone());
        }
        if !self.asked.wants(&story) {
            return;
        }
        self.matched += 1;
        let place = self.stories.partition_point(|kept| kept.latency() >= story.latency());
        if place < self.asked.slowest {
            self.stories.insert(place, story);
            self.stories.truncate(self.asked.slowest);
        }
    }

    /// Drops what no I/O in flight may need.
    fn forget(&mut self, now: Instant) {
        let oldest = self.open.iter().flatten().map(|open| open.begun_at).min().unwrap_or(now);
        self.transfers.forget(oldest);
        for disk in &mut self.disks {
            disk.timeline.forget(oldest);
            for naps in disk.naps.values_mut() {
                naps.retain(|nap| nap.to.is_none_or(|to| to >= oldest));
            }
        }
        self.next_forget = (2 * self.history()).max(FIRST_LOOK);
    }
}

/// How a stay in the disk ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StayEnded {
    Done,
    Requeued,
}

impl Onlooker for Storyteller {
    fn sees(&mut self, at: Instant, what: &Happening) {
        match *what {
            Happening::Began(begun) => self.began(at, begun),
            Happening::Entered { bio } => {
                let disk = self.at;
                if let Some(open) = self.open(IoId(bio.tag.0)) {
                    (open.entered_at, open.disk, open.asks) = (Some(at), disk, bio.submitter);
                }
                // An `io.max` reason that comes before the bio's result is about this bio.
                self.here().held = None;
            }
            Happening::Heard(Reason::HeldByMax { submitter, group }) => {
                let newest = self.open.iter_mut().flatten();
                let newest = newest.filter(|open| open.begun.by == submitter && open.entered_at == Some(at));
                if let Some(open) = newest.filter(|open| open.max.is_none()).last() {
                    open.max = Some(Nap { from: at, to: None, why: Keeps::Max(group) });
                    let io = open.begun.io;
                    self.here().kept.entry(submitter).or_default().push(io);
                }
            }
            Happening::Heard(reason) => self.heard(at, reason),
            Happening::Parted { part, of } => self.parted(at, part, of),
            Happening::Reached { io } => {
                if let Some(open) = self.open(io) {
                    open.reached_at = Some(at);
                }
            }
            Happening::Carried { rq, io } => self.track(rq).ios.push(io),
            Happening::Served { rq, service } => self.served(at, rq, service),
            Happening::Landed { io } => self.landed(at, io),
            Happening::Works { stint } => self.works(&stint),
            Happening::Turned { disk } => self.at = disk.index(),
            Happening::Taken { .. } | Happening::Started { .. } => {}
        }
    }
}

/// The Kyber domain of an operation.
fn domain(op: Op) -> Domain {
    match op {
        Op::Read => Domain::Read,
        Op::Write => Domain::Write,
        Op::Discard => Domain::Discard,
        _ => Domain::Other,
    }
}
