//! The idle window: whether idling for a queue is worthwhile, judging by its process's behaviour.
//!
//! **Rule** Its think time is at most `slice_idle` and it does not seek too much; [`window`] has the eras. Judged at
//! each of the queue's insertions.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#c5, #c15 and #c33.4; docs/behaviour/elevators-4.20.md#x.3; `fairness`
//! is the patch of the mail of 2009-09-03.
//! **In the kernel** `cfq_update_idle_window`, `cfq_cfqq_idle_window`.

use crate::elevators::cfq::rules::Idling;
use crate::elevators::cfq::state::idle_window::{QueueDepth, WindowState};
use crate::elevators::cfq::state::seeks::Seekiness;
use crate::time::Tick;

/// The inputs of the rule; times in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    pub(crate) gone: bool,
    pub(crate) idle: Tick,
    pub(crate) seeky_idle: Tick,
    pub(crate) think: Option<Tick>,
    pub(crate) seeks: Seekiness,
    /// Whether its next request is a write marked as the last (`Hints::no_idle`).
    pub(crate) ends: bool,
    pub(crate) depth: QueueDepth,
    /// Whether the disk queues requests itself.
    pub(crate) ncq: bool,
    pub(crate) fairness: bool,
    pub(crate) low_latency: bool,
    pub(crate) window: WindowState,
}

/// The new state of a queue's idle window.
pub(crate) fn window(rule: Idling, habits: Habits) -> WindowState {
    let Habits { gone, idle, seeky_idle, think, seeks, ends, depth, ncq, fairness, low_latency, window } = habits;
    let too_seeky = match rule {
        // A disk with NCQ orders the seeks of several queues by itself; idling for one of them leaves it one request.
        Idling::UnlessSeeky => !fairness && ncq && seeks.is_seeky,
        // With `low_latency` the disk idles nevertheless, but briefly; otherwise a queue that seeks would wait a whole
        // round for each of its requests.
        Idling::SeekyShortly => !low_latency && ncq && seeks.is_seeky,
        // A queue with four requests at once gives the disk something to reorder during its slice; the seeks of any
        // other queue are served together with those of others (the no-idle tree).
        Idling::UnlessSeekyAndShallow | Idling::TreeThinks => depth == QueueDepth::Shallow && seeks.is_surely,
    };
    let longest = if rule == Idling::SeekyShortly && seeks.is_surely { seeky_idle } else { idle };
    // 4.20: the writer has announced that nothing follows, so no request would arrive while the disk idles.
    let ends = ends && rule == Idling::TreeThinks;
    // With too few samples of the think time, the window stays as it is.
    let prompt = think.map_or(window == WindowState::Open, |think| think <= longest);
    if !gone && !ends && idle > 0 && !too_seeky && prompt { WindowState::Open } else { WindowState::Closed }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(rule: Idling, habits: Habits) -> bool {
        window(rule, habits) == WindowState::Open
    }

    fn habits(is_seeky: bool, think: Tick) -> Habits {
        Habits {
            gone: false,
            idle: 8,
            seeky_idle: 2,
            think: Some(think),
            seeks: Seekiness { is_seeky, is_surely: is_seeky },
            ends: false,
            depth: QueueDepth::Shallow,
            ncq: true,
            fairness: false,
            low_latency: true,
            window: WindowState::Open,
        }
    }

    const RANDOM: bool = true;
    const IN_ORDER: bool = false;

    #[test]
    fn a_sequential_reader_is_idled_for_as_long_as_it_thinks_no_longer_than_slice_idle() {
        let rules = [Idling::UnlessSeeky, Idling::SeekyShortly, Idling::UnlessSeekyAndShallow, Idling::TreeThinks];
        for rule in rules {
            assert!(open(rule, habits(IN_ORDER, 8)) && !open(rule, habits(IN_ORDER, 9)));
        }
    }

    #[test]
    fn a_seeky_queue_is_not_idled_for_unless_fairness_depth_or_haste_speak_for_it() {
        let seeky = habits(RANDOM, 2);
        assert!(!open(Idling::UnlessSeeky, seeky));
        assert!(open(Idling::UnlessSeeky, Habits { fairness: true, ..seeky }));
        assert!(open(Idling::SeekyShortly, seeky));
        assert!(!open(Idling::SeekyShortly, Habits { think: Some(3), ..seeky }));
        assert!(!open(Idling::UnlessSeekyAndShallow, seeky));
        assert!(open(Idling::UnlessSeekyAndShallow, Habits { depth: QueueDepth::Deep, ..seeky }));
    }

    #[test]
    fn in_4_20_a_queue_whose_next_write_is_marked_as_the_last_is_not_idled_for() {
        let last = Habits { ends: true, ..habits(IN_ORDER, 1) };
        assert!(open(Idling::UnlessSeekyAndShallow, last) && !open(Idling::TreeThinks, last));
    }

    #[test]
    fn an_exited_process_is_not_idled_for_nor_any_when_idling_is_off() {
        let reader = habits(IN_ORDER, 1);
        assert!(!open(Idling::UnlessSeeky, Habits { gone: true, ..reader }));
        assert!(!open(Idling::UnlessSeeky, Habits { idle: 0, ..reader }));
    }

    #[test]
    fn as_long_as_nothing_is_known_the_window_stays_as_it_is() {
        let unknown = Habits { think: None, ..habits(IN_ORDER, 0) };
        assert!(open(Idling::SeekyShortly, unknown));
        assert!(!open(Idling::SeekyShortly, Habits { window: WindowState::Closed, ..unknown }));
    }
}
