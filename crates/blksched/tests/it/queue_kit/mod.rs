//! Helpers of the block queue's tests: a queue with its log, and an elevator that does as it is told.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use blksched::FlightKey;
use blksched::author::merge::Merging;
use blksched::author::{
    Admission, Admits, Cx, DeviceFacts, Dispatch, Elevator, Grouped, Insert, Lookup, Merges, Neighbours, RequestId,
    Requests, Run, Tuned,
};
use blksched::reasons::End;
use blksched::{
    Bio, BlockQueue, Catalogue, Class, Command, Delivery, Dir, Durability, InFlight, Instant, Next, Outcome, Priority,
    QueueConfig, Reason, Sector, Span, Submitted, SubmitterId, Tag,
};

pub const ME: SubmitterId = SubmitterId(1);
pub const YOU: SubmitterId = SubmitterId(2);
pub const WHO: SubmitterId = SubmitterId(3);

pub const REAL_TIME: Priority = Priority { class: Class::RealTime, level: 4 };

/// `ms` after the beginning.
pub fn at_ms(ms: u64) -> Instant {
    Instant::ZERO + Span::from_ms(ms)
}

/// The first sectors issued before any completion.
pub fn issued_at_once(rig: &mut Rig) -> Vec<u64> {
    let mut order = Vec::new();
    while let Next::Issue(command) = rig.next() {
        order.push(command.start.0);
    }
    order
}

/// The first sectors issued until the disk is left idle, one request at a time, each taking a millisecond.
pub fn one_per_ms(rig: &mut Rig) -> Vec<u64> {
    let mut order = Vec::new();
    while let Next::Issue(command) = rig.next() {
        order.push(command.start.0);
        rig.now += Span::from_ms(1);
        rig.complete(command.rq);
    }
    order
}

/// A queue, its log, and the time.
pub struct Rig {
    pub queue: BlockQueue<Vec<(Instant, Reason)>>,
    pub now: Instant,
    next_tag: u64,
    /// The requests in the device, for tests that refer to them.
    in_flight: BTreeMap<RequestId, FlightKey>,
}

impl Rig {
    /// With an elevator of the catalogue and no limits but `config`.
    pub fn new(spec: &str, config: QueueConfig) -> Rig {
        Rig::with(Catalogue::builtin().build(spec).expect("it exists").elevator, config)
    }

    pub fn with(elevator: Box<dyn Elevator>, config: QueueConfig) -> Rig {
        let queue = BlockQueue::with_listener(config, elevator, Vec::new());
        Rig { queue, now: Instant::ZERO, next_tag: 0, in_flight: BTreeMap::new() }
    }

    pub fn submit(&mut self, bio: Bio) -> Submitted {
        let became = self.queue.submit(self.now, Bio { tag: Tag(self.next_tag), ..bio });
        self.next_tag += 1;
        self.queue.check();
        became
    }

    /// A read of mine.
    pub fn read(&mut self, start: u64, sectors: u32) -> Submitted {
        self.submit(Bio::read(0, ME, Sector(start), sectors))
    }

    /// A write of mine.
    pub fn write(&mut self, start: u64, sectors: u32) -> Submitted {
        self.submit(Bio::write_back(0, ME, Sector(start), sectors))
    }

    pub fn read_by(&mut self, who: SubmitterId, start: u64, sectors: u32) -> Submitted {
        self.submit(Bio::read(0, who, Sector(start), sectors))
    }

    pub fn write_by(&mut self, who: SubmitterId, start: u64, sectors: u32) -> Submitted {
        self.submit(Bio::write_back(0, who, Sector(start), sectors))
    }

    /// A read that must become a request of its own.
    pub fn new_read(&mut self, start: u64, sectors: u32) -> RequestId {
        inserted(self.read(start, sectors))
    }

    /// A write that must become a request of its own.
    pub fn new_write(&mut self, start: u64, sectors: u32) -> RequestId {
        inserted(self.write(start, sectors))
    }

    /// Reads of 8 sectors, each a request of its own.
    pub fn reads<const N: usize>(&mut self, starts: [u64; N]) {
        for start in starts {
            self.new_read(start, 8);
        }
    }

    /// Reads of 8 sectors by a process of the real-time class, each a request of its own.
    pub fn real_time_reads<const N: usize>(&mut self, starts: [u64; N]) {
        for start in starts {
            inserted(self.submit(Bio { priority: REAL_TIME, ..Bio::read(0, YOU, Sector(start), 8) }));
        }
    }

    /// Writes of 8 sectors, each a request of its own.
    pub fn writes<const N: usize>(&mut self, starts: [u64; N]) {
        for start in starts {
            self.new_write(start, 8);
        }
    }

    pub fn next(&mut self) -> Next {
        let next = self.queue.next(self.now);
        if let Next::Issue(command) = &next {
            self.in_flight.insert(command.rq, command.key());
        }
        self.queue.check();
        next
    }

    /// The next command, which must exist.
    pub fn issue(&mut self) -> Command {
        match self.next() {
            Next::Issue(command) => command.command(),
            other => panic!("expected a command, not {other:?}"),
        }
    }

    pub fn complete(&mut self, rq: RequestId) {
        self.end(rq, Outcome::Ok);
    }

    pub fn end(&mut self, rq: RequestId, outcome: Outcome) {
        let command = self.taken_from_device(rq);
        self.queue.complete(self.now, command, outcome);
        self.queue.check();
    }

    pub fn requeue(&mut self, rq: RequestId) {
        let command = self.taken_from_device(rq);
        self.queue.requeue(self.now, command);
    }

    fn taken_from_device(&mut self, rq: RequestId) -> InFlight {
        let key = self.in_flight.remove(&rq).expect("the device has it");
        self.queue.in_flight_as(key).expect("it is in flight")
    }

    /// Issues and completes one request; returns its first sector and length.
    pub fn serve(&mut self) -> (u64, u32) {
        let command = self.issue();
        self.complete(command.rq);
        (command.start.0, command.sectors)
    }

    /// Issues everything queued; returns first sectors in the order of issue.
    pub fn drain(&mut self) -> Vec<u64> {
        self.drain_whole().into_iter().map(|(start, _)| start).collect()
    }

    /// Issues everything queued; returns first sectors and lengths in the order of issue.
    pub fn drain_whole(&mut self) -> Vec<(u64, u32)> {
        let mut order = Vec::new();
        while let Next::Issue(command) = self.next() {
            order.push((command.start.0, command.sectors));
            self.complete(command.rq);
        }
        order
    }

    /// The log since the last call.
    pub fn heard(&mut self) -> Vec<Reason> {
        self.heard_when().into_iter().map(|(_, reason)| reason).collect()
    }

    pub fn heard_when(&mut self) -> Vec<(Instant, Reason)> {
        std::mem::take(self.queue.listener_mut())
    }

    pub fn delivered(&mut self) -> Vec<Delivery> {
        self.queue.deliveries().collect()
    }

    /// The tags of the bios completed since the last call, with their outcomes.
    pub fn done(&mut self) -> Vec<(u64, Outcome)> {
        let done = |delivery| match delivery {
            Delivery::Done { tag, outcome } => Some((tag.0, outcome)),
            Delivery::Awake(_) | Delivery::Runnable(_) => None,
        };
        self.delivered().into_iter().filter_map(done).collect()
    }

    /// The submitters woken since the last call.
    pub fn awake(&mut self) -> Vec<SubmitterId> {
        let awake = |delivery| match delivery {
            Delivery::Awake(submitter) => Some(submitter),
            Delivery::Done { .. } | Delivery::Runnable(_) => None,
        };
        self.delivered().into_iter().filter_map(awake).collect()
    }

    /// A request's first sector and length.
    pub fn extent(&self, rq: RequestId) -> (u64, u32) {
        let request = &self.queue.requests()[rq];
        (request.start.0, request.sectors)
    }
}

/// The new request that a submission must have resulted in.
pub fn inserted(became: Submitted) -> RequestId {
    match became {
        Submitted::Inserted(rq) => rq,
        other => panic!("expected a new request, not {other:?}"),
    }
}

/// The request that a submission must have joined.
pub fn joined(became: Submitted) -> RequestId {
    match became {
        Submitted::Merged { into, .. } => into,
        other => panic!("expected a merge, not {other:?}"),
    }
}

pub fn back(into: RequestId) -> Submitted {
    Submitted::Merged { into, end: End::Back }
}

pub fn front(into: RequestId) -> Submitted {
    Submitted::Merged { into, end: End::Front }
}

pub const PREFLUSH: Durability = Durability { preflush: true, fua: false };
pub const FUA: Durability = Durability { preflush: false, fua: true };

/// A write of mine that must be durable in this way.
pub fn durable(start: u64, sectors: u32, durability: Durability) -> Bio {
    Bio { durability, ..Bio::write(0, ME, Sector(start), sectors) }
}

/// The calls that [`Plain`] received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Insert(RequestId),
    Dispatch,
    Complete(RequestId),
    Prepare(RequestId),
    Unprepare(RequestId),
    Absorbed(RequestId),
    Requeue(RequestId),
    MayMerge(RequestId),
}

/// First in, first out; neighbours and front look-up by sector; everything else as configured.
#[derive(Clone)]
pub struct Plain {
    pub merging: Merging,
    /// Requests in this direction may take only this many tags per word.
    pub shallow: Option<(Dir, u32)>,
    /// The run that it requests at an insertion.
    pub wish: Run,
    /// Whether it reports no work even if it has some.
    pub modest: bool,
    /// Nothing may join this request.
    pub refuses: Option<RequestId>,
    pub told: Arc<Mutex<Vec<Told>>>,
    /// By age, with first sectors.
    pub queue: Vec<(RequestId, Dir, Sector)>,
}

impl Plain {
    pub fn new(merging: Merging) -> Plain {
        Plain {
            merging,
            shallow: None,
            wish: Run::No,
            modest: false,
            refuses: None,
            told: Arc::default(),
            queue: Vec::new(),
        }
    }

    pub fn boxed(&self) -> Box<dyn Elevator> {
        Box::new(self.clone())
    }

    fn hear(&self, told: Told) {
        self.told.lock().unwrap().push(told);
    }

    fn drop(&mut self, rq: RequestId) {
        self.queue.retain(|&(queued, ..)| queued != rq);
    }
}

impl Elevator for Plain {
    fn insert(&mut self, cx: &mut Cx<'_>, rq: RequestId, _at: Insert) -> Run {
        self.hear(Told::Insert(rq));
        self.queue.push((rq, cx.rq(rq).dir(), cx.rq(rq).start));
        self.wish
    }

    fn dispatch(&mut self, _cx: &mut Cx<'_>) -> Dispatch {
        self.hear(Told::Dispatch);
        if self.queue.is_empty() { Dispatch::Empty } else { Dispatch::Issue(self.queue.remove(0).0) }
    }

    fn complete(&mut self, _cx: &mut Cx<'_>, rq: RequestId) -> Run {
        self.hear(Told::Complete(rq));
        Run::No
    }

    fn has_work(&self) -> bool {
        !self.modest && !self.queue.is_empty()
    }

    fn absorbed(&mut self, _cx: &mut Cx<'_>, _into: RequestId, victim: RequestId) {
        self.hear(Told::Absorbed(victim));
        self.drop(victim);
    }

    fn requeue(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        self.hear(Told::Requeue(rq));
        self.queue.insert(0, (rq, cx.rq(rq).dir(), cx.rq(rq).start));
    }

    fn check(&self, requests: &Requests) {
        assert!(self.queue.iter().all(|&(rq, ..)| requests.is_live(rq)));
    }
}

impl Merges for Plain {
    fn prepare(&mut self, _cx: &mut Cx<'_>, rq: RequestId) {
        self.hear(Told::Prepare(rq));
    }

    fn unprepare(&mut self, _cx: &mut Cx<'_>, rq: RequestId) {
        self.hear(Told::Unprepare(rq));
    }

    fn merging(&self) -> Merging {
        self.merging
    }

    fn may_merge(&mut self, _cx: &mut Cx<'_>, rq: RequestId, _bio: &Bio) -> bool {
        self.hear(Told::MayMerge(rq));
        self.refuses != Some(rq)
    }

    fn look_up(&mut self, _cx: &mut Cx<'_>, bio: &Bio) -> Lookup {
        let found = self.queue.iter().find(|&&(_, dir, start)| dir == bio.dir() && start == bio.end());
        found.map_or(Lookup::Nothing, |&(rq, ..)| Lookup::Front(rq))
    }

    fn newest(&self, _bio: &Bio, than: Option<RequestId>) -> Option<RequestId> {
        let mut newest = self.queue.iter().rev().map(|&(rq, ..)| rq);
        match than {
            Some(than) => newest.by_ref().find(|&rq| rq == than).and_then(|_| newest.next()),
            None => newest.next(),
        }
    }

    fn neighbours(&self, rq: RequestId) -> Neighbours {
        let Some(&(_, dir, at)) = self.queue.iter().find(|&&(queued, ..)| queued == rq) else {
            return Neighbours::default();
        };
        let same = || self.queue.iter().filter(|&&(_, other, _)| other == dir);
        let before = same().filter(|&&(.., start)| start < at).max_by_key(|&&(.., start)| start);
        let behind = same().filter(|&&(.., start)| start > at).min_by_key(|&&(.., start)| start);
        Neighbours { before: before.map(|&(rq, ..)| rq), behind: behind.map(|&(rq, ..)| rq) }
    }

    fn grown(&mut self, cx: &mut Cx<'_>, rq: RequestId, _end: End) {
        if let Some(entry) = self.queue.iter_mut().find(|&&mut (queued, ..)| queued == rq) {
            entry.2 = cx.rq(rq).start;
        }
    }
}

impl Admits for Plain {
    fn shallowest(&self, _device: &DeviceFacts) -> Option<u32> {
        self.shallow.map(|(_, depth)| depth)
    }

    fn admit(&mut self, _cx: &mut Cx<'_>, bio: &Bio) -> Admission {
        match self.shallow {
            Some((dir, per_word)) if dir == bio.dir() => Admission::Shallow(per_word),
            _ => Admission::Unlimited,
        }
    }
}

impl Grouped for Plain {}
impl Tuned for Plain {}
