//! The activity of disk and scheduler over time, as far back as it may still be needed.

use std::collections::VecDeque;

use blksched::{Dir, Instant, Reason, SubmitterId};

use super::part::Whose;
use super::stance::Stance;

/// A command of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DoneCommand {
    pub(super) whose: Whose,
    pub(super) dir: Dir,
    pub(super) issued_at: Instant,
    /// Its number in the order of issue; [`CACHED`] for what is written out of the disk's cache.
    pub(super) nth: u64,
}

/// Stands for what is not a command.
pub(super) const CACHED: u64 = u64::MAX;

/// What the disk was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DiskWork {
    /// It had no command.
    None,
    /// It has commands, and has not completed the next one yet.
    Some,
    /// It worked on this one.
    Done(DoneCommand),
}

/// What held from this time until the next segment.
#[derive(Clone, Copy, Debug)]
struct Segment {
    from: Instant,
    stance: Stance,
    work: DiskWork,
}

/// A part of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentPart {
    pub(super) from: Instant,
    pub(super) to: Instant,
    pub(super) stance: Stance,
    pub(super) work: DiskWork,
}

/// The most segments that are kept (about 100 MB); older ones are forgotten.
const MOST: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Timeline {
    segments: VecDeque<Segment>,
    stance: Stance,
    in_disk: u32,
    issued: u64,
    /// What the only part of the disk works for, as far as the disk tells; in order, without overlaps.
    stints: VecDeque<(Instant, Instant, DoneCommand)>,
    /// Segments at the end whose command is not known yet.
    pending: usize,
    most: usize,
}

impl Timeline {
    pub(super) fn new() -> Timeline {
        Timeline::with_room_for(MOST)
    }

    pub(super) fn with_room_for(most: usize) -> Timeline {
        let first = Segment { from: Instant::ZERO, stance: Stance::default(), work: DiskWork::None };
        let segments = VecDeque::from([first]);
        Timeline {
            segments,
            stance: Stance::default(),
            in_disk: 0,
            issued: 0,
            stints: VecDeque::new(),
            pending: 0,
            most,
        }
    }

    /// Records a reason that is not about a single command.
    pub(super) fn hear(&mut self, at: Instant, reason: Reason) {
        let stance = self.stance.after(reason);
        if stance != self.stance {
            self.stance = stance;
            self.push(at);
        }
    }

    /// The disk gets a command; returns its number in the order of issue.
    pub(super) fn start(&mut self, at: Instant) -> u64 {
        self.in_disk += 1;
        if self.in_disk == 1 {
            self.push(at);
        }
        self.issued += 1;
        self.issued - 1
    }

    /// The disk, which does one thing at a time, works for this command during this time.
    pub(super) fn works(&mut self, from: Instant, until: Instant, done: DoneCommand) {
        let from = self.stints.back().map_or(from, |&(_, end, _)| from.max(end));
        if from < until {
            self.stints.push_back((from, until, done));
        }
        if self.stints.len() > self.most {
            self.stints.drain(..self.most / 2);
        }
    }

    /// The disk completes a command or hands it back.
    pub(super) fn stop(&mut self, at: Instant, done: DoneCommand) {
        let done = DiskWork::Done(done);
        self.in_disk = self.in_disk.saturating_sub(1);
        let len = self.segments.len();
        self.segments.range_mut(len - self.pending..).for_each(|segment| segment.work = done);
        self.pending = 0;
        self.push(at);
    }

    fn push(&mut self, at: Instant) {
        let work = if self.in_disk > 0 { DiskWork::Some } else { DiskWork::None };
        let segment = Segment { from: at, stance: self.stance, work };
        match self.segments.back_mut() {
            // It lasted no time.
            Some(last) if last.from == at => {
                self.pending -= usize::from(last.work == DiskWork::Some && self.pending > 0);
                *last = segment;
            }
            _ => self.segments.push_back(segment),
        }
        self.pending += usize::from(work == DiskWork::Some);
        if self.segments.len() > self.most {
            self.segments.drain(..self.most / 2);
            self.pending = self.pending.min(self.segments.len());
        }
    }

    /// The number of segments.
    pub(super) fn len(&self) -> usize {
        self.segments.len()
    }

    /// Forgets what was before `oldest`, which is no longer needed.
    pub(super) fn forget(&mut self, oldest: Instant) {
        let unneeded = self.segments.partition_point(|segment| segment.from <= oldest).saturating_sub(1);
        let unneeded = unneeded.min(self.segments.len() - self.pending.max(1));
        self.segments.drain(..unneeded);
        let over = self.stints.partition_point(|&(_, until, _)| until <= oldest);
        self.stints.drain(..over);
    }

    /// What is known of the time from `from` to `to`, in order; nothing of what is forgotten.
    pub(super) fn moments(&self, from: Instant, to: Instant) -> impl Iterator<Item = SegmentPart> + '_ {
        let first = self.segments.partition_point(|segment| segment.from <= from).saturating_sub(1);
        let ends = self.segments.range(first + 1..).map(|next| next.from).chain([Instant::NEVER]);
        let known = self.segments.range(first..).zip(ends).take_while(move |(segment, _)| segment.from < to);
        known.filter_map(move |(segment, end)| {
            let (from, to) = (segment.from.max(from), end.min(to));
            (from < to).then_some(SegmentPart { from, to, stance: segment.stance, work: segment.work })
        })
    }
}

impl Timeline {
    /// The same, with what the disk's head works for where the disk tells.
    pub(super) fn closely(&self, from: Instant, to: Instant) -> Vec<SegmentPart> {
        let mut moments = Vec::new();
        for moment in self.moments(from, to) {
            if moment.work == DiskWork::None {
                moments.push(moment);
                continue;
            }
            let first = self.stints.partition_point(|&(_, until, _)| until <= moment.from);
            let mut now = moment.from;
            let stints = self.stints.range(first..).take_while(|&&(from, ..)| from < moment.to);
            for &(begins, ends, done) in stints {
                let (begins, ends) = (begins.max(now), ends.min(moment.to));
                moments.extend((now < begins).then_some(SegmentPart { from: now, to: begins, ..moment }));
                moments.extend((begins < ends).then_some(SegmentPart {
                    from: begins,
                    to: ends,
                    work: DiskWork::Done(done),
                    ..moment
                }));
                now = ends.max(now);
            }
            moments.extend((now < moment.to).then_some(SegmentPart { from: now, ..moment }));
        }
        moments
    }
}

/// The process that a command belongs to.
pub(super) fn whose(sectors: u32, submitter: SubmitterId) -> Whose {
    if sectors == 0 { Whose::Flush } else { Whose::Process(submitter) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    #[test]
    fn a_moment_belongs_to_the_command_that_is_completed_next_and_nothing_is_left_out() {
        let mut timeline = Timeline::new();
        let (a, b) = (Whose::Process(SubmitterId(1)), Whose::Process(SubmitterId(2)));
        let done = |whose, issued, nth| DoneCommand { whose, dir: Dir::Read, issued_at: at(issued), nth };
        assert_eq!((timeline.start(at(10)), timeline.start(at(12))), (0, 1));
        timeline.hear(at(15), Reason::Plugged);
        timeline.stop(at(20), done(b, 12, 1));
        timeline.stop(at(30), done(a, 10, 0));
        timeline.start(at(40));
        let told: Vec<_> = timeline
            .moments(at(5), at(45))
            .map(|moment| {
                let by = match moment.work {
                    DiskWork::Done(done) => Some(done.whose),
                    _ => None,
                };
                (moment.from.as_ns(), moment.to.as_ns(), by)
            })
            .collect();
        let expected =
            [(5, 10, None), (10, 15, Some(b)), (15, 20, Some(b)), (20, 30, Some(a)), (30, 40, None), (40, 45, None)];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_nobody_asks_for_is_forgotten_and_there_is_a_bound() {
        let mut timeline = Timeline::with_room_for(64);
        for ns in 1..1000 {
            let nth = timeline.start(at(10 * ns));
            let done = DoneCommand { whose: Whose::Nobody, dir: Dir::Read, issued_at: at(10 * ns), nth };
            timeline.stop(at(10 * ns + 5), done);
            assert!(timeline.len() <= 65);
        }
        timeline.forget(at(9_992));
        assert_eq!(timeline.moments(at(9_992), at(9_999)).map(|m| m.to.since(m.from).as_ns()).sum::<u64>(), 7);
        assert!(timeline.len() <= 2, "{}", timeline.len());
    }

    #[test]
    fn where_the_disk_tells_for_whom_it_works_that_counts_while_it_has_commands() {
        let mut timeline = Timeline::new();
        let (a, b) = (Whose::Process(SubmitterId(1)), Whose::Process(SubmitterId(2)));
        let done = |whose, nth| DoneCommand { whose, dir: Dir::Write, issued_at: at(10), nth };
        timeline.start(at(10));
        timeline.works(at(5), at(14), done(b, CACHED));
        timeline.works(at(14), at(18), done(a, 0));
        timeline.stop(at(20), done(a, 0));
        let told: Vec<_> =
            timeline.closely(at(0), at(25)).iter().map(|m| (m.from.as_ns(), m.to.as_ns(), m.work)).collect();
        let (cached, own) = (DiskWork::Done(done(b, CACHED)), DiskWork::Done(done(a, 0)));
        let expected =
            [(0, 10, DiskWork::None), (10, 14, cached), (14, 18, own), (18, 20, own), (20, 25, DiskWork::None)];
        assert_eq!(told, expected);
    }
}
