//! The scheduler's decisions, as intervals and marks on lanes: a lane per process with slices, per direction with
//! batches, per domain with tokens.

use std::collections::BTreeMap;

use blksched::author::Waiter;
use blksched::reasons::{BatchStart, Domain, IdleFor, SliceEnd};
use blksched::{Dir, Instant, Reason, SubmitterId};
use blksched_report::{Mark, MarkKind, RecordedRun, Stretch, StretchKind};

use blksched_lab::why::names::Names;
use blksched_lab::why::reason::reason;

/// Something that still lasts.
#[derive(Clone, Copy)]
struct LastingStill {
    lane: u32,
    from: Instant,
    why: u32,
}

pub(super) struct Decisions {
    names: Names,
    lanes: Vec<String>,
    words: BTreeMap<String, u32>,
    stretches: Vec<Stretch>,
    marks: Vec<Mark>,
    turn: Option<LastingStill>,
    batch: Option<LastingStill>,
    /// When the disk ran out of the batch's commands: it ends there, unless the scheduler goes on with it.
    rests: Option<Instant>,
    idle: Option<LastingStill>,
    throttled: BTreeMap<Domain, LastingStill>,
    /// The current number of tokens of each kind of request.
    tokens: BTreeMap<Domain, LastingStill>,
}

impl Decisions {
    pub(super) fn new(names: Names) -> Decisions {
        Decisions {
            names,
            lanes: Vec::new(),
            words: BTreeMap::new(),
            stretches: Vec::new(),
            marks: Vec::new(),
            turn: None,
            batch: None,
            rests: None,
            idle: None,
            throttled: BTreeMap::new(),
            tokens: BTreeMap::new(),
        }
    }

    /// Handles a reason; `works`: whether the disk has a command.
    pub(super) fn hear(&mut self, at: Instant, what: Reason, works: bool) {
        if let Reason::Issued { .. } = what {
            self.rests = None;
        }
        match what {
            Reason::SliceBegan { owner, waiter, .. } => {
                self.close(at, LastingKind::Turn);
                let lane = self.queue(owner, waiter);
                self.turn = Some(LastingStill { lane, from: at, why: self.said(what) });
            }
            Reason::SliceEnded { owner, waiter, why } => {
                let lane = self.queue(owner, waiter);
                let said = self.said(what);
                self.turn.iter_mut().for_each(|open| open.why = said);
                self.close(at, LastingKind::Turn);
                if matches!(why, SliceEnd::Preempted(_)) {
                    self.mark(at, lane, MarkKind::Preempted, what);
                }
            }
            Reason::BatchBegan { dir, why, .. } => {
                self.close(at, LastingKind::Batch);
                let lane = self.lane(direction(dir));
                self.batch = Some(LastingStill { lane, from: at, why: self.said(what) });
                if matches!(why, BatchStart::Expired { .. }) {
                    self.mark(at, lane, MarkKind::Expired, what);
                }
            }
            Reason::TookOldest { .. } | Reason::WritesStarved { .. } => {
                let lane = self.turn.or(self.batch).map_or_else(|| self.lane("writes"), |open| open.lane);
                self.mark(at, lane, MarkKind::Expired, what);
            }
            Reason::Completed { .. } if !works => self.rests = Some(at),
            _ => self.waiting(at, what),
        }
    }

    /// Handles idling, holding back, and other waits.
    fn waiting(&mut self, at: Instant, what: Reason) {
        match what {
            Reason::Armed { why, .. } => {
                self.close(at, LastingKind::Idle);
                let lane = match why {
                    IdleFor::Submitter(owner) => self.queue(owner, Waiter::Sync),
                    IdleFor::Group(_) => self.lane("a group"),
                    // A look at the time or at statistics waits for no process.
                    _ => return,
                };
                let why =
                    self.word(&format!("The disk is left idle for the next request of {}.", self.lanes[lane as usize]));
                self.idle = Some(LastingStill { lane, from: at, why });
            }
            Reason::Cancelled | Reason::Elapsed | Reason::Issued { .. } => self.close(at, LastingKind::Idle),
            Reason::Injected { into, .. } => self.mark_of(at, into, MarkKind::Injected, what),
            Reason::QueueMerged { submitter, .. } | Reason::QueueSplit { submitter } => {
                self.mark_of(at, submitter, MarkKind::Merged, what);
            }
            Reason::WeightRaised { owner, .. } => self.mark_of(at, owner, MarkKind::Raised, what),
            Reason::Throttled { domain } => {
                let lane = self.lane(&format!("{domain}s"));
                let why = self.said(what);
                self.throttled.entry(domain).or_insert(LastingStill { lane, from: at, why });
            }
            Reason::TokenTaken { domain, .. } => {
                if let Some(open) = self.throttled.remove(&domain) {
                    self.push(open, at, StretchKind::NoToken);
                }
            }
            Reason::TokensChanged { domain, from, to, .. } => {
                let lane = self.lane(&format!("{domain}s"));
                let (before, after) = (self.word(&format!("{from} tokens")), self.word(&format!("{to} tokens")));
                let first = LastingStill { lane, from: Instant::ZERO, why: before };
                let open = self.tokens.insert(domain, LastingStill { lane, from: at, why: after }).unwrap_or(first);
                self.push(open, at, StretchKind::Tokens);
                let why = self.word(&format!("{domain}s may have {to} tokens instead of {from}"));
                self.marks.push(Mark { lane, kind: MarkKind::Tokens, at_ns: at.as_ns(), why });
            }
            _ => {}
        }
    }

    pub(super) fn finish(mut self, end: Instant, run: &mut RecordedRun) {
        for kind in [LastingKind::Turn, LastingKind::Batch, LastingKind::Idle] {
            self.close(end, kind);
        }
        for open in std::mem::take(&mut self.throttled).into_values() {
            self.push(open, end, StretchKind::NoToken);
        }
        for open in std::mem::take(&mut self.tokens).into_values() {
            self.push(open, end, StretchKind::Tokens);
        }
        let mut words: Vec<(String, u32)> = self.words.into_iter().collect();
        words.sort_by_key(|(_, nth)| *nth);
        run.words = words.into_iter().map(|(text, _)| text).collect();
        self.stretches.sort_by_key(|stretch| stretch.from_ns);
        (run.lanes, run.stretches, run.marks) = (self.lanes, self.stretches, self.marks);
    }

    fn close(&mut self, at: Instant, kind: LastingKind) {
        let (open, kind, at) = match kind {
            LastingKind::Turn => (&mut self.turn, StretchKind::Turn, at),
            LastingKind::Batch => (&mut self.batch, StretchKind::Batch, self.rests.take().unwrap_or(at)),
            LastingKind::Idle => (&mut self.idle, StretchKind::Idle, at),
        };
        if let Some(open) = open.take() {
            self.push(open, at, kind);
        }
    }

    fn push(&mut self, open: LastingStill, to: Instant, kind: StretchKind) {
        let LastingStill { lane, from, why } = open;
        // What ends at the moment it begins took no time.
        if to <= from {
            return;
        }
        self.stretches.push(Stretch { lane, kind, from_ns: from.as_ns(), to_ns: to.as_ns(), why });
    }

    fn mark(&mut self, at: Instant, lane: u32, kind: MarkKind, what: Reason) {
        let why = self.said(what);
        self.marks.push(Mark { lane, kind, at_ns: at.as_ns(), why });
    }

    fn mark_of(&mut self, at: Instant, owner: SubmitterId, kind: MarkKind, what: Reason) {
        let lane = self.queue(owner, Waiter::Sync);
        self.mark(at, lane, kind, what);
    }

    fn queue(&mut self, owner: SubmitterId, waiter: Waiter) -> u32 {
        match waiter {
            Waiter::Sync => self.lane(&self.names.process(owner)),
            Waiter::Async => self.lane("write-back"),
        }
    }

    fn lane(&mut self, name: &str) -> u32 {
        if let Some(known) = self.lanes.iter().position(|lane| lane == name) {
            return known as u32;
        }
        self.lanes.push(name.to_owned());
        (self.lanes.len() - 1) as u32
    }

    fn said(&mut self, what: Reason) -> u32 {
        let text = reason(what, &self.names);
        self.word(&text)
    }

    fn word(&mut self, text: &str) -> u32 {
        let next = self.words.len() as u32;
        *self.words.entry(text.to_owned()).or_insert(next)
    }
}

/// What can last.
#[derive(Clone, Copy)]
enum LastingKind {
    Turn,
    Batch,
    Idle,
}

fn direction(dir: Dir) -> &'static str {
    match dir {
        Dir::Read => "reads",
        Dir::Write => "writes",
    }
}
