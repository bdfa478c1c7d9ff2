//! One I/O's path from submission to completion, divided into pieces: a pure function of the data available at its
//! completion.

use blksched::author::Waiter;
use blksched::reasons::Domain;
use blksched::{Dir, GroupId, Instant, SubmitterId};
use blksched_disks::Activity;

use super::part::{Batched, Part, Piece, Rule, Whose, add};
use super::stance::{IdledFor, Stance};
use super::timeline::{CACHED, DiskWork, DoneCommand, SegmentPart, Timeline};

/// One stay in the disk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stay {
    pub(super) issued_at: Instant,
    pub(super) ended_at: Instant,
    /// When a processor had handled its end.
    pub(super) noticed_at: Instant,
    /// The command's number, in the order of issue.
    pub(super) nth: u64,
    /// Its own part of the disk's work; `None` if it was handed back untried.
    pub(super) service: Option<Activity>,
}

/// The fate of the request that carried an I/O (of several, the last to end).
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) dir: Dir,
    /// When the elevator first had it; `None` if it bypassed the elevator.
    pub(super) queued_at: Option<Instant>,
    /// Its stays in the disk, at least one.
    pub(super) stays: Vec<Stay>,
    /// The elevator sent it because its deadline had passed.
    pub(super) expired: bool,
}

/// Why a submitter slept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeps {
    Slot,
    Policy(&'static str),
    Max(GroupId),
}

/// A submitter's sleep, or a time in which its bio was held.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nap {
    pub(super) from: Instant,
    /// `None` while it lasts.
    pub(super) to: Option<Instant>,
    pub(super) why: Keeps,
}

/// Everything about a completed I/O.
pub(super) struct LandedIo<'a> {
    pub(super) timeline: &'a Timeline,
    /// The submitter in whose elevator queue its requests are.
    pub(super) queue: SubmitterId,
    /// Its Kyber domain.
    pub(super) domain: Domain,
    /// Whether it needs flushes.
    pub(super) is_durable: bool,
    pub(super) began_at: Instant,
    /// When its submission had been processed, if that takes time.
    pub(super) reached_at: Option<Instant>,
    /// Whether it went to disks in parts, the last of which this is about.
    pub(super) is_stacked: bool,
    /// When its bio entered the block queue.
    pub(super) entered_at: Option<Instant>,
    pub(super) landed_at: Instant,
    pub(super) path: Option<&'a Path>,
    /// In order of time, not overlapping.
    pub(super) naps: &'a [Nap],
}

impl LandedIo<'_> {
    /// Its time in pieces, without a gap from beginning to completion.
    pub(super) fn pieces(&self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let entered = self.entered_at.unwrap_or(self.landed_at).clamp(self.began_at, self.landed_at);
        let reached = self.reached_at.unwrap_or(self.began_at).clamp(self.began_at, entered);
        whole(&mut pieces, (self.began_at, reached), Part::Cpu);
        let (before, after) = if self.is_stacked { (Part::Stacked, Part::Stacked) } else { (Part::Memory, Part::News) };
        whole(&mut pieces, (reached, entered), before);
        let Some(path) = self.path else {
            self.before(&mut pieces, entered, self.landed_at);
            return pieces;
        };
        let first = path.stays[0].issued_at.max(entered);
        let mut queued = path.queued_at.unwrap_or(first).clamp(entered, first);
        self.before(&mut pieces, entered, queued);
        for stay in &path.stays {
            let issued = stay.issued_at.max(queued);
            self.elevator(&mut pieces, path, queued, issued);
            self.drive(&mut pieces, issued, stay);
            let ended = stay.ended_at.max(issued);
            queued = stay.noticed_at.max(ended);
            whole(&mut pieces, (ended, queued), Part::Cpu);
        }
        match self.is_durable {
            true => self.flushes(&mut pieces, queued, self.landed_at, after),
            false => whole(&mut pieces, (queued, self.landed_at), after),
        }
        pieces
    }

    /// The time before the elevator: naps, and between them the plug, or flushes that must come first.
    fn before(&self, pieces: &mut Vec<Piece>, from: Instant, to: Instant) {
        through(self.timeline, self.naps, pieces, (from, to), |pieces, from, to| self.awake(pieces, from, to));
    }

    fn awake(&self, pieces: &mut Vec<Piece>, from: Instant, to: Instant) {
        match self.is_durable {
            true => self.flushes(pieces, from, to, Part::Plug),
            false => whole(pieces, (from, to), Part::Plug),
        }
    }

    /// The time of a flush that it needs: the disk flushes, or first works for others; the rest is `else_`.
    fn flushes(&self, pieces: &mut Vec<Piece>, from: Instant, to: Instant, else_: Part) {
        let moments = self.timeline.moments(from, to);
        cut(pieces, from, to, moments, |moment| match worker(moment) {
            Some(DoneCommand { whose: Whose::Flush, .. }) => Part::Flush,
            Some(done) => Part::FlushWaits(done.whose),
            None => else_,
        });
    }

    /// The time in the elevator.
    fn elevator(&self, pieces: &mut Vec<Piece>, path: &Path, from: Instant, to: Instant) {
        self.each(pieces, from, to, |moment| match worker(moment) {
            Some(done) => self.behind(path, from, moment.stance, done),
            None => resting(moment.stance),
        });
    }

    /// The disk works while the I/O waits: for which process, and under which rule.
    fn behind(&self, path: &Path, queued: Instant, stance: Stance, done: DoneCommand) -> Part {
        let own_turn = |owner| owner == self.queue;
        match stance.turn {
            Some((owner, Waiter::Sync)) if !own_turn(owner) => {
                return Part::Behind(Whose::Process(owner), Rule::Slice);
            }
            Some((owner, Waiter::Async)) if !own_turn(owner) || path.dir == Dir::Read => {
                return Part::Behind(Whose::Process(owner), Rule::WriteBackSlice);
            }
            _ => {}
        }
        let is_known = matches!(done.whose, Whose::Process(_));
        let batch = stance.batch.filter(|&(dir, _)| dir == done.dir && is_known);
        let rule = match (stance, batch) {
            (_, Some((_, why))) if done.nth == CACHED => Rule::CacheOf(why),
            _ if done.nth == CACHED => Rule::Cache,
            // One decision sent all of a moved batch, its first command before the I/O came.
            (_, Some((dir, Batched::Moved))) => Rule::Batch(dir, Batched::Moved),
            _ if done.issued_at < queued => Rule::InDrive,
            _ if stance.lacks_token(self.domain) => Rule::Token(self.domain),
            (Stance { held: Some(why), turn: Some(_), .. }, _) => Rule::Held(why),
            (Stance { drains: true, .. }, _) => Rule::Drain,
            (_, Some((dir, why))) => Rule::Batch(dir, why),
            _ => Rule::First,
        };
        Part::Behind(done.whose, rule)
    }

    /// The time in the disk: behind others, then its own service, which ends when the command does.
    fn drive(&self, pieces: &mut Vec<Piece>, issued: Instant, stay: &Stay) {
        let ended = stay.ended_at.max(issued);
        let service = stay.service.unwrap_or_default();
        let mut own = service.sum().min(ended.since(issued));
        let begins = Instant::from_ns(ended.as_ns() - own.as_ns());
        self.each(pieces, issued, begins, |moment| match worker(moment) {
            Some(done) if done.nth == stay.nth => Part::DriveItself,
            Some(DoneCommand { whose, nth: CACHED, .. }) => Part::DriveCache(whose),
            Some(done) => Part::Drive(done.whose, done.dir),
            None => Part::DriveItself,
        });
        let parts = [
            (service.interface, Part::Interface),
            (service.transfer, Part::Transfer),
            (service.look_ahead, Part::Transfer),
            (service.rotation, Part::Rotation),
            (service.settle, Part::Settle),
            (service.seek, Part::Seek),
            (service.overhead, Part::Overhead),
        ];
        // Backward from the end, so that what a disk of many channels did at the same time shortens the earliest part.
        let mut told = Vec::new();
        for (length, part) in parts {
            let length = length.min(own);
            own = own.saturating_sub(length);
            told.push((length, part));
        }
        let mut now = begins;
        for (length, part) in told.into_iter().rev() {
            whole(pieces, (now, now + length), part);
            now += length;
        }
    }

    /// Cuts a period by what disk and scheduler were doing.
    fn each(&self, pieces: &mut Vec<Piece>, from: Instant, to: Instant, part: impl Fn(&SegmentPart) -> Part) {
        cut(pieces, from, to, self.timeline.closely(from, to), part);
    }
}

/// Time that a call spent without a known transfer: its submitter's naps, and the host's memory.
pub(super) fn in_memory(timeline: &Timeline, naps: &[Nap], from: Instant, to: Instant) -> Vec<Piece> {
    let mut pieces = Vec::new();
    through(timeline, naps, &mut pieces, (from, to), |pieces, from, to| whole(pieces, (from, to), Part::Memory));
    pieces
}

/// Cuts a period by the naps in it, and by what the disk was doing meanwhile; `awake` gets the rest.
fn through(
    timeline: &Timeline,
    naps: &[Nap],
    pieces: &mut Vec<Piece>,
    (from, to): (Instant, Instant),
    awake: impl Fn(&mut Vec<Piece>, Instant, Instant),
) {
    let mut now = from;
    for nap in naps {
        let begins = nap.from.clamp(now, to);
        let ends = nap.to.unwrap_or(to).clamp(begins, to);
        awake(pieces, now, begins);
        cut(pieces, begins, ends, timeline.closely(begins, ends), |moment| {
            let whose = worker(moment).map_or(Whose::Nobody, |done| done.whose);
            match nap.why {
                Keeps::Slot => Part::Slot(whose),
                Keeps::Policy(by) => Part::Policy(by, whose),
                Keeps::Max(group) => Part::Max(group),
            }
        });
        now = ends;
    }
    awake(pieces, now, to);
}

/// Cuts a period at these times; what lies before them is forgotten.
fn cut(
    pieces: &mut Vec<Piece>,
    from: Instant,
    to: Instant,
    moments: impl IntoIterator<Item = SegmentPart>,
    part: impl Fn(&SegmentPart) -> Part,
) {
    let mut now = from;
    let mut last = None;
    for moment in moments {
        whole(pieces, (now, moment.from), Part::Forgotten);
        let nth = match moment.work {
            DiskWork::Done(done) if done.nth != CACHED => Some(done.nth),
            DiskWork::Done(_) | DiskWork::Some | DiskWork::None => None,
        };
        let commands = u32::from(nth.is_some() && nth != last);
        last = nth.or(last);
        add(pieces, Piece { from: moment.from, to: moment.to, part: part(&moment), commands });
        now = moment.to;
    }
    whole(pieces, (now, to.max(now)), Part::Forgotten);
}

/// A period of one kind.
fn whole(pieces: &mut Vec<Piece>, (from, to): (Instant, Instant), part: Part) {
    if from < to {
        add(pieces, Piece { from, to, part, commands: 0 });
    }
}

/// The command that the disk works on, if it has completed; until then its process is not known.
fn worker(moment: &SegmentPart) -> Option<DoneCommand> {
    match moment.work {
        DiskWork::Done(done) => Some(done),
        DiskWork::Some => {
            Some(DoneCommand { whose: Whose::Nobody, dir: Dir::Read, issued_at: moment.from, nth: CACHED })
        }
        DiskWork::None => None,
    }
}

/// The disk has nothing to do while the I/O waits.
fn resting(stance: Stance) -> Part {
    match stance {
        Stance { plugged: true, .. } => Part::QueuePlug,
        Stance { idling: Some(IdledFor::Submitter(submitter)), .. } => Part::IdleFor(submitter),
        Stance { idling: Some(IdledFor::Group(group)), .. } => Part::IdleForGroup(group),
        Stance { idling: Some(IdledFor::Other), .. } => Part::Idle,
        _ => Part::Free,
    }
}
