//! The charge of a slice to its group: its time, or its number of requests.
//!
//! **Rule** The charge is the time from the slice's first completion, at most the allocated slice; without a
//! completion, the time since the slice began, at least a jiffy. Write-back of a group that has nothing else is charged
//! its whole slice. If the disk queues and is not idled (a solid-state disk: IOPS mode), time says nothing about use,
//! and each request costs one.
//! **Origin** docs/behaviour/elevators-4.20.md#g.4.
//! **In the kernel** `cfq_group_served`, `cfq_cfqq_slice_usage`, `cfq_scale_slice`.

use crate::elevators::cfq::state::slice::Slice;
use crate::time::Tick;

/// The time that a slice is charged for.
pub(crate) fn used(slice: &Slice, now: Tick, jiffy: Tick) -> Tick {
    match slice.started() {
        // At most the allocated slice: the group does not owe the time for which the disk was kept idle beyond the
        // slice's end, in the hope of the group's next request (`wait_while_alone`).
        Some(started) if started != now => (now - started).min(slice.allocated()),
        // Nothing has completed, or only at this very moment. The charge is at least a jiffy; otherwise a queue that is
        // repeatedly preempted at once would use the disk for free.
        _ => (now - slice.activated()).max(jiffy),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun_at(now: Tick) -> Slice {
        let mut slice = Slice::default();
        slice.activate(now);
        slice
    }

    #[test]
    fn a_slice_costs_the_time_since_its_first_completion_and_never_more_than_it_was_given() {
        let mut slice = begun_at(100);
        slice.start(150, 60);
        assert_eq!([150, 151, 200, 300].map(|now| used(&slice, now, 4)), [50, 1, 50, 60]);
    }

    #[test]
    fn without_a_completion_it_costs_all_the_time_and_at_least_a_jiffy() {
        let slice = begun_at(100);
        assert_eq!([101, 104, 130].map(|now| used(&slice, now, 4)), [4, 4, 30]);
    }
}
