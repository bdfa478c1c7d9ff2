//! **What for**: after a read the drive reads on, because the host probably will.
//!
//! **Rule**: what was read stays in a segment (a ring of `segment` bytes; `segments` of them, the longest unused one is
//! reused). While nobody else wants the head it follows the spiral into that segment, up to `segment` bytes beyond what
//! the host has read. A read that lies in a segment costs no positioning; one that goes on where the head is just
//! reading, or less than a revolution ahead, waits for the head and no more. A look-ahead that had filled its segment
//! starts again when the host has used up half. Cached writes are not drained before `hold` bytes have been read ahead;
//! a queued command does not wait for that.
//!
//! Drives differ in [rules](crate::LookAheadRules): some stop at the end of the track or the cylinder, begin only after
//! a sequential read, drop what the host has got, keep what it has written.
//!
//! **Origin**: every drive since the nineties; `hold` is the parameter that the first mail's table hangs on.
//! **Shown by**: reading a source tree beside a writer: without the hold 0.8 s instead of 0.3 s.
//! **Costs when wrong**: windowed readers fall from 89 to 8 MB/s if queued hits are not free.

use blksched::{Instant, Span, SubmitterId};

use super::mechanism::Mechanism;
use crate::{AfterHit, Begins, Counts, Delivered, LookAheadRules, LookAheadSpec, Overwritten, Reach, Written};

/// Sectors in the buffer.
#[derive(Clone, Copy, Debug)]
struct Segment {
    first: u64,
    /// The first sector not in it.
    end: u64,
    used: u64,
}

impl Segment {
    /// No disk has this many sectors.
    const EMPTY: Segment = Segment { first: u64::MAX / 2, end: u64::MAX / 2, used: 0 };

    /// Does a read at `start` begin in it or go on directly behind it?
    #[inline]
    fn continues_at(&self, start: u64) -> bool {
        start.wrapping_sub(self.first) <= self.end - self.first
    }
}

/// No disk has this many sectors.
const NOWHERE: u64 = u64::MAX;

/// The head is following the spiral, or has stopped at the limit and waits there.
#[derive(Clone, Copy, Debug)]
struct Run {
    segment: usize,
    owner: SubmitterId,
    /// When the head was, or will be, at `from`.
    since: Instant,
    /// A point of the spiral \[ns\].
    from: u64,
    /// The sector at which it stops.
    limit: u64,
    /// What was spent until `since` to come back to the spiral.
    returning: Span,
}

/// What a read finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// All of it is in the buffer.
    Whole,
    /// The head is on its way over the rest of it, and behind its last sector at this moment.
    Passing(Instant),
}

/// Where a read begins: a sector, and its point of the spiral \[ns\].
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub(super) sector: u64,
    pub(super) unrolled: u64,
}

/// The segments and the run in progress.
#[derive(Clone, Debug)]
pub(super) struct LookAhead {
    segment_sectors: u64,
    hold_sectors: u64,
    rules: LookAheadRules,
    disk_sectors: u64,
    /// Where the last read ended.
    last_end: u64,
    segments: Vec<Segment>,
    run: Option<Run>,
    uses: u64,
}

impl LookAhead {
    pub(super) fn new(spec: &LookAheadSpec, disk_sectors: u64) -> LookAhead {
        LookAhead {
            segment_sectors: spec.segment_sectors,
            hold_sectors: spec.hold_sectors,
            rules: spec.rules,
            disk_sectors,
            last_end: NOWHERE,
            segments: vec![Segment::EMPTY; spec.segments as usize],
            run: None,
            uses: 0,
        }
    }

    /// Of the segments that `start..end` begins in or goes on behind, one that holds all of it, or else the one that
    /// reaches furthest.
    pub(super) fn segment_of(&self, start: u64, end: u64) -> Option<usize> {
        let mut furthest: Option<(usize, u64)> = None;
        for (index, segment) in self.segments.iter().enumerate() {
            if segment.continues_at(start) {
                if end <= segment.end {
                    return Some(index);
                }
                if furthest.is_none_or(|(_, reached)| reached < segment.end) {
                    furthest = Some((index, segment.end));
                }
            }
        }
        furthest.map(|(index, _)| index)
    }

    /// The segment that the head is reading into.
    pub(super) fn running(&self) -> Option<usize> {
        self.run.map(|run| run.segment)
    }

    /// Does a read at `start` begin in this segment or go on directly behind it?
    pub(super) fn continues_at(&self, segment: usize, start: u64) -> bool {
        self.segments[segment].continues_at(start)
    }

    /// Is all of a read up to `end` that begins in `segment` in the buffer?
    pub(super) fn holds(&self, segment: Option<usize>, end: u64) -> bool {
        segment.is_some_and(|index| end <= self.segments[index].end)
    }

    /// The sectors at which a queued read continues what the head has just read, if it has just read.
    pub(super) fn window(&self) -> Option<(u64, u64)> {
        self.run.map(|run| (self.segments[run.segment].first, self.segments[run.segment].end))
    }

    /// Where the medium must be read from, once the head no longer reads ahead, for a read at `start` that begins in
    /// `segment`.
    pub(super) fn from(&self, start: u64, segment: Option<usize>) -> u64 {
        segment.map_or(start, |index| self.segments[index].end.max(start))
    }

    /// What a read of `start..end` that can begin at `at` finds in the look-ahead that is going on; `None` if it has
    /// nothing to do with that.
    pub(super) fn find(&self, at: Instant, start: &Start, end: u64, mechanism: &Mechanism) -> Option<Found> {
        let run = self.run?;
        let reached = run.from + at.since(run.since).as_ns();
        let ahead = start.unrolled.saturating_sub(reached);
        if start.sector < self.segments[run.segment].first || ahead >= mechanism.revolution().as_ns() {
            return None;
        }
        if start.sector + self.segment_sectors < run.limit && !self.still_holds(start.sector, reached, mechanism) {
            return None;
        }
        let behind = mechanism.behind(end - 1).unrolled;
        if end <= run.limit && behind <= reached {
            return Some(Found::Whole);
        }
        let stopped = reached >= mechanism.behind(run.limit - 1).unrolled;
        (!stopped).then(|| Found::Passing(run.since + Span::from_ns(behind - run.from)))
    }

    /// Has the ring not yet been overwritten at `start`?
    fn still_holds(&self, start: u64, reached: u64, mechanism: &Mechanism) -> bool {
        start + self.segment_sectors >= mechanism.sector_at(reached)
    }

    /// A read of `start..end` has ended at `at` with the head at `unrolled`; the head now reads on. `segment` is the
    /// one that it began in, when it began.
    pub(super) fn read(
        &mut self,
        at: Instant,
        (start, end): (u64, u64),
        segment: Option<usize>,
        unrolled: u64,
        owner: SubmitterId,
        mechanism: &Mechanism,
    ) {
        self.uses += 1;
        let goes_on = self.follows(start);
        let index = segment.filter(|&index| self.segments[index].continues_at(start)).unwrap_or_else(|| {
            let index = self.oldest();
            self.segments[index] = Segment { first: start, end: start, used: 0 };
            index
        });
        let segment = &mut self.segments[index];
        segment.end = segment.end.max(end);
        segment.first = segment.first.max(segment.end.saturating_sub(self.segment_sectors));
        segment.used = self.uses;
        let last = segment.end;
        self.delivered(index, end);
        let limit = match self.rules.begins {
            Begins::Sequential if !goes_on => last,
            _ => self.limit(start, last, mechanism),
        };
        self.run = Some(Run { segment: index, owner, since: at, from: unrolled, limit, returning: Span::ZERO });
    }

    /// The host has taken `start..end` out of the buffer at `at`; reads on further, and starts again if that is worth
    /// it and the head is free.
    pub(super) fn taken(&mut self, at: Instant, (start, end): (u64, u64), may_restart: bool, mechanism: &Mechanism) {
        let limit = self.limit(start, end, mechanism);
        self.last_end = end;
        if self.rules.delivered == Delivered::Dropped {
            let holds = |run: &Run| start <= run.limit && self.segments[run.segment].first <= start;
            let segment = self.run.filter(holds).map(|run| run.segment).or_else(|| self.segment_of(start, end));
            segment.into_iter().for_each(|index| self.delivered(index, end));
        }
        let may_restart = may_restart && self.rules.hit == AfterHit::Continues;
        let Some(run) = &mut self.run else { return };
        if limit <= run.limit {
            return;
        }
        let stop = mechanism.behind(run.limit - 1);
        if at < run.since + Span::from_ns(stop.unrolled.saturating_sub(run.from)) {
            run.limit = limit;
        } else if may_restart && limit - run.limit >= self.segment_sectors / 2 {
            let place = mechanism.place(run.limit);
            let wait = mechanism.cost(mechanism.angle(at), 0, &place, super::mechanism::Access::Read);
            let segment = &mut self.segments[run.segment];
            segment.end = run.limit;
            segment.first = segment.first.max(segment.end.saturating_sub(self.segment_sectors));
            let read = Span::from_ns(stop.unrolled - run.from);
            let returning = run.returning + read + Span::from_ns(wait as u64);
            *run = Run { since: at + Span::from_ns(wait as u64), from: place.unrolled, limit, returning, ..*run };
        }
    }

    /// Until when drains are held back, if the head is reading ahead.
    pub(super) fn hold_until(&self, mechanism: &Mechanism) -> Option<Instant> {
        let run = self.run.filter(|_| self.hold_sectors > 0)?;
        let hold = (self.segments[run.segment].end + self.hold_sectors).min(run.limit);
        Some(run.since + Span::from_ns(mechanism.behind(hold - 1).unrolled.saturating_sub(run.from)))
    }

    /// The head is wanted elsewhere at `at`: what has been read stays. Answers whom to charge for how much.
    pub(super) fn stop(&mut self, at: Instant, mechanism: &mut Mechanism) -> Option<(SubmitterId, Span)> {
        let run = self.run.take()?;
        if at <= run.since && run.returning.is_zero() {
            return None; // The head has just come here, and rests already.
        }
        let stop = mechanism.behind(run.limit - 1);
        let reached = run.from + at.since(run.since).as_ns();
        let segment = &mut self.segments[run.segment];
        let (end, came_to) = if reached >= stop.unrolled {
            mechanism.rest_behind(&stop, run.limit);
            (run.limit, stop.unrolled)
        } else {
            (mechanism.follow(reached), reached)
        };
        segment.end = segment.end.max(end);
        segment.first = segment.first.max(segment.end.saturating_sub(self.segment_sectors));
        let spent = run.returning + Span::from_ns(came_to.saturating_sub(run.from));
        Some((run.owner, spent.saturating_sub(run.since.since(at))))
    }

    /// Is the head reading ahead into the segment that `start..end` lies in?
    pub(super) fn runs_over(&self, start: u64, end: u64) -> bool {
        self.run.is_some_and(|run| start < run.limit && self.segments[run.segment].first < end)
    }

    /// `start..end` is being written: what the buffer has of it is stale. The head must not be running over it.
    pub(super) fn trim(&mut self, start: u64, end: u64) {
        for segment in &mut self.segments {
            if start < segment.end && segment.first < end {
                segment.end = start;
                if segment.end <= segment.first || self.rules.overwritten == Overwritten::Dropped {
                    *segment = Segment::EMPTY;
                }
            }
        }
    }

    /// `start..end` has been written, and may stay readable.
    pub(super) fn written(&mut self, start: u64, end: u64) {
        if self.rules.written == Written::Kept && self.run.is_none() {
            self.uses += 1;
            let index = self.oldest();
            let first = start.max(end.saturating_sub(self.segment_sectors));
            self.segments[index] = Segment { first, end, used: self.uses };
        }
        self.last_end = NOWHERE;
    }

    /// Does a read at `start` go on where the last one ended? The next is compared with this one's end.
    fn follows(&self, start: u64) -> bool {
        self.last_end == start
    }

    /// The host has got what lies before `end` in a segment.
    fn delivered(&mut self, index: usize, end: u64) {
        self.last_end = end;
        if self.rules.delivered == Delivered::Dropped {
            let segment = &mut self.segments[index];
            segment.first = segment.first.max(end.min(segment.end));
        }
    }

    /// The segment that has not been used for longest.
    fn oldest(&self) -> usize {
        let oldest = self.segments.iter().enumerate().min_by_key(|(_, segment)| segment.used);
        oldest.expect("at least one segment").0
    }

    /// Where the look-ahead for a read of `start..end` stops.
    fn limit(&self, start: u64, end: u64, mechanism: &Mechanism) -> u64 {
        let from = match self.rules.counts {
            Counts::Beyond => end,
            Counts::Whole => start,
        };
        let most = (from + self.rules.most_sectors).max(end).min(self.disk_sectors);
        match self.rules.reach {
            Reach::Segment => most,
            Reach::Track => most.min(mechanism.track_end(end - 1)),
            Reach::Cylinder => most.min(mechanism.cylinder_end(end - 1)),
        }
    }
}
