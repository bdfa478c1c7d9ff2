//! The decision whether the active queue keeps the disk.
//!
//! **Rule** see [`choose`] and the README's picture.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#s2 and #c33.7; docs/behaviour/elevators-4.20.md#x.13.
//! **In the kernel** `cfq_select_queue`.

use crate::elevators::cfq::rules::{Preemption, Trees};
use crate::elevators::cfq::state::queue::CfqQueue;
use crate::elevators::cfq::state::slice::{Duty, Progress, Rest};
use crate::explain::SliceEnd;
use crate::time::Tick;

/// The inputs of the decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecisionInputs {
    pub(crate) trees: Trees,
    /// Whether anything is queued, in this queue or another.
    pub(crate) any_queued: bool,
    /// Whether the active queue has nothing queued.
    pub(crate) empty: bool,
    pub(crate) in_flight: bool,
    /// Whether its slice is used up and no request arrived while the disk idled for it.
    pub(crate) used: bool,
    pub(crate) progress: Progress,
    /// Whether no other queue of its group waits.
    pub(crate) alone: bool,
    pub(crate) should_idle: bool,
    /// 4.20: whether it is its group's only queue, and the group's requests in flight are expected to bring more.
    pub(crate) group_waits: bool,
    /// 2.6.31: whether it is not real time and a real-time queue waits.
    pub(crate) yields_to_real_time: bool,
}

/// The decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The slice continues.
    Keep,
    /// The disk stays idle.
    Hold,
    /// The disk stays idle for the group.
    HoldForGroup,
    /// The slice ends.
    Expire(Rest, SliceEnd),
    /// A cooperator is served, if there is one; otherwise the disk stays idle if the timer or requests in flight
    /// justify it, or the slice ends.
    Cooperate,
}

/// Whether the active queue obviously continues, which is the usual case: it has requests and time left.
#[inline]
pub(crate) fn simply_goes_on(rule: Preemption, queue: &CfqQueue, now: Tick) -> bool {
    let has_time = match queue.slice.progress() {
        Progress::Unstarted => true,
        Progress::Running(end) => now < end || queue.slice.duty() != Duty::None,
        Progress::WaitingAlone(_) => false,
    };
    // 2.6.31 may still yield to real time.
    has_time && !queue.is_empty() && rule != Preemption::Close
}

pub(crate) fn choose(at: DecisionInputs) -> Decision {
    let by_workload = at.trees != Trees::Single;
    // Since 2.6.33 an empty queue stays on its tree until its slice ends. The tests below would expire it for having
    // nothing queued, so that it would lose the rest of its slice although no queue competes for the disk.
    if by_workload && !at.any_queued {
        return Decision::Hold;
    }
    // The disk waited for it beyond its slice. The request that arrived begins a new slice; otherwise the extra time
    // would be free.
    if matches!(at.progress, Progress::WaitingAlone(_)) && !at.empty {
        return Decision::Expire(Rest::Dropped, SliceEnd::WaitedBusy);
    }
    if at.used {
        // Its last requests are in flight, and whether to wait for more is decided when they complete
        // (`wait_while_alone`). If it expired now, its group would leave the tree of groups and lose its share.
        let last_one = by_workload && at.alone && at.empty && at.in_flight && at.should_idle;
        return match (last_one, at.group_waits) {
            (true, _) => Decision::Hold,
            (false, true) => Decision::HoldForGroup,
            (false, false) => Decision::Expire(Rest::Dropped, SliceEnd::Used),
        };
    }
    // 2.6.31 yields to real time at every selection, although a real-time arrival already preempts; no source says when
    // that is not enough. 2.6.32 dropped the test.
    if at.yields_to_real_time {
        return Decision::Expire(Rest::Kept, SliceEnd::RealTimeWaits);
    }
    if at.empty { Decision::Cooperate } else { Decision::Keep }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVED: DecisionInputs = DecisionInputs {
        trees: Trees::ByWorkload,
        any_queued: true,
        empty: false,
        in_flight: false,
        used: false,
        progress: Progress::Running(100),
        alone: false,
        should_idle: true,
        group_waits: false,
        yields_to_real_time: false,
    };

    #[test]
    fn a_queue_with_requests_and_time_keeps_the_disk() {
        assert_eq!(choose(SERVED), Decision::Keep);
        assert_eq!(choose(DecisionInputs { empty: true, ..SERVED }), Decision::Cooperate);
    }

    #[test]
    fn a_queue_whose_time_is_up_gives_the_disk_away_unless_it_is_the_last_and_still_reads() {
        let used = DecisionInputs { used: true, ..SERVED };
        assert_eq!(choose(used), Decision::Expire(Rest::Dropped, SliceEnd::Used));
        let last = DecisionInputs { alone: true, empty: true, in_flight: true, ..used };
        assert_eq!(choose(last), Decision::Hold);
        assert_eq!(
            choose(DecisionInputs { trees: Trees::Single, ..last }),
            Decision::Expire(Rest::Dropped, SliceEnd::Used)
        );
    }

    #[test]
    fn a_groups_last_queue_keeps_the_disk_while_more_may_come_of_what_is_in_flight() {
        let last = DecisionInputs { group_waits: true, used: true, ..SERVED };
        assert_eq!(choose(last), Decision::HoldForGroup);
        assert_eq!(choose(DecisionInputs { used: false, ..last }), Decision::Keep);
    }

    #[test]
    fn a_queue_the_disk_waited_for_while_alone_begins_a_new_slice() {
        let waited = DecisionInputs { progress: Progress::WaitingAlone(100), ..SERVED };
        assert_eq!(choose(waited), Decision::Expire(Rest::Dropped, SliceEnd::WaitedBusy));
    }
}
