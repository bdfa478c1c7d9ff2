//! Weight raising: who has just started, or needs little but in time, is served as if it had 30 or 3000 times its
//! weight.
//!
//! **What for** An application starts, and a video plays, as fast as on an idle disk, whatever else is going on.
//! **Rule** *Interactive*: who wants service after 2 s without, for as long as an application of some size takes to
//! load on this disk (3 s to 25 s), or until it has had 120,000 sectors. *Soft real-time*: who came no earlier than
//! 7000 sectors per second would have let it, for 300 ms, renewed as long as that holds. *Write-back*: after 500 ms
//! without. Ends early in a large burst.
//! **Origin** docs/behaviour/elevators-6.1.md#b6 and #b10; kernel documentation, `block/bfq-iosched.rst`,
//! "low_latency". **Costs when wrong** Whoever pretends to start for ever gets 30 times its share.
//! **In the kernel** `wr_coeff`, `bfq_bfqq_softrt_next_start`, `bfq_update_bfqq_wr_on_rq_arrival`, `bfq_wr_duration`,
//! `switch_back_to_interactive_wr`, `bfq_bfqq_end_wr`.

#![doc(alias = "wr_coeff")]
#![doc(alias = "bfq_bfqq_softrt_next_start")]
#![doc(alias = "bfq_update_bfqq_wr_on_rq_arrival")]
#![doc(alias = "bfq_wr_duration")]
#![doc(alias = "switch_back_to_interactive_wr")]
#![doc(alias = "bfq_bfqq_end_wr")]

use super::Bfq;
use super::peak_rate::PeakRate;
use super::qid::Qid;
use super::queue::BfqQueue;
use super::terms::{Call, Jiffy, LONG_AGO, Terms};
use crate::explain::{Raised, RaisingEnd, Reason};

/// How much a raised weight counts.
const INTERACTIVE: i64 = 30;
const SOFT_REAL_TIME: i64 = 30 * 100;
/// More service than this is no application's start \[sectors\].
const ENOUGH: i64 = 120_000;
/// Who is slower than this is not soft real-time by itself \[sectors per second\].
const SLOW_RATE: i64 = 7000;

/// As what a queue is raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    None,
    Interactive,
    SoftRealTime,
}

/// A queue's raising.
#[derive(Clone, Copy, Debug)]
pub(super) struct Raising {
    pub(super) kind: Kind,
    /// How long at most.
    pub(super) lasts: Jiffy,
    /// Since when.
    pub(super) since: Jiffy,
    /// Soft real-time: since when it was interactive before that.
    pub(super) interactive_since: Jiffy,
    /// What it has had while raised \[sectors\].
    pub(super) served: i64,
    /// From when its next arrival may be soft real-time.
    pub(super) soft_from: Jiffy,
    /// That is to be found out when its last request comes back.
    pub(super) soft_is_open: bool,
}

impl Raising {
    pub(super) fn new(now: Jiffy) -> Raising {
        Raising {
            kind: Kind::None,
            lasts: 0,
            since: now,
            interactive_since: LONG_AGO,
            served: 0,
            soft_from: now,
            soft_is_open: false,
        }
    }

    pub(super) fn is_raised(&self) -> bool {
        self.kind != Kind::None
    }

    pub(super) fn is_soft_real_time(&self) -> bool {
        self.kind == Kind::SoftRealTime
    }

    /// How many times its weight it has.
    pub(super) fn times(&self) -> i64 {
        match self.kind {
            Kind::None => 1,
            Kind::Interactive => INTERACTIVE,
            Kind::SoftRealTime => SOFT_REAL_TIME,
        }
    }

    pub(super) fn make_interactive(&mut self, lasts: Jiffy) {
        (self.kind, self.lasts) = (Kind::Interactive, lasts);
    }

    /// It was interactive before it became soft real-time, and goes on so.
    pub(super) fn go_back_to_interactive(&mut self, lasts: Jiffy) {
        self.make_interactive(lasts);
        self.since = self.interactive_since;
    }

    fn is_over(&self, now: Jiffy) -> bool {
        now > self.since + self.lasts
    }
}

/// What is known of a queue that becomes busy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Awakening {
    pub(super) now: Jiffy,
    /// How long interactive raising lasts.
    pub(super) lasts: Jiffy,
    pub(super) in_large_burst: bool,
    /// It was idle long enough to begin something new, and asks for no special weight.
    pub(super) interactive: bool,
    pub(super) soft_real_time: bool,
    /// It may be raised if it is not.
    pub(super) deserves: bool,
}

/// What becomes of its raising.
pub(super) fn on_awakening(raising: Raising, at: Awakening, terms: &Terms) -> Raising {
    let mut new = raising;
    let soft_real_time = |new: &mut Raising| (new.kind, new.lasts) = (Kind::SoftRealTime, terms.soft_real_time);
    if !raising.is_raised() {
        if at.deserves && at.interactive {
            new.served = 0;
            new.make_interactive(at.lasts);
        } else if at.deserves {
            new.interactive_since = LONG_AGO;
            soft_real_time(&mut new);
        }
    } else if at.interactive {
        new.make_interactive(at.lasts);
    } else if at.in_large_burst {
        new.kind = Kind::None;
    } else if at.soft_real_time {
        if !raising.is_soft_real_time() {
            new.interactive_since = raising.since;
            soft_real_time(&mut new);
        }
        new.since = at.now;
    }
    new
}

/// How long interactive raising lasts on a disk of this speed: as long as the reference application took to load on the
/// reference disk, in proportion.
pub(super) fn interactive_lasts(rate: &PeakRate, terms: &Terms) -> Jiffy {
    let reference = terms.interactive[usize::from(!rate.is_rotational())];
    let [least, most] = terms.interactive_bounds;
    (rate.reference() as i64 * reference / rate.rate() as i64).clamp(least, most)
}

impl BfqQueue {
    /// The present service may make its next arrival soft real-time, from this moment on.
    fn next_soft_from(&self, now: Jiffy, second: Jiffy, idle: Jiffy) -> Jiffy {
        let by_rate = self.turn.busy_since + second * self.turn.served / SLOW_RATE;
        self.raising.soft_from.max(by_rate).max(now + idle + 4)
    }
}

impl Bfq {
    pub(super) fn interactive_lasts(&self) -> Jiffy {
        interactive_lasts(&self.rate, &self.terms)
    }

    /// Its raising is another one now: who is busy counts.
    pub(super) fn set_raising(&mut self, q: Qid, raising: Raising) {
        let was = self.queues[q].is_raised();
        self.queues[q].raising = raising;
        if self.queues[q].busy {
            self.raised_busy += i64::from(raising.is_raised()) - i64::from(was);
        }
    }

    /// It has its own weight again, from the next time that it enters a service tree.
    pub(super) fn lower(&mut self, now: Jiffy, q: Qid) {
        let mut raising = self.queues[q].raising;
        if !raising.is_soft_real_time() {
            raising.soft_from = now;
        }
        (raising.kind, raising.lasts, raising.since) = (Kind::None, 0, now);
        self.set_raising(q, raising);
        self.entity_mut(q).is_changing = true;
    }

    pub(super) fn end_raising(&mut self, call: &mut Call<'_, '_>, q: Qid, why: RaisingEnd) {
        self.lower(call.now, q);
        call.explain(Reason::RaisingEnded { owner: self.queues[q].owner, why });
    }

    /// Soft real-time is over: what is left of being interactive goes on.
    pub(super) fn end_soft_real_time(&mut self, call: &mut Call<'_, '_>, q: Qid, why: RaisingEnd) {
        let lasts = self.interactive_lasts();
        if call.now > self.queues[q].raising.interactive_since + lasts {
            return self.end_raising(call, q, why);
        }
        self.queues[q].raising.go_back_to_interactive(lasts);
        self.entity_mut(q).is_changing = true;
        self.say_raised(call, q, Raised::InteractiveAgain);
    }

    /// A queue was served: has it been raised for long enough?
    pub(super) fn watch_raising(&mut self, call: &mut Call<'_, '_>, q: Qid) {
        let queue = &self.queues[q];
        let raising = queue.raising;
        if raising.is_raised() {
            if queue.birth.in_large_burst {
                self.end_raising(call, q, RaisingEnd::LargeBurst);
            } else if raising.is_over(call.now) && raising.is_soft_real_time() {
                self.end_soft_real_time(call, q, RaisingEnd::TimeUp);
            } else if raising.is_over(call.now) {
                self.end_raising(call, q, RaisingEnd::TimeUp);
            }
            let raising = self.queues[q].raising;
            if raising.kind == Kind::Interactive && raising.served > ENOUGH {
                self.end_raising(call, q, RaisingEnd::ServedEnough);
            }
        }
        let entity = self.entity(q);
        if (entity.weight > entity.own_weight) != self.queues[q].is_raised() {
            self.apply_priority(super::entity::Node::queue(q), false);
        }
    }

    /// A queue has nothing left to do: when may it be soft real-time next?
    pub(super) fn note_soft_real_time(&mut self, now: Jiffy, q: Qid) {
        let idle = (self.slice_idle() / self.tick_ns()) as Jiffy;
        let queue = &mut self.queues[q];
        queue.raising.soft_from = queue.next_soft_from(now, self.terms.second, idle);
    }

    pub(super) fn say_raised(&self, call: &mut Call<'_, '_>, q: Qid, why: Raised) {
        let queue = &self.queues[q];
        let (owner, waiter, times) = (queue.owner, queue.waiter, queue.raising.times() as u32);
        call.explain(Reason::WeightRaised { owner, waiter, why, times });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Awakening = Awakening {
        now: 10_000,
        lasts: 2000,
        in_large_burst: false,
        interactive: false,
        soft_real_time: false,
        deserves: false,
    };

    fn kind(from: Kind, at: Awakening) -> Kind {
        let raising = Raising { kind: from, ..Raising::new(0) };
        on_awakening(raising, at, &Terms::new(250)).kind
    }

    #[test]
    fn who_starts_is_interactive_and_who_comes_in_time_soft_real_time() {
        let starts = Awakening { interactive: true, deserves: true, ..QUIET };
        let in_time = Awakening { soft_real_time: true, deserves: true, ..QUIET };
        assert_eq!(kind(Kind::None, starts), Kind::Interactive);
        assert_eq!(kind(Kind::None, in_time), Kind::SoftRealTime);
        assert_eq!(kind(Kind::Interactive, in_time), Kind::SoftRealTime);
        assert_eq!(kind(Kind::SoftRealTime, starts), Kind::Interactive);
        assert_eq!(kind(Kind::None, QUIET), Kind::None);
    }

    #[test]
    fn a_large_burst_ends_it_unless_something_new_begins() {
        let burst = Awakening { in_large_burst: true, ..QUIET };
        assert_eq!(kind(Kind::Interactive, burst), Kind::None);
        assert_eq!(kind(Kind::Interactive, Awakening { interactive: true, ..burst }), Kind::Interactive);
    }

    #[test]
    fn a_faster_disk_raises_for_a_shorter_time_within_bounds() {
        let terms = Terms::new(1000);
        let lasts = |rate| interactive_lasts(&PeakRate::measured(true, rate), &terms);
        assert_eq!(lasts(14_000), 7000);
        assert_eq!((lasts(28_000), lasts(1 << 20), lasts(1)), (3500, 3000, 25_000));
    }
}
