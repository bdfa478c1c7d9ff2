//! Statistics from reasons: waiting by cause, batches, and the disk's activity.
//!
//! [`Reasons`] listens to the queue. It keeps two running integrals of time per [`Cause`]: what the disk was doing, and
//! what each queued request waits behind. A request's waiting splits over the causes as the differences of the latter
//! between the moments at which it was queued and issued, to the nanosecond. This is O(1) per reason; nothing allocates
//! once the greatest number of waiting requests has been reached, and every submitter has been seen. A caller that
//! knows what the disk's medium does, and for which submitter, reports it by [`Reasons::works`]; for a disk about which
//! nothing is known, a moment is attributed to the requests in flight.

mod arrivals;
mod batches;
mod cause;
mod decisions;
mod disk;
mod effort;
mod entered;
mod kept;
mod report;
mod shared;
mod submitters;
mod turns;
mod waiting;
mod work;

pub use arrivals::{Arrivals, Away, Found};
pub use batches::Batches;
pub use cause::{BeganBy, Cause, IdleKind, Serving};
pub use decisions::DiskDecision;
pub use disk::DiskTime;
pub use effort::Effort;
pub use entered::Entered;
pub use submitters::{Sleeps, SubmitterTime};
pub use turns::Turns;
pub use waiting::{Longest, Waiting};
pub use work::WorksFor;

use blksched::author::RequestId;
use blksched::reasons::Index;
use blksched::{Dir, Instant, Listener, Reason, Sector, Span, SubmitterId};

use decisions::Decisions;
use disk::Disk;
use kept::Kept;
use submitters::{Flushes, Submitters};
use waiting::{RequestPlace, Tables, WaitingRequest};
use work::Working;

/// Listens to every reason and keeps statistics.
#[derive(Clone, Debug, Default)]
pub struct Reasons {
    disk: Disk,
    tables: Tables,
    submitters: Submitters,
    batches: Batches,
    entered: Entered,
    effort: Effort,
    turns: Turns,
    arrivals: Arrivals,
    plugged: bool,
    armed: Option<IdleKind>,
    flushes: Flushes,
    /// `None` unless they are asked for.
    decisions: Option<Box<Decisions>>,
    kept: Kept,
}

/// What `Inserted`, `Issued` and `Completed` tell about a request.
#[derive(Clone, Copy)]
struct Subject {
    rq: RequestId,
    dir: Dir,
    sectors: u32,
    submitter: SubmitterId,
}

impl Listener for Reasons {
    fn on_event(&mut self, at: Instant, reason: Reason) {
        match reason {
            Reason::Searched { index, steps } => return self.on_searched(at, index, steps),
            Reason::Inserted { rq, dir, start, sectors, submitter } => {
                return self.on_inserted(at, rq, dir, start, sectors, submitter);
            }
            Reason::Issued { rq, dir, sectors, submitter } => {
                return self.on_issued(at, rq, dir, sectors, submitter);
            }
            Reason::Completed { rq, dir, sectors, submitter } => {
                return self.on_completed(at, rq, dir, sectors, submitter);
            }
            _ => {}
        }
        match (self.kept, reason) {
            (Kept::Counts, _) => return self.count(at, reason),
            (Kept::All, Reason::BatchContinued { .. }) => {
                self.come_to(at);
                return self.batches.continued();
            }
            _ => {}
        }
        self.come_to(at);
        self.hear_rarer(at, reason);
    }

    fn on_searched(&mut self, at: Instant, index: Index, steps: u32) {
        if self.kept != Kept::Counts {
            self.come_to(at);
        }
        self.effort.searched(index, steps);
    }

    fn on_inserted(
        &mut self,
        at: Instant,
        rq: RequestId,
        dir: Dir,
        _start: Sector,
        sectors: u32,
        submitter: SubmitterId,
    ) {
        if self.kept == Kept::Counts {
            return self.entered.inserted(dir);
        }
        self.come_to(at);
        self.inserted(at, Subject { rq, dir, sectors, submitter });
    }

    fn on_issued(&mut self, at: Instant, rq: RequestId, dir: Dir, sectors: u32, submitter: SubmitterId) {
        if self.kept == Kept::Counts {
            return self.entered.issued(dir, sectors);
        }
        self.come_to(at);
        if self.kept == Kept::All {
            self.entered.issued(dir, sectors);
        }
        self.issued(at, Subject { rq, dir, sectors, submitter });
    }

    fn on_completed(&mut self, at: Instant, rq: RequestId, _dir: Dir, _sectors: u32, _submitter: SubmitterId) {
        if self.kept == Kept::Counts {
            return;
        }
        self.come_to(at);
        self.completed(at, rq);
    }
}

impl AsRef<Reasons> for Reasons {
    fn as_ref(&self) -> &Reasons {
        self
    }
}

impl Reasons {
    /// Statistics without any reason so far, the first of which is expected at or after [`Instant::ZERO`].
    pub fn new() -> Reasons {
        Reasons::default()
    }

    /// Statistics for a run that begins at `now`.
    pub fn from(now: Instant) -> Reasons {
        let mut reasons = Reasons::default();
        reasons.disk.begin(now);
        reasons
    }

    /// Only the disk's utilisation, and submitters' times: for callers that make thousands of runs.
    pub fn of_shares() -> Reasons {
        let mut reasons = Reasons { kept: Kept::Shares, ..Reasons::default() };
        (reasons.disk.kept, reasons.tables.kept) = (Kept::Shares, Kept::Shares);
        reasons
    }

    /// Only counts, [`Reasons::entered`], [`Reasons::effort`] and [`Reasons::turns`], and no time of the disk or of a
    /// process: for runs that never change their elevator.
    pub fn of_counts() -> Reasons {
        Reasons { kept: Kept::Counts, ..Reasons::default() }
    }

    /// Adds a row per request.
    pub fn with_decisions(mut self) -> Reasons {
        self.decisions = Some(Box::default());
        self
    }

    /// Whether it keeps rows.
    pub fn has_decisions(&self) -> bool {
        self.decisions.is_some()
    }

    /// A row per request, in the order of issue; empty unless they were asked for.
    pub fn decisions(&self) -> &[DiskDecision] {
        self.decisions.as_ref().map_or(&[], |decisions| &decisions.rows)
    }

    /// Advances to `now` without a further reason: integrals are complete up to there.
    pub fn settle(&mut self, now: Instant) {
        self.advance(now);
        self.disk.settle();
        self.credit();
        let Reasons { submitters, disk, flushes, tables, .. } = self;
        tables.in_flight(|entry, serving, mark| {
            let (given, rest) = disk.so_far(*mark);
            *mark = rest;
            match entry.submitter {
                Some(asker) => submitters.gets_on(asker, given),
                None if serving == Serving::Flush => flushes.gets_on(given, submitters),
                None => {}
            }
        });
        self.submitters.settle(now);
        self.turns.settle(now);
    }

    /// The disk's medium works for `work` from `from` (now or later) to `until`. Work for a request is reported before
    /// the request completes.
    pub fn works(&mut self, from: Instant, until: Instant, work: WorksFor) {
        let (serving, asker) = match work {
            WorksFor::Request(rq) => match *self.tables.entry_mut(rq) {
                WaitingRequest { place: RequestPlace::InFlight { serving, .. }, submitter, .. } => (serving, submitter),
                _ => (Serving::Destaging, None),
            },
            WorksFor::Cached(submitter) if self.disk.flushes() => (Serving::Flush, Some(self.submitters.of(submitter))),
            WorksFor::Cached(submitter) => (Serving::Destaging, Some(self.submitters.of(submitter))),
            WorksFor::Upkeep => (Serving::Destaging, None),
        };
        self.disk.works(from, until, Working { serving, asker, until });
    }

    /// How requests of this direction waited, without those that still wait.
    pub fn waiting(&self, dir: Dir) -> &Waiting {
        &self.tables.waiting[dir]
    }

    /// How many requests of this direction wait now.
    pub fn queued(&self, dir: Dir) -> u32 {
        self.tables.queued[dir]
    }

    /// What the disk did with its time.
    pub fn disk(&self) -> &DiskTime {
        self.disk.time()
    }

    /// What batches were like.
    pub fn batches(&self) -> &Batches {
        &self.batches
    }

    /// What became of bios: requests, merges, plugs, flushes.
    pub fn entered(&self) -> &Entered {
        &self.entered
    }

    /// The effort of searches.
    pub fn effort(&self) -> &Effort {
        &self.effort
    }

    /// Statistics of slices.
    pub fn turns(&self) -> &Turns {
        &self.turns
    }

    /// What reads found in the disk when they arrived.
    pub fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    /// How submitters slept for want of a request slot of this direction.
    pub fn sleeps(&self, dir: Dir) -> &Sleeps {
        self.submitters.sleeps(dir)
    }

    /// Each submitter's disk time, asked for and given, in the order of first appearance.
    pub fn submitters(&self) -> impl Iterator<Item = &SubmitterTime> {
        self.submitters.iter()
    }

    /// Handles reasons that do not concern every request.
    fn hear_rarer(&mut self, at: Instant, reason: Reason) {
        match reason {
            Reason::Requeued { rq } => self.requeued(at, rq),
            Reason::Coalesced { into, victim } => self.coalesced(at, into, victim),
            Reason::FlushAsked { submitter } => {
                let asker = self.submitters.of(submitter);
                self.submitters.asks(at, asker);
                self.flushes.asked(asker);
            }
            Reason::FlushSent { .. } => self.flushes.sent(),
            Reason::Slept { submitter, dir } => self.slept(at, submitter, dir),
            Reason::Woke { submitter } => self.woke(at, submitter),
            Reason::Plugged => self.plugged = true,
            Reason::Unplugged(_) => self.plugged = false,
            Reason::Armed { why, .. } => self.armed = IdleKind::of(why),
            Reason::Cancelled | Reason::Elapsed => self.armed = None,
            Reason::Switched { .. } => self.armed = None,
            _ => {}
        }
        if self.kept == Kept::All {
            self.entered.hear(reason);
            self.batches.hear(reason, &self.tables.queued);
            self.turns.hear(at, reason);
        }
    }

    fn count(&mut self, at: Instant, reason: Reason) {
        self.entered.hear(reason);
        self.turns.hear(at, reason);
    }

    /// Most reasons have the same moment as the one before.
    #[inline]
    fn come_to(&mut self, at: Instant) {
        if self.disk.time().now() != at {
            self.advance(at);
        }
    }

    #[inline(never)]
    fn advance(&mut self, now: Instant) {
        self.disk.advance(now, self.resting());
        self.credit();
    }

    /// Credits the medium's work to the process that it was for.
    fn credit(&mut self) {
        while let Some((asker, given)) = self.disk.worked() {
            asker.into_iter().for_each(|asker| self.submitters.gets_on(asker, given));
        }
    }

    /// What the disk is doing when it has nothing to serve.
    fn resting(&self) -> Cause {
        match (self.plugged, self.armed) {
            (true, _) => Cause::Plugged,
            (false, Some(kind)) => Cause::Idle(kind),
            (false, None) if self.tables.anything_queued() => Cause::Unserved,
            (false, None) => Cause::Empty,
        }
    }

    fn inserted(&mut self, at: Instant, subject: Subject) {
        if self.tables.is_queued(subject.rq) {
            // After a live switch the new elevator gets the old one's requests; those are not arrivals.
            return;
        }
        let asker = self.submitters.of(subject.submitter);
        self.submitters.asks(at, asker);
        if self.kept == Kept::All {
            self.entered.inserted(subject.dir);
            self.arrivals.inserted(at, subject.dir);
        }
        self.tables.enter(subject.rq, WaitingRequest::new(subject.dir, Some(asker)), at, self.disk.behind());
    }

    fn issued(&mut self, at: Instant, subject: Subject) {
        if self.tables.entry_mut(subject.rq).place == RequestPlace::Nowhere {
            self.never_queued(at, subject);
        }
        let entry = *self.tables.entry_mut(subject.rq);
        let serving = match (entry.served_before, subject.sectors) {
            (Some(before), _) => before,
            (None, 0) => Serving::Flush,
            (None, _) => Serving::Batch(subject.dir, self.batches.current(subject.dir)),
        };
        if self.kept == Kept::All {
            self.arrivals.issued(subject.rq, subject.dir);
        }
        let given = self.disk.start(serving);
        let (queued_at, waited) = self.tables.leave(subject.rq, at, serving, given, self.disk.behind());
        if let Some(decisions) = &mut self.decisions {
            let Subject { rq, dir, sectors, submitter } = subject;
            let completed_at = None;
            let row = DiskDecision { submitter, dir, sectors, queued_at, issued_at: at, completed_at, serving, waited };
            decisions.issued(rq.index(), row);
        }
        if serving != Serving::Flush {
            entry.submitter.into_iter().for_each(|asker| self.submitters.was_served(asker, subject.sectors));
        }
    }

    /// The queue's own flush belongs to no process; any other request that no elevator saw counts as asked for from now
    /// on.
    fn never_queued(&mut self, at: Instant, subject: Subject) {
        let asker = (subject.sectors > 0).then(|| self.submitters.of(subject.submitter));
        asker.into_iter().for_each(|asker| self.submitters.asks(at, asker));
        *self.tables.entry_mut(subject.rq) = WaitingRequest::new(subject.dir, asker);
    }

    fn completed(&mut self, at: Instant, rq: RequestId) {
        if let Some(decisions) = &mut self.decisions {
            decisions.completed(at, rq.index());
        }
        let Some((serving, given)) = self.stop(at, rq) else { return };
        match (serving, self.tables.entry_mut(rq).submitter) {
            (Serving::Flush, _) => self.flushes.done(at, given, &mut self.submitters),
            (_, Some(asker)) => self.submitters.got(at, asker, given),
            (_, None) => {}
        }
    }

    fn requeued(&mut self, at: Instant, rq: RequestId) {
        let Some((serving, given)) = self.stop(at, rq) else { return };
        if serving == Serving::Flush {
            // The queue makes a new one when it tries again.
            return self.flushes.gets_on(given, &mut self.submitters);
        }
        let entry = *self.tables.entry_mut(rq);
        entry.submitter.into_iter().for_each(|asker| self.submitters.gets_on(asker, given));
        let again = WaitingRequest { served_before: Some(serving), ..entry };
        self.tables.enter(rq, again, at, self.disk.behind());
    }

    /// The disk stops working on `rq`: what it was for, and how much disk time it got. `None` if the disk never worked
    /// on it.
    fn stop(&mut self, at: Instant, rq: RequestId) -> Option<(Serving, Span)> {
        let entry = self.tables.entry_mut(rq);
        let RequestPlace::InFlight { serving, given } = entry.place else { return None };
        entry.place = RequestPlace::Nowhere;
        let dir = entry.dir;
        if self.kept == Kept::All {
            self.arrivals.left(at, rq, dir);
        }
        Some((serving, self.disk.stop(serving, given)))
    }

    fn coalesced(&mut self, at: Instant, into: RequestId, victim: RequestId) {
        if let Some(asker) = self.tables.absorb(into, victim) {
            self.submitters.asks_no_more(at, asker);
        }
    }

    fn slept(&mut self, at: Instant, submitter: SubmitterId, dir: Dir) {
        let asker = self.submitters.of(submitter);
        self.submitters.slept(at, asker, dir);
    }

    fn woke(&mut self, at: Instant, submitter: SubmitterId) {
        let asker = self.submitters.of(submitter);
        self.submitters.woke(at, asker);
    }
}
