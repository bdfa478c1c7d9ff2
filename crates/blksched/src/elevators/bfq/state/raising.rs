//! A queue's weight raising: its kind, its start, its duration, and the service received during it.
//!
//! **Rule** Interactive counts 30 times, soft real-time 3000 times. The faster the disk, the shorter the interactive
//! one: it lasts as long as an application takes to start. Whether it begins or ends: [`Raising::on_awakening`].
//!
//! What changes the kind returns a new value, which takes effect by `Bfq::set_raising`: the queue's weight and the
//! number of raised queues change with it.
//! **Origin** docs/behaviour/elevators-6.1.md#b6.
//! **In the kernel** `wr_coeff`, `wr_cur_max_time`, `last_wr_start_finish`, `wr_start_at_switch_to_srt`,
//! `soft_rt_next_start`, `service_from_wr`, `softrt_update`,
//! `bfq_update_bfqq_wr_on_rq_arrival`, `bfq_wr_duration`.

use crate::elevators::bfq::device::peak_rate::PeakRate;
use crate::elevators::bfq::rules::SoftStart;
use crate::elevators::bfq::timeouts::{Jiffy, LONG_AGO, Timeouts};

/// The factor by which the weight of an interactive queue is raised.
const INTERACTIVE: i64 = 30;

const SOFT_REAL_TIME: i64 = 30 * 100;

/// A queue that receives more service than this is not just starting an application \[sectors\].
const ENOUGH: i64 = 120_000;

/// The kind of a queue's raising.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RaisingKind {
    None,
    Interactive,
    SoftRealTime,
}

/// A queue's raising.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raising {
    kind: RaisingKind,
    /// Its maximum duration.
    lasts: Jiffy,
    /// When it began.
    since: Jiffy,
    /// Soft real-time: when the interactive raising before it began.
    interactive_since: Jiffy,
    /// The service received while raised \[sectors\].
    served: i64,
    /// From when its next arrival may count as soft real-time.
    soft_from: Jiffy,
    /// Whether `soft_from` is to be updated when its last request completes.
    soft_is_open: bool,
}

/// What is restored of a saved raising beside its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restored {
    /// Its kind.
    Kind,
    /// The service received.
    Served,
    /// Both.
    KindAndServed,
}

impl Raising {
    pub(crate) fn new(now: Jiffy) -> Raising {
        Raising {
            kind: RaisingKind::None,
            lasts: 0,
            since: now,
            interactive_since: LONG_AGO,
            served: 0,
            soft_from: now,
            soft_is_open: false,
        }
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.kind != RaisingKind::None
    }

    pub(crate) fn is_soft_real_time(&self) -> bool {
        self.kind == RaisingKind::SoftRealTime
    }

    /// The factor of its weight.
    pub(crate) fn times(&self) -> i64 {
        match self.kind {
            RaisingKind::None => 1,
            RaisingKind::Interactive => INTERACTIVE,
            RaisingKind::SoftRealTime => SOFT_REAL_TIME,
        }
    }

    /// Interactive from now on, or still.
    #[must_use]
    pub(crate) fn interactive(self, lasts: Jiffy) -> Raising {
        Raising { kind: RaisingKind::Interactive, lasts, ..self }
    }

    /// Back in the interactive raising that preceded soft real-time, if that would still last; otherwise `None`.
    #[must_use]
    pub(crate) fn interactive_again(self, now: Jiffy, lasts: Jiffy) -> Option<Raising> {
        let still = now <= self.interactive_since + lasts;
        still.then(|| Raising { since: self.interactive_since, ..self.interactive(lasts) })
    }

    /// Not raised; the rest stays.
    #[must_use]
    pub(crate) fn not_raised(self) -> Raising {
        Raising { kind: RaisingKind::None, ..self }
    }

    /// Ended now.
    #[must_use]
    pub(crate) fn ended(self, now: Jiffy, rule: SoftStart) -> Raising {
        // Interactive raising has ended: from now on it may count as soft real-time.
        let may_be_soft = !self.is_soft_real_time() && rule == SoftStart::AndAtEnd;
        let soft_from = if may_be_soft { now } else { self.soft_from };
        Raising { kind: RaisingKind::None, lasts: 0, since: now, soft_from, ..self }
    }

    /// With the kind and the times of another.
    #[must_use]
    pub(crate) fn like(self, other: Raising) -> Raising {
        let Raising { kind, lasts, since, interactive_since, .. } = other;
        Raising { kind, lasts, since, interactive_since, ..self }
    }

    /// To be saved for a new queue, which had no time to be raised: interactive from now on. `before`: what was saved
    /// last; `keeps`: whether it says since when it was interactive.
    #[must_use]
    pub(crate) fn saved_of_new(self, now: Jiffy, lasts: Jiffy, before: Raising, keeps: bool) -> Raising {
        let interactive_since = if keeps { before.interactive_since } else { LONG_AGO };
        Raising { interactive_since, since: now, served: before.served, ..self.interactive(lasts) }
    }

    /// Restored from what was saved: its times, and more.
    #[must_use]
    pub(crate) fn restored(self, saved: Raising, more: Restored) -> Raising {
        let times = self.like(saved);
        match more {
            Restored::Kind => Raising { kind: saved.kind, served: self.served, ..times },
            Restored::Served => Raising { kind: self.kind, served: saved.served, ..times },
            Restored::KindAndServed => Raising { kind: saved.kind, served: saved.served, ..times },
        }
    }

    /// The queue's raising from now on.
    #[must_use]
    pub(crate) fn on_awakening(self, at: Awakening, timeouts: &Timeouts) -> Raising {
        let mut new = self;
        let soft_real_time =
            |new: &mut Raising| (new.kind, new.lasts) = (RaisingKind::SoftRealTime, timeouts.soft_real_time);
        if !self.is_raised() {
            // The service received in an earlier raising does not count towards `ENOUGH` in this one.
            if at.deserves && at.interactive {
                new.served = 0;
                new = new.interactive(at.lasts);
            } else if at.deserves {
                // It was not interactive before, so there is nothing to return to when it is no longer soft real-time.
                new.interactive_since = LONG_AGO;
                soft_real_time(&mut new);
            }
        // It is already raised and begins something new, so its time restarts; otherwise a second application would
        // have only the time that the first one left.
        } else if at.interactive {
            new = new.interactive(at.lasts);
        } else if at.in_large_burst {
            // Many queues that begin together are the workers of one service; raised, they would only delay each other,
            // at the cost of idling for each.
            new.kind = RaisingKind::None;
        } else if at.soft_real_time {
            // The rest of its interactive raising is not lost: the queue returns to it when it is no longer soft
            // real-time.
            if !self.is_soft_real_time() {
                new.interactive_since = self.since;
                soft_real_time(&mut new);
            }
            new.since = at.now;
        }
        new
    }

    pub(crate) fn kind(&self) -> RaisingKind {
        self.kind
    }

    #[inline]
    pub(crate) fn is_over(&self, now: Jiffy) -> bool {
        now > self.since + self.lasts
    }

    /// Whether an interactive queue has received more than an application's start needs.
    #[inline]
    pub(crate) fn is_served_enough(&self) -> bool {
        self.kind == RaisingKind::Interactive && self.served > ENOUGH
    }

    /// Whether it began, or was not raised, for more than so many ticks.
    pub(crate) fn is_older_than(&self, now: Jiffy, ticks: Jiffy) -> bool {
        now > self.since + ticks
    }

    /// Whether its next arrival may count as soft real-time.
    pub(crate) fn may_be_soft(&self, now: Jiffy) -> bool {
        now > self.soft_from
    }

    /// Whether `soft_from` is to be updated when its last request completes.
    #[inline]
    pub(crate) fn soft_is_open(&self) -> bool {
        self.soft_is_open
    }

    pub(crate) fn set_soft_is_open(&mut self, open: bool) {
        self.soft_is_open = open;
    }

    /// Its time begins again.
    pub(crate) fn restart(&mut self, now: Jiffy) {
        self.since = now;
    }

    /// Counts sectors that it was served.
    #[inline(always)]
    pub(crate) fn note_served(&mut self, sectors: i64) {
        if self.is_raised() {
            self.served += sectors;
        }
    }

    /// A slice of a soft real-time queue begins; the time that it had to wait does not count as raised time.
    pub(crate) fn waited(&mut self, now: Jiffy, idle_since: Jiffy) {
        if self.is_soft_real_time() && now > self.since && now > idle_since {
            let late = now - idle_since;
            self.since = if idle_since > self.since { self.since + late } else { now };
        }
    }

    /// When its next arrival, at the earliest, shows a soft real-time rate.
    pub(crate) fn note_soft_from(&mut self, from: Jiffy) {
        self.soft_from = self.soft_from.max(from);
    }
}

/// The inputs of the decision: a queue that becomes busy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Awakening {
    pub(crate) now: Jiffy,
    /// How long interactive raising lasts.
    pub(crate) lasts: Jiffy,
    pub(crate) in_large_burst: bool,
    /// Whether it was idle long enough to begin something new and has the default weight.
    pub(crate) interactive: bool,
    pub(crate) soft_real_time: bool,
    /// Whether it may be raised if it is not raised yet.
    pub(crate) deserves: bool,
}

/// How long interactive raising lasts on a disk of this speed: the loading time of the reference application on the
/// reference disk, scaled.
pub(crate) fn interactive_lasts(rate: &PeakRate, timeouts: &Timeouts) -> Jiffy {
    let reference = timeouts.interactive[usize::from(!rate.is_rotational())];
    let [least, most] = timeouts.interactive_bounds;
    (rate.reference() as i64 * reference / rate.rate() as i64).clamp(least, most)
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

    fn kind(from: RaisingKind, at: Awakening) -> RaisingKind {
        let raising = Raising { kind: from, ..Raising::new(0) };
        raising.on_awakening(at, &Timeouts::new(250)).kind
    }

    #[test]
    fn a_queue_that_starts_is_interactive_and_one_in_time_soft_real_time() {
        let starts = Awakening { interactive: true, deserves: true, ..QUIET };
        let in_time = Awakening { soft_real_time: true, deserves: true, ..QUIET };
        assert_eq!(kind(RaisingKind::None, starts), RaisingKind::Interactive);
        assert_eq!(kind(RaisingKind::None, in_time), RaisingKind::SoftRealTime);
        assert_eq!(kind(RaisingKind::Interactive, in_time), RaisingKind::SoftRealTime);
        assert_eq!(kind(RaisingKind::SoftRealTime, starts), RaisingKind::Interactive);
        assert_eq!(kind(RaisingKind::None, QUIET), RaisingKind::None);
    }

    #[test]
    fn a_large_burst_ends_it_unless_something_new_begins() {
        let burst = Awakening { in_large_burst: true, ..QUIET };
        assert_eq!(kind(RaisingKind::Interactive, burst), RaisingKind::None);
        assert_eq!(kind(RaisingKind::Interactive, Awakening { interactive: true, ..burst }), RaisingKind::Interactive);
    }

    #[test]
    fn a_faster_disk_raises_for_a_shorter_time_within_bounds() {
        let timeouts = Timeouts::new(1000);
        let lasts = |rate| interactive_lasts(&PeakRate::measured(true, rate), &timeouts);
        assert_eq!(lasts(14_000), 7000);
        assert_eq!((lasts(28_000), lasts(1 << 20), lasts(1)), (3500, 3000, 25_000));
    }
}
