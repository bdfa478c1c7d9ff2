//! A running kernel's decisions against ours: the block events of a tracefs instance, played to one of our elevators.
//!
//! **Rule** Every insert and completion of the trace is given to the elevator at its moment; at every issue it is
//! asked, and its answer compared with the kernel's. After a difference both go on: whatever one has sent ahead of the
//! other is remembered until the other sends it too, and is not counted again.
//!
//! A trace does not show everything. A request may have grown by bios whose merges are no events; moments are
//! microseconds; inserts of another CPU may stand behind a decision that was made without them. So each difference is
//! classified, and only what the trace determines counts against us.

use std::collections::BTreeMap;

use blksched::{
    Bio, BlockQueue, Choice, Class, Durability, Instant, KnobError, Limits, Next, Op, Outcome, Priority, QueueConfig,
    RequestId, Sector, Slots, Submitted, SubmitterId, Tag, Waiter,
};
use blksched_traces::tracefs::{Event, Line};

/// What the recorded queue was like.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Its `nr_requests`.
    pub nr_requests: u32,
    /// Did it say that it turns?
    pub rotational: bool,
    /// Its knobs, raw, where they differ from the elevator's defaults.
    pub knobs: Vec<(String, i64)>,
}

/// How many decisions agree, and what became of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Requests that the kernel issued.
    pub issued: u32,
    /// Our elevator chose the same at that moment.
    pub agreed: u32,
    /// Sent by both, by one a little ahead because of an earlier difference.
    pub caught_up: u32,
    /// The trace does not show which came first, within [`RACE_US`]: two CPUs' issues, or another CPU's insert and the
    /// decision.
    pub raced: u32,
    /// Issued without an insert that the trace holds (the recording began later, or it passed the elevator).
    pub unseen: u32,
    /// Differences that nothing in the trace explains.
    pub ours: Vec<Difference>,
}

/// A decision that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which line of the trace, among those of the block events, from 1.
    pub line: usize,
    /// When \[us\].
    pub time_us: u64,
    /// First sector of the request that the kernel issued.
    pub kernel: u64,
    /// What we would have done.
    pub ours: String,
}

/// Two CPUs' events closer than this may stand in the other order than they happened \[us\].
pub const RACE_US: u64 = 50;

impl Agreement {
    /// The part of the decisions that the trace determines on which both agree.
    pub fn share(&self) -> f64 {
        let determined = self.agreed as usize + self.ours.len();
        if determined == 0 { 0.0 } else { f64::from(self.agreed) / determined as f64 }
    }
}

/// Play the lines of one device to the elevator.
///
/// # Errors
/// If the elevator has no such knob.
pub fn compare(lines: &[Line], elevator: &Choice, recorded: &Recorded) -> Result<Agreement, KnobError> {
    let mut player = Player::new(lines, elevator, recorded)?;
    for (nth, line) in lines.iter().enumerate() {
        player.step(nth + 1, line);
    }
    Ok(player.agreement)
}

/// A trace on its way through a queue.
struct Player {
    queue: BlockQueue,
    /// Live requests by first sector, and back.
    by_sector: BTreeMap<u64, RequestId>,
    inserted: BTreeMap<RequestId, Inserted>,
    /// What we have issued and the kernel has not, and the other way round.
    ahead: Vec<Ahead>,
    behind: Vec<RequestId>,
    agreement: Agreement,
    clock: Instant,
}

/// A request that we issued when the kernel issued another.
#[derive(Clone, Copy)]
struct Ahead {
    rq: RequestId,
    /// Where and when, and which CPU decided.
    line: usize,
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
    fn new(lines: &[Line], elevator: &Choice, recorded: &Recorded) -> Result<Player, KnobError> {
        // One bio is one request: merges of bios are no events, and a request's growth changes no place in an order.
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
            agreement: Agreement::default(),
            clock: born,
        })
    }

    fn step(&mut self, nth: usize, line: &Line) {
        // Lines of two CPUs may stand a little out of order.
        self.clock = self.clock.max(Instant::from_ns(line.time_us * 1000));
        match line.event {
            Event::Insert => self.insert(nth, line),
            Event::Issue => self.issue(nth, line),
            Event::Complete => self.complete(line),
            Event::BioQueue | Event::Merge | Event::Requeue => {}
        }
        self.queue.deliveries().for_each(drop);
    }

    fn insert(&mut self, nth: usize, line: &Line) {
        let Some(bio) = bio(nth, line) else { return };
        if let Submitted::Inserted(rq) = self.queue.submit(self.clock, bio) {
            self.by_sector.insert(line.sector, rq);
            self.inserted.insert(rq, Inserted { sector: line.sector, time_us: line.time_us, cpu: line.cpu });
        }
    }

    /// The kernel issued this; would we have?
    fn issue(&mut self, nth: usize, line: &Line) {
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
            let ours = match self.queue.next(self.clock) {
                Next::Issue(command) if command.rq == theirs => {
                    self.agreement.agreed += 1;
                    return;
                }
                // The kernel sent it before; now we are even and may be asked again.
                Next::Issue(command) if take(&mut self.behind, command.rq) => continue,
                Next::Issue(command) => Ok(command.rq),
                answer => Err(answer),
            };
            self.behind.push(theirs);
            self.differ(nth, line, ours);
            return;
        }
    }

    fn differ(&mut self, nth: usize, line: &Line, ours: Result<RequestId, Next>) {
        let (time_us, kernel) = (line.time_us, line.sector);
        let difference = |ours: String| Difference { line: nth, time_us, kernel, ours };
        match ours {
            Ok(rq) => {
                let Inserted { sector, time_us, cpu } = self.inserted[&rq];
                self.ahead.push(Ahead { rq, line: nth, time_us: line.time_us, cpu: line.cpu });
                if cpu != line.cpu && line.time_us.saturating_sub(time_us) <= RACE_US {
                    self.agreement.raced += 1;
                } else {
                    self.agreement.ours.push(difference(format!("issue {sector}")));
                }
            }
            Err(answer) => self.agreement.ours.push(difference(format!("{answer:?}"))),
        }
    }

    /// The kernel has issued what we had issued before it. If another CPU did so a moment later, the two only stand in
    /// the other order in the trace.
    fn settle(&mut self, ahead: &Ahead, line: &Line) {
        if ahead.cpu != line.cpu && line.time_us.saturating_sub(ahead.time_us) <= RACE_US {
            let before = self.agreement.ours.len();
            self.agreement.ours.retain(|difference| difference.line != ahead.line);
            self.agreement.raced += (before - self.agreement.ours.len()) as u32;
        }
    }

    /// A completed request that we have not issued yet goes first, so that the books stay even.
    fn complete(&mut self, line: &Line) {
        let Some(rq) = self.request(line) else { return };
        while self.behind.contains(&rq) {
            let Next::Issue(command) = self.queue.next(self.clock) else { return };
            if !take(&mut self.behind, command.rq) {
                self.ahead.push(Ahead { rq: command.rq, line: 0, time_us: line.time_us, cpu: line.cpu });
            }
        }
        self.queue.complete(self.clock, rq, Outcome::Ok);
        self.inserted.remove(&rq);
        self.by_sector.retain(|_, live| *live != rq);
    }

    /// Ours of the kernel's request: it may have grown at its front by bios whose merges the trace does not show.
    fn request(&self, line: &Line) -> Option<RequestId> {
        let within = line.sector..line.sector + u64::from(line.sectors.max(1));
        self.by_sector.range(within).next().map(|(_, &rq)| rq)
    }
}

/// Was it among them? Not any more.
fn take(all: &mut Vec<RequestId>, rq: RequestId) -> bool {
    let at = all.iter().position(|&one| one == rq);
    at.map(|at| all.swap_remove(at)).is_some()
}

/// What was inserted; `None` if it moves no data.
fn bio(nth: usize, line: &Line) -> Option<Bio> {
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
