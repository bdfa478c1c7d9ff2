//! A queue's weight raising when it becomes busy, and the duration of interactive raising.
//!
//! **Rule** [`on_awakening`]. The faster the disk, the shorter the raising: it lasts as long as an application takes to
//! start.
//! **Origin** docs/behaviour/elevators-6.1.md#b6.
//! **In the kernel** `bfq_update_bfqq_wr_on_rq_arrival`, `bfq_wr_duration`.

use crate::elevators::bfq::device::peak_rate::PeakRate;
use crate::elevators::bfq::state::raising::{Raising, RaisingKind};
use crate::elevators::bfq::timeouts::{Jiffy, LONG_AGO, Timeouts};

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

/// The queue's raising from now on.
pub(crate) fn on_awakening(raising: Raising, at: Awakening, timeouts: &Timeouts) -> Raising {
    let mut new = raising;
    let soft_real_time =
        |new: &mut Raising| (new.kind, new.lasts) = (RaisingKind::SoftRealTime, timeouts.soft_real_time);
    if !raising.is_raised() {
        // The service received in an earlier raising does not count towards `ENOUGH` in this one.
        if at.deserves && at.interactive {
            new.served = 0;
            new.make_interactive(at.lasts);
        } else if at.deserves {
            // It was not interactive before, so there is nothing to return to when it is no longer soft real-time.
            new.interactive_since = LONG_AGO;
            soft_real_time(&mut new);
        }
    // It is already raised and begins something new, so its time restarts; otherwise a second application would have
    // only the time that the first one left.
    } else if at.interactive {
        new.make_interactive(at.lasts);
    } else if at.in_large_burst {
        // Many queues that begin together are the workers of one service; raised, they would only delay each other, at
        // the cost of idling for each.
        new.kind = RaisingKind::None;
    } else if at.soft_real_time {
        // The rest of its interactive raising is not lost: the queue returns to it when it is no longer soft real-time.
        if !raising.is_soft_real_time() {
            new.interactive_since = raising.since;
            soft_real_time(&mut new);
        }
        new.since = at.now;
    }
    new
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
        on_awakening(raising, at, &Timeouts::new(250)).kind
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
