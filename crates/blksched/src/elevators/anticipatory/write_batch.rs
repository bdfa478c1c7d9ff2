//! The rule that says how many requests a batch of writes has: feedback on how long the last one took.
//!
//! **What for** A disk with a write cache reports completion at once and writes later, in the readers' time. The real
//! duration of a batch is known only when the first read after it completes.
//! **Rule** Count down the requests of the batch. When the first read after it completes, compare the time since the
//! batch began with `write_batch_expire`: more than three times as long: half as many requests next time; longer: one
//! less; less than a third: twice as many; shorter: one more. More only if the batch used up its count, fewer only if
//! it never ran dry; at least one.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#a.9.
//! **In the kernel** `update_write_batch`, `write_batch_count`, `write_batch_idled`, `write_batch_expire`.

use crate::time::Tick;

/// Whether the batch always had something to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteBatchPace {
    Busy,
    /// It ran dry, or continued with no read waiting, so its duration says nothing.
    Idled,
}

/// The size of batches of writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriteBatch {
    /// The number of requests of a batch.
    pub(super) requests: u32,
    /// The number of requests that this batch may still have.
    pub(super) left: u32,
    pace: WriteBatchPace,
}

impl WriteBatch {
    /// The initial size is a tenth of `write_batch_expire`'s default, in ticks; no batch has begun.
    pub(super) fn new(write_batch: Tick) -> WriteBatch {
        WriteBatch { requests: (write_batch / 10).max(2) as u32, left: 0, pace: WriteBatchPace::Busy }
    }

    pub(super) fn begin(&mut self) {
        self.left = self.requests;
        self.pace = WriteBatchPace::Busy;
    }

    pub(super) fn count(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    pub(super) fn idle(&mut self) {
        self.pace = WriteBatchPace::Idled;
    }

    /// Adapts the size to a batch that took `took` ticks of the `allowed`.
    pub(super) fn fit(&mut self, took: Tick, allowed: Tick) {
        self.requests = fitted(*self, took, allowed);
    }
}

fn fitted(batch: WriteBatch, took: Tick, allowed: Tick) -> u32 {
    let WriteBatch { requests, left, pace } = batch;
    let fitted = if took > allowed && pace == WriteBatchPace::Busy {
        if took > 3 * allowed { requests / 2 } else { requests - 1 }
    } else if took < allowed && left == 0 {
        if allowed > 3 * took { requests.saturating_mul(2) } else { requests.saturating_add(1) }
    } else {
        requests
    };
    fitted.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(took: Tick, left: u32, pace: WriteBatchPace) -> u32 {
        fitted(WriteBatch { requests: 12, left, pace }, took, 125)
    }

    #[test]
    fn a_batch_far_too_long_is_halved_and_one_too_long_loses_a_request() {
        assert_eq!(
            (
                after(376, 0, WriteBatchPace::Busy),
                after(375, 0, WriteBatchPace::Busy),
                after(126, 0, WriteBatchPace::Busy)
            ),
            (6, 11, 11)
        );
    }

    #[test]
    fn a_batch_far_too_short_is_doubled_and_one_too_short_gains_a_request() {
        assert_eq!(
            (
                after(41, 0, WriteBatchPace::Busy),
                after(42, 0, WriteBatchPace::Busy),
                after(125, 0, WriteBatchPace::Busy)
            ),
            (24, 13, 12)
        );
    }

    #[test]
    fn a_batch_that_ran_dry_does_not_shrink_and_one_not_used_up_does_not_grow() {
        assert_eq!((after(400, 0, WriteBatchPace::Idled), after(10, 1, WriteBatchPace::Busy)), (12, 12));
    }

    #[test]
    fn a_batch_has_at_least_one_request() {
        assert_eq!(fitted(WriteBatch { requests: 1, left: 0, pace: WriteBatchPace::Busy }, 1000, 125), 1);
    }
}
