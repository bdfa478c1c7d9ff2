//! A running kernel's decisions against ours: the block events of a tracefs instance, played to one of our elevators.
//!
//! **Rule** Every insert and completion of the trace is given to the elevator at its moment; at every issue it is
//! asked, and its answer compared with the kernel's. After a difference both continue: requests that one has sent ahead
//! of the other are remembered until the other sends them too, and are not counted again.
//!
//! A trace does not show everything. A request may have grown by bios whose merges are not traced; times are in
//! microseconds; inserts of another CPU may appear after a decision that was made without them; and a kernel whose
//! device has no tag left may still take a request from the elevator, and hold it until a tag is free. So each
//! difference is classified, and only what the trace determines counts against us.

use std::collections::{BTreeMap, BTreeSet};

use blksched::author::{RequestId, Stage, Waiter};
use blksched::tunables::KnobError;
use blksched::{
    Bio, BlockQueue, Choice, Class, Durability, InFlight, Instant, Limits, Next, Op, Outcome, Priority, QueueConfig,
    Sector, Slots, Submitted, SubmitterId, Tag,
};
use blksched_traces::tracefs::{TracefsEvent, TracefsLine};

/// The recorded queue's limits and knobs.
#[derive(Clone, Debug)]
pub struct RecordedSurroundings {
    /// Its `nr_requests`.
    pub nr_requests: u32,
    /// The number of requests its device accepts at a time (`nr_tags`).
    pub tags: u32,
    /// Whether it is rotational.
    pub rotational: bool,
    /// The raw values of its knobs that differ from the elevator's defaults.
    pub knobs: Vec<(String, i64)>,
}

/// How many decisions agree, and how the others are classified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Requests that the kernel issued.
    pub issued: u32,
    /// Requests that our elevator chose at the same moment.
    pub agreed: u32,
    /// Requests issued by both, by one a little earlier because of a previous difference.
    pub caught_up: u32,
    /// Differences between events within [`RACE_US`] whose order the trace does not show: two CPUs' issues, or another
    /// CPU's insert and the decision.
    pub raced: u32,
    /// Requests taken while the device had no tag left, at an earlier moment that the trace does not show; asked then,
    /// our elevator chose the same.
    pub held: u32,
    /// Requests issued without an insert in the trace (the recording began later, or the request bypassed the
    /// elevator).
    pub unseen: u32,
    /// Differences that nothing in the trace explains.
    pub ours: Vec<Difference>,
}

/// A decision that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The line of the trace, counting only block events, from 1.
    pub line: usize,
    /// The time \[us\].
    pub time_us: u64,
    /// The first sector of the request that the kernel issued.
    pub kernel: u64,
    /// What we would have done.
    pub ours: String,
}

/// Two CPUs' events closer than this may be recorded in the wrong order \[us\].
pub const RACE_US: u64 = 50;
/// The number of requests that may wait for a tag at a time, one per queue run that found none.
const SWAPPED: u32 = 4;

impl Agreement {
    /// The share of agreement among the decisions that the trace determines.
    pub fn share(&self) -> f64 {
        let determined = self.agreed as usize + self.ours.len();
        if determined == 0 { 0.0 } else { f64::from(self.agreed) / determined as f64 }
    }
}

/// Plays the lines of one device to the elevator.
///
/// # Errors
/// If the elevator has no such knob.
pub fn compare(
    lines: &[TracefsLine],
    elevator: &Choice,
    recorded: &RecordedSurroundings,
) -> Result<Agreement, KnobError> {
    let mut taken = Taken::new();
    let mut unexplained = BTreeSet::new();
    loop {
        let mut agreement = play(lines, elevator, recorded, &taken)?;
        let next = agreement.ours.iter().map(|difference| difference.line).find(|line| !unexplained.contains(line));
        let Some(line) = next.filter(|_| unexplained.len() < ENOUGH) else {
            agreement.held += taken.len() as u32;
            agreement.agreed -= taken.len() as u32;
            return Ok(agreement);
        };
        if !explain(lines, elevator, recorded, line, &mut taken)? {
            unexplained.insert(line);
        }
    }
}

/// Issues by line, each with the line after which the request was taken from the elevator.
type Taken = BTreeMap<usize, usize>;

/// After this many unexplained differences the others are not examined, as they follow from these.
const ENOUGH: usize = 10;
/// How many moments are tried for one issue, beginning with the request's own insert, when it was most likely taken.
const MOMENTS: usize = 24;

/// Searches a moment at which the elevator would have chosen the request that the kernel issued in `line`: after the
/// last decision, while the device had no tag left. If there is one, it is put into `taken`.
fn explain(
    lines: &[TracefsLine],
    elevator: &Choice,
    recorded: &RecordedSurroundings,
    line: usize,
    taken: &mut Taken,
) -> Result<bool, KnobError> {
    let flying = in_flight(&lines[..line]);
    let issued = &lines[line - 1];
    let within = issued.sector..issued.sector + u64::from(issued.sectors.max(1));
    let is_theirs =
        |nth: &usize| lines[nth - 1].event == TracefsEvent::Insert && within.contains(&lines[nth - 1].sector);
    let Some(inserted) = (1..line).rev().find(is_theirs) else { return Ok(false) };
    let before = (1..line).rev().find(|nth| lines[nth - 1].event == TracefsEvent::Issue).unwrap_or(1);
    let decided = taken.get(&before).copied().unwrap_or(before);
    // Only an insert can have changed the choice, so a moment is right before one; or at once, since the run that sent
    // the last request continued until no tag was left.
    let went_on = |nth: usize| nth == decided || nth == before;
    let changes =
        |&nth: &usize| flying[nth - 1] >= recorded.tags && (went_on(nth) || lines[nth].event == TracefsEvent::Insert);
    let moments = (inserted.max(decided)..line - 1).filter(changes).take(MOMENTS);
    for moment in moments {
        taken.insert(line, moment);
        let again = play(&lines[..line], elevator, recorded, taken)?;
        if again.ours.last().is_none_or(|difference| difference.line != line) {
            return Ok(true);
        }
    }
    taken.remove(&line);
    Ok(false)
}

/// The number of requests in the device after each line.
fn in_flight(lines: &[TracefsLine]) -> Vec<u32> {
    let count = |flying: &mut u32, line: &TracefsLine| {
        *flying = match line.event {
            TracefsEvent::Issue => *flying + 1,
            TracefsEvent::Complete => flying.saturating_sub(1),
            _ => *flying,
        };
        Some(*flying)
    };
    lines.iter().scan(0, count).collect()
}

/// Plays the lines once.
fn play(
    lines: &[TracefsLine],
    elevator: &Choice,
    recorded: &RecordedSurroundings,
    taken: &Taken,
) -> Result<Agreement, KnobError> {
    let mut early: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (&issued, &behind) in taken {
        early.entry(behind).or_default().push(issued);
    }
    let mut player = Player::new(lines, elevator, recorded)?;
    for (nth, line) in (1..).zip(lines) {
        player.step(nth, line);
        for &issued in early.get(&nth).into_iter().flatten() {
            let answer = player.queue.next(player.clock);
            player.held.insert(issued, answer);
        }
    }
    Ok(player.agreement)
}

/// The replay of a trace through a queue.
struct Player {
    queue: BlockQueue,
    /// Live requests by first sector, and back.
    by_sector: BTreeMap<u64, RequestId>,
    inserted: BTreeMap<RequestId, Inserted>,
    /// Requests that we have issued and the kernel has not; `behind`: the reverse.
    ahead: Vec<IssuedEarly>,
    behind: Vec<RequestId>,
    tags: u32,
    /// The number of requests issued by the kernel and not completed.
    in_flight: u32,
    /// The tokens of the requests that we have issued.
    tokens: BTreeMap<RequestId, InFlight>,
    /// Answers obtained in advance, by the line of the kernel's issue.
    held: BTreeMap<usize, Next>,
    agreement: Agreement,
    clock: Instant,
}

/// A request that we issued when the kernel issued another.
#[derive(Clone, Copy)]
struct IssuedEarly {
    rq: RequestId,
    /// The line, time and number of the issue, and the CPU that decided.
    line: usize,
    nth: u32,
    time_us: u64,
    cpu: u32,
}

#[derive(Clone, Copy)]
struct Inserted {
    sector: u64,
    time_us: u64,
    cpu: u32,
}

impl Player {
    fn new(lines: &[TracefsLine], elevator: &Choice, recorded: &RecordedSurroundings) -> Result<Player, KnobError> {
        // One bio is one request: merges of bios are not traced, and a request's growth does not change its place in
        // any order.
        let limits = Limits { max_segments: 1, rotational: recorded.rotational, ..Limits::default() };
        let slots = Slots::Unbounded { nr_requests: recorded.nr_requests };
        let born = Instant::from_ns(lines.first().map_or(0, |line| line.time_us) * 1000);
        let config = QueueConfig { limits, depth: u32::MAX, slots, born, ..QueueConfig::default() };
        let mut queue = BlockQueue::new(config, elevator.build().elevator);
        for (knob, raw) in &recorded.knobs {
            queue.set(born, knob, *raw)?;
        }
        Ok(Player {
            queue,
            by_sector: BTreeMap::new(),
            inserted: BTreeMap::new(),
            ahead: Vec::new(),
            behind: Vec::new(),
            tags: recorded.tags,
            in_flight: 0,
            tokens: BTreeMap::new(),
            held: BTreeMap::new(),
            agreement: Agreement::default(),
            clock: born,
        })
    }

    fn step(&mut self, nth: usize, line: &TracefsLine) {
        // Lines of two CPUs may be slightly out of order.
        self.clock = self.clock.max(Instant::from_ns(line.time_us * 1000));
        match line.event {
            TracefsEvent::Insert => self.insert(nth, line),
            TracefsEvent::Issue => {
                self.issue(nth, line);
                self.in_flight += 1;
            }
            TracefsEvent::Complete => {
                self.in_flight = self.in_flight.saturating_sub(1);
                self.complete(line);
            }
            TracefsEvent::BioQueue
            | TracefsEvent::Remap
            | TracefsEvent::BioComplete
            | TracefsEvent::Merge
            | TracefsEvent::Requeue => {}
        }
        self.queue.deliveries().for_each(drop);
    }

    fn insert(&mut self, nth: usize, line: &TracefsLine) {
        let Some(bio) = bio(nth, line) else { return };
        if let Submitted::Inserted(rq) = self.queue.submit(self.clock, bio) {
            self.by_sector.insert(line.sector, rq);
            self.inserted.insert(rq, Inserted { sector: line.sector, time_us: line.time_us, cpu: line.cpu });
        }
    }

    /// Compares a request that the kernel issued with our decision.
    fn issue(&mut self, nth: usize, line: &TracefsLine) {
        self.agreement.issued += 1;
        let Some(theirs) = self.request(line) else {
            self.agreement.unseen += 1;
            return;
        };
        if let Some(at) = self.ahead.iter().position(|ahead| ahead.rq == theirs) {
            let ahead = self.ahead.swap_remove(at);
            self.agreement.caught_up += 1;
            self.settle(&ahead, line);
            return;
        }
        loop {
            let answer = self.held.remove(&nth).unwrap_or_else(|| self.queue.next(self.clock));
            let ours = match answer {
                Next::Issue(command) => {
                    let rq = self.keep(command);
                    if rq == theirs {
                        self.agreement.agreed += 1;
                        return;
                    }
                    // The kernel issued it before; now both agree again, so ours is asked once more.
                    if take(&mut self.behind, rq) {
                        continue;
                    }
                    Ok(rq)
                }
                answer => Err(answer),
            };
            self.behind.push(theirs);
            self.differ(nth, line, ours);
            return;
        }
    }

    fn differ(&mut self, nth: usize, line: &TracefsLine, ours: Result<RequestId, Next>) {
        let (time_us, kernel) = (line.time_us, line.sector);
        let difference = |ours: String| Difference { line: nth, time_us, kernel, ours };
        match ours {
            Ok(rq) => {
                let Inserted { sector, time_us, cpu } = self.inserted[&rq];
                self.ahead.push(IssuedEarly {
                    rq,
                    line: nth,
                    nth: self.agreement.issued,
                    time_us: line.time_us,
                    cpu: line.cpu,
                });
                if cpu != line.cpu && line.time_us.saturating_sub(time_us) <= RACE_US {
                    self.agreement.raced += 1;
                } else {
                    self.agreement.ours.push(difference(format!("issue {sector}")));
                }
            }
            Err(answer) => self.agreement.ours.push(difference(format!("{answer:?}"))),
        }
    }

    /// Classifies a difference when the kernel issues a request that we had issued before it. If another CPU did so a
    /// moment later, the two are merely in the wrong order in the trace. If it was among the next few requests, and the
    /// device had no tag left but the one just freed, both had been taken before and were sent in the other order.
    fn settle(&mut self, ahead: &IssuedEarly, line: &TracefsLine) {
        let raced = ahead.cpu != line.cpu && line.time_us.saturating_sub(ahead.time_us) <= RACE_US;
        let swapped = self.agreement.issued - ahead.nth <= SWAPPED && self.in_flight + 1 >= self.tags;
        if !raced && !swapped {
            return;
        }
        let before = self.agreement.ours.len();
        self.agreement.ours.retain(|difference| difference.line != ahead.line);
        let explained = (before - self.agreement.ours.len()) as u32;
        *(if raced { &mut self.agreement.raced } else { &mut self.agreement.held }) += explained;
    }

    /// Completes a request; if we have not issued it yet, it is issued first, so that the counts agree.
    fn complete(&mut self, line: &TracefsLine) {
        let Some(rq) = self.request(line) else { return };
        if self.queue.requests()[rq].stage == Stage::Queued && !self.behind.contains(&rq) {
            // Two requests at one sector: the trace does not say which of them this is.
            return;
        }
        while self.behind.contains(&rq) {
            let Next::Issue(command) = self.queue.next(self.clock) else { return };
            let issued = self.keep(command);
            if !take(&mut self.behind, issued) {
                self.ahead.push(IssuedEarly { rq: issued, line: 0, nth: 0, time_us: line.time_us, cpu: line.cpu });
            }
        }
        let Some(token) = self.tokens.remove(&rq) else { return };
        self.queue.complete(self.clock, token, Outcome::Ok);
        self.inserted.remove(&rq);
        self.by_sector.retain(|_, live| *live != rq);
    }

    fn keep(&mut self, command: InFlight) -> RequestId {
        let rq = command.rq;
        self.tokens.insert(rq, command);
        rq
    }

    /// Our request for the kernel's, which may have grown at its front by bios whose merges the trace does not show.
    fn request(&self, line: &TracefsLine) -> Option<RequestId> {
        let within = line.sector..line.sector + u64::from(line.sectors.max(1));
        self.by_sector.range(within).next().map(|(_, &rq)| rq)
    }
}

/// Removes a request from the list; true if it was there.
fn take(all: &mut Vec<RequestId>, rq: RequestId) -> bool {
    let at = all.iter().position(|&one| one == rq);
    at.map(|at| all.swap_remove(at)).is_some()
}

/// The bio inserted; `None` if it moves no data.
fn bio(nth: usize, line: &TracefsLine) -> Option<Bio> {
    let letters = line.rwbs.trim_start_matches('F');
    let op = match letters.chars().next()? {
        'R' => Op::Read,
        'W' => Op::Write,
        'D' => Op::Discard,
        _ => return None,
    };
    let sync = op == Op::Read || letters.contains('S');
    let priority = line.priority.map_or(Priority::default(), |priority| Priority {
        class: match priority.class {
            "rt" => Class::RealTime,
            "be" => Class::BestEffort,
            "idle" => Class::Idle,
            _ => Class::None,
        },
        level: priority.level,
    });
    (line.sectors > 0).then(|| Bio {
        tag: Tag(nth as u64),
        op,
        start: Sector(line.sector),
        sectors: line.sectors,
        waiter: if sync { Waiter::Sync } else { Waiter::Async },
        priority,
        submitter: SubmitterId(line.pid),
        durability: Durability::default(),
        ..Bio::read(0, SubmitterId(line.pid), Sector(line.sector), line.sectors)
    })
}
