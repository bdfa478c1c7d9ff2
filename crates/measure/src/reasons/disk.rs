//! The disk's use of its time, as running integrals per cause.
//!
//! **Rule** A moment belongs to those for whom the medium works: the command under the head, or the process that wrote
//! what is being destaged. If the medium works for no process, as far as one is told, it belongs to the requests in
//! flight. Of several at once each has an even part, to the nanosecond: the parts of a stretch of time always add up to
//! it.
//!
//! What a queued request waits behind is another question: while commands are in flight they keep the disk from it,
//! whatever the medium is about meanwhile. It waits behind the command that the medium works for, if there is one, and
//! else behind all that are in flight; only when none is does it wait for what the disk does by itself, or rests for.

use blksched::{Instant, Span};

use super::cause::{Cause, Serving};
use super::kept::Kept;
use super::shared::Shared;
use super::submitters::Asker;
use super::work::{PendingStints, StintEdge, Working};

/// Time per cause \[ns\], by [`Cause::index`].
pub(super) type Integrals = [u64; Cause::COUNT];

/// What the disk did with its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskTime {
    began: Instant,
    now: Instant,
    ns: Integrals,
    busy: Span,
    worked: Span,
}

impl DiskTime {
    /// How long it was doing this. A moment shared by several counts for each in part; a moment in which it is kept
    /// idle on purpose, or plugged, counts as that even if it writes out its cache meanwhile.
    pub fn on(&self, cause: Cause) -> Span {
        Span::from_ns(self.ns[cause.index()])
    }

    /// From the beginning to now.
    pub fn elapsed(&self) -> Span {
        self.now.since(self.began)
    }

    /// How long at least one request was in flight.
    pub fn busy(&self) -> Span {
        self.busy
    }

    /// How long at least one request was in flight or the medium worked: the sum of what all processes were given.
    pub fn worked(&self) -> Span {
        self.worked
    }

    /// [`DiskTime::busy`] as a part of [`DiskTime::elapsed`]; 0 before any time has passed.
    pub fn busy_share(&self) -> f64 {
        if self.elapsed().is_zero() { 0.0 } else { self.busy().as_ns() as f64 / self.elapsed().as_ns() as f64 }
    }

    /// Every cause that took any time.
    pub fn iter(&self) -> impl Iterator<Item = (Cause, Span)> {
        Cause::all().map(|cause| (cause, self.on(cause))).filter(|(_, span)| !span.is_zero())
    }

    /// The present time.
    pub(super) fn now(&self) -> Instant {
        self.now
    }
}

/// The integrals, what is in flight, and what the medium works on.
#[derive(Clone, Debug)]
pub(super) struct Disk {
    time: DiskTime,
    /// What a request that waited in the queue all the time would have waited behind.
    behind: Integrals,
    in_flight: Shared,
    working: Shared,
    pending: PendingStints,
    /// Work done, and the process it was for; `None` for no process.
    worked: Vec<(Option<Asker>, Span)>,
    pub(super) kept: Kept,
}

impl Default for Disk {
    fn default() -> Disk {
        let (began, now) = (Instant::ZERO, Instant::ZERO);
        Disk {
            time: DiskTime { began, now, ns: [0; Cause::COUNT], busy: Span::ZERO, worked: Span::ZERO },
            behind: [0; Cause::COUNT],
            in_flight: Shared::default(),
            working: Shared::default(),
            pending: PendingStints::default(),
            worked: Vec::new(),
            kept: Kept::All,
        }
    }
}

impl Disk {
    pub(super) fn begin(&mut self, now: Instant) {
        (self.time.began, self.time.now) = (now, now);
    }

    pub(super) fn time(&self) -> &DiskTime {
        &self.time
    }

    /// A queued request waits behind what these grow by.
    pub(super) fn behind(&self) -> &Integrals {
        &self.behind
    }

    /// Advances to `now` without a reason; `resting` is what the disk was doing if nothing was in flight.
    pub(super) fn advance(&mut self, now: Instant, resting: Cause) {
        while let Some((at, due)) = self.pending.take(now) {
            self.pass(at, resting);
            match due {
                StintEdge::Begins(working) => self.begin_work(working),
                StintEdge::Ends(working, mark) => {
                    let given = self.working.stop(working.serving, mark);
                    self.worked.push((working.asker, given));
                }
            }
        }
        self.pass(now, resting);
    }

    /// Advances to `now` without a change.
    #[inline]
    fn pass(&mut self, now: Instant, resting: Cause) {
        if now > self.time.now {
            self.pass_time(now, resting);
        }
    }

    fn pass_time(&mut self, now: Instant, resting: Cause) {
        let ns = now.since(self.time.now).as_ns();
        let time = &mut self.time;
        time.now = now;
        let (any_in_flight, works) = (!self.in_flight.is_empty(), !self.working.is_empty());
        match (works, any_in_flight) {
            (true, _) => self.working.pass(ns),
            (false, true) => self.in_flight.pass(ns),
            (false, false) => {}
        }
        let span = Span::from_ns(ns);
        time.busy += if any_in_flight { span } else { Span::ZERO };
        time.worked += if any_in_flight || works { span } else { Span::ZERO };
        if self.kept == Kept::Shares {
            return;
        }
        let about = if works { &self.working } else { &self.in_flight };
        if any_in_flight && let Some(command) = about.only_command() {
            // Usually commands of one kind have the moment to themselves, and waiting requests wait behind them.
            time.ns[command] += ns;
            self.behind[command] += ns;
            return;
        }
        let at_rest = matches!(resting, Cause::Empty | Cause::Unserved);
        match (works, any_in_flight) {
            (true, in_flight) if in_flight || at_rest => self.working.book(ns, &mut time.ns),
            (_, true) => self.in_flight.book(ns, &mut time.ns),
            (_, false) => time.ns[resting.index()] += ns,
        }
        let behind = &mut self.behind;
        match (any_in_flight, works && at_rest) {
            (true, _) if self.working.book_commands(ns, behind) => {}
            (true, _) => self.in_flight.book(ns, behind),
            (false, true) => self.working.book(ns, behind),
            (false, false) => behind[resting.index()] += ns,
        }
    }

    /// One more request is in flight. The returned mark is for [`Disk::stop`].
    pub(super) fn start(&mut self, serving: Serving) -> u64 {
        self.in_flight.start(serving)
    }

    /// The request that started with `mark` is done: returns the disk time it got while the medium reported work for no
    /// process.
    pub(super) fn stop(&mut self, serving: Serving, mark: u64) -> Span {
        self.in_flight.stop(serving, mark)
    }

    /// The part of that which it got by now, and the mark for the rest.
    pub(super) fn so_far(&self, mark: u64) -> (Span, u64) {
        (self.in_flight.since(mark), self.in_flight.mark())
    }

    /// Whether a flush is in flight.
    pub(super) fn flushes(&self) -> bool {
        self.in_flight.any(Serving::Flush)
    }

    /// The medium works from `from` to `until`.
    pub(super) fn works(&mut self, from: Instant, until: Instant, working: Working) {
        let now = self.time.now;
        if until <= now {
            return;
        }
        let working = Working { until, ..working };
        if from <= now { self.begin_work(working) } else { self.pending.add(from, StintEdge::Begins(working)) }
    }

    fn begin_work(&mut self, working: Working) {
        let mark = self.working.start(working.serving);
        self.pending.add(working.until, StintEdge::Ends(working, mark));
    }

    /// Accounts for stints in progress up to now.
    pub(super) fn settle(&mut self) {
        let (working, worked) = (&self.working, &mut self.worked);
        self.pending.running(|who, mark| {
            worked.push((who.asker, working.since(*mark)));
            *mark = working.mark();
        });
    }

    /// Work done since the last call, with its process.
    pub(super) fn worked(&mut self) -> Option<(Option<Asker>, Span)> {
        self.worked.pop()
    }
}

#[cfg(test)]
mod tests {
    use blksched::Dir;

    use super::super::cause::BeganBy;
    use super::*;

    const READ: Serving = Serving::Batch(Dir::Read, BeganBy::Turn);
    const WRITE: Serving = Serving::Batch(Dir::Write, BeganBy::Turn);

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    #[test]
    fn time_shared_by_three_still_adds_up_to_the_nanosecond() {
        let mut disk = Disk::default();
        disk.begin(at(5));
        for serving in [READ, WRITE, Serving::Flush] {
            disk.start(serving);
        }
        disk.advance(at(105), Cause::Empty);
        disk.advance(at(106), Cause::Empty);
        assert_eq!(disk.time().busy(), Span::from_ns(101));
        assert_eq!(disk.time().elapsed(), disk.time().iter().fold(Span::ZERO, |sum, (_, span)| sum + span));
        assert_eq!(disk.time().busy_share(), 1.0);
    }

    #[test]
    fn what_each_request_is_given_adds_up_to_what_the_disk_worked() {
        let mut disk = Disk::default();
        let first = disk.start(READ);
        disk.advance(at(100), Cause::Empty);
        let second = disk.start(WRITE);
        disk.advance(at(300), Cause::Empty);
        assert_eq!(disk.stop(READ, first), Span::from_ns(200));
        disk.advance(at(350), Cause::Empty);
        assert_eq!(disk.stop(WRITE, second), Span::from_ns(150));
        disk.advance(at(400), Cause::Plugged);
        assert_eq!((disk.time().busy(), disk.time().on(Cause::Plugged)), (Span::from_ns(350), Span::from_ns(50)));
    }

    #[test]
    fn who_waits_waits_behind_commands_whatever_the_medium_does_meanwhile() {
        let mut disk = Disk::default();
        let working = |serving, until| Working { serving, asker: None, until: at(until) };
        let (read, write) = (disk.start(READ), disk.start(WRITE));
        // The disk writes out its cache; the read is served from 40 on, beside it until 60.
        disk.works(at(0), at(60), working(Serving::Destaging, 60));
        disk.works(at(40), at(70), working(READ, 70));
        disk.advance(at(100), Cause::Unserved);
        let behind = |disk: &Disk, serving: Serving| disk.behind()[serving.index()];
        assert_eq!((behind(&disk, READ), behind(&disk, WRITE)), (20 + 30 + 15, 20 + 15));
        assert_eq!(disk.time().on(Cause::Serving(Serving::Destaging)).as_ns(), 40 + 10);
        // With nothing in flight, the wait is for the disk's own writing.
        disk.stop(READ, read);
        disk.stop(WRITE, write);
        disk.works(at(100), at(130), working(Serving::Destaging, 130));
        disk.advance(at(150), Cause::Unserved);
        assert_eq!((behind(&disk, Serving::Destaging), disk.behind()[Cause::Unserved.index()]), (30, 20));
        assert_eq!(disk.behind().iter().sum::<u64>(), 150);
    }

    #[test]
    fn a_moment_belongs_to_what_the_medium_works_on_and_else_to_what_is_in_flight() {
        let mut disk = Disk::default();
        let asker = Some(Asker::default());
        let (read, write) = (disk.start(READ), disk.start(WRITE));
        let working = |serving, asker| Working { serving, asker, until: Instant::ZERO };
        disk.works(at(0), at(60), working(READ, asker));
        disk.works(at(80), at(100), working(Serving::Destaging, None));
        disk.advance(at(90), Cause::Empty);
        let on = |disk: &Disk, serving| disk.time().on(Cause::Serving(serving)).as_ns();
        assert_eq!((on(&disk, READ), on(&disk, WRITE), on(&disk, Serving::Destaging)), (70, 10, 10));
        disk.settle();
        let mut worked: Vec<_> = core::iter::from_fn(|| disk.worked()).collect();
        worked.sort_by_key(|(_, span)| *span);
        assert_eq!(worked, [(None, Span::from_ns(10)), (asker, Span::from_ns(60))]);
        assert_eq!((disk.stop(READ, read), disk.stop(WRITE, write)), (Span::from_ns(10), Span::from_ns(10)));
        // Nothing is in flight: kept idle on purpose counts as idle, whatever the disk does meanwhile.
        disk.advance(at(95), Cause::Plugged);
        disk.advance(at(120), Cause::Empty);
        assert_eq!((on(&disk, Serving::Destaging), disk.time().on(Cause::Plugged).as_ns()), (15, 5));
        assert_eq!((disk.time().busy(), disk.time().worked()), (Span::from_ns(90), Span::from_ns(100)));
        disk.settle();
        assert_eq!(core::iter::from_fn(|| disk.worked()).map(|(_, span)| span.as_ns()).sum::<u64>(), 10);
    }
}
