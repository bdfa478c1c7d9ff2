//! What each submitter asked of the disk and was given, and how long submitters slept for want of a request slot.

use blksched::author::PerDir;
use blksched::{Dir, Instant, Span, SubmitterId};
use rustc_hash::FxHashMap; // tidy: never iterated

use crate::fairness::AskedAndGiven;
use crate::moments::Moments;

/// One submitter's disk time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubmitterTime {
    /// The submitter.
    pub submitter: SubmitterId,
    /// `asked`: how long it had a request queued or in flight, waited for a flush, or slept for a slot. `given`: how
    /// long the disk's medium worked for it, for its requests and for its cached writes. A moment of work for several
    /// is split evenly; a moment of work for none, among those in flight (a flush: among those that asked for it). A
    /// merged request belongs to its first bio's submitter.
    pub share: AskedAndGiven,
    /// Requests served.
    pub requests: u64,
    /// Sectors of these \[512 bytes\].
    pub sectors: u64,
    asking: u32,
    since: Instant,
    asleep: Option<(Instant, Dir)>,
}

/// How submitters slept for a slot of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sleeps {
    /// How long each sleep took \[ns\], without those that have not ended.
    pub lengths: Moments,
    /// How many began.
    pub began: u64,
}

/// The submitters that wait for flushes.
#[derive(Clone, Debug, Default)]
pub(super) struct Flushes {
    wished: Vec<Asker>,
    covered: Vec<Asker>,
}

impl Flushes {
    pub(super) fn asked(&mut self, asker: Asker) {
        self.wished.push(asker);
    }

    /// A flush is sent for all that asked for it.
    pub(super) fn sent(&mut self) {
        self.covered.append(&mut self.wished);
    }

    /// It has been given this much so far, which is split evenly.
    pub(super) fn gets_on(&self, given: Span, submitters: &mut Submitters) {
        let (mut rest, mut left) = (given.as_ns(), self.covered.len() as u64);
        for &asker in &self.covered {
            let share = rest / left;
            (rest, left) = (rest - share, left - 1);
            submitters.gets_on(asker, Span::from_ns(share));
        }
    }

    /// It is done, and got this much more.
    pub(super) fn done(&mut self, now: Instant, given: Span, submitters: &mut Submitters) {
        self.gets_on(given, submitters);
        self.covered.drain(..).for_each(|asker| submitters.asks_no_more(now, asker));
    }
}

/// A submitter's index in the table, looked up once per request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Asker(usize);

#[derive(Clone, Debug, Default)]
pub(super) struct Submitters {
    places: FxHashMap<SubmitterId, Asker>,
    /// The last submitter looked up.
    last: Option<(SubmitterId, Asker)>,
    times: Vec<SubmitterTime>,
    sleeps: PerDir<Sleeps>,
}

impl Submitters {
    pub(super) fn iter(&self) -> impl Iterator<Item = &SubmitterTime> {
        self.times.iter()
    }

    pub(super) fn sleeps(&self, dir: Dir) -> &Sleeps {
        &self.sleeps[dir]
    }

    /// Its index, created if it is new.
    #[inline]
    pub(super) fn of(&mut self, submitter: SubmitterId) -> Asker {
        match self.last {
            Some((last, asker)) if last == submitter => asker,
            _ => self.look_up(submitter),
        }
    }

    fn look_up(&mut self, submitter: SubmitterId) -> Asker {
        let times = &mut self.times;
        let asker = *self.places.entry(submitter).or_insert_with(|| {
            times.push(SubmitterTime { submitter, ..SubmitterTime::default() });
            Asker(times.len() - 1)
        });
        self.last = Some((submitter, asker));
        asker
    }

    /// It wants one thing more.
    pub(super) fn asks(&mut self, now: Instant, asker: Asker) {
        let time = &mut self.times[asker.0];
        if time.asking == 0 {
            time.since = now;
        }
        time.asking += 1;
    }

    /// It wants one thing less.
    pub(super) fn asks_no_more(&mut self, now: Instant, asker: Asker) {
        let time = &mut self.times[asker.0];
        assert!(time.asking > 0, "{:?} was done with more than it asked for", time.submitter);
        time.asking -= 1;
        if time.asking == 0 {
            time.share.asked += now.since(time.since);
        }
    }

    pub(super) fn was_served(&mut self, asker: Asker, sectors: u32) {
        let time = &mut self.times[asker.0];
        time.requests += 1;
        time.sectors += u64::from(sectors);
    }

    /// One of its requests is done and took this much of the disk's time.
    pub(super) fn got(&mut self, now: Instant, asker: Asker, given: Span) {
        self.gets_on(asker, given);
        self.asks_no_more(now, asker);
    }

    /// Like [`Submitters::got`], for a request that comes back.
    pub(super) fn gets_on(&mut self, asker: Asker, given: Span) {
        self.times[asker.0].share.given += given;
    }

    pub(super) fn slept(&mut self, now: Instant, asker: Asker, dir: Dir) {
        let time = &mut self.times[asker.0];
        if time.asleep.is_some() {
            // Another piece of a split bio.
            return;
        }
        time.asleep = Some((now, dir));
        self.asks(now, asker);
        self.sleeps[dir].began += 1;
    }

    pub(super) fn woke(&mut self, now: Instant, asker: Asker) {
        let Some((since, dir)) = self.times[asker.0].asleep.take() else { return };
        self.sleeps[dir].lengths.record(now.since(since).as_ns());
        self.asks_no_more(now, asker);
    }

    /// Counts what is still asked for up to `now`.
    pub(super) fn settle(&mut self, now: Instant) {
        for time in self.times.iter_mut().filter(|time| time.asking > 0) {
            time.share.asked += now.since(time.since);
            time.since = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    #[test]
    fn asking_twice_at_once_counts_the_time_once() {
        let mut submitters = Submitters::default();
        let who = submitters.of(SubmitterId(9));
        submitters.asks(at(10), who);
        submitters.asks(at(20), who);
        submitters.got(at(50), who, Span::from_ns(15));
        submitters.got(at(70), who, Span::from_ns(20));
        submitters.asks(at(100), who);
        submitters.settle(at(105));
        submitters.settle(at(110));
        let share = submitters.iter().next().unwrap().share;
        assert_eq!((share.asked, share.given), (Span::from_ns(70), Span::from_ns(35)));
    }

    #[test]
    fn a_sleep_is_asking_and_has_a_length() {
        let mut submitters = Submitters::default();
        let who = submitters.of(SubmitterId(9));
        submitters.slept(at(10), who, Dir::Write);
        submitters.slept(at(10), who, Dir::Write);
        submitters.woke(at(40), who);
        submitters.woke(at(50), who);
        submitters.slept(at(60), who, Dir::Write);
        let sleeps = submitters.sleeps(Dir::Write);
        assert_eq!((sleeps.began, sleeps.lengths.count(), sleeps.lengths.max()), (2, 1, 30));
        assert_eq!(submitters.iter().next().unwrap().share.asked, Span::from_ns(30));
        assert_eq!(submitters.sleeps(Dir::Read).began, 0);
    }
}
