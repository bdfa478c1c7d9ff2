//! The depth of write-back: few requests in flight while reads may arrive, more when they do not.
//!
//! **What for** A disk with 31 write-back requests cannot serve readers until it has done them: up to 40 ms of slice +
//! 16 × 8 ms = 168 ms (the mail of 2009-11-27). With one in flight it is 40 + 8 = 48 ms.
//! **Rule** see each function. All times in ticks.
//! **Origin** `since_last_sync` 2.6.32 (the mail's "old formula"), `remaining_slice` the patch of the mail of
//! 2009-11-26, `since_delayed_sync` 2.6.33; docs/behaviour/elevators-2.5-2.6.md#s3 and #c33.8.
//! **Shown by** the recordings of 2.6.32 with and without the patch.
//! **Costs when wrong** too shallow starves reclaim of clean pages, too deep makes reads wait.
//! **In the kernel** `cfq_may_dispatch`, `last_delayed_sync`, `slice_async_rq`.

use crate::elevators::cfq::rules::AsyncDepth;
use crate::explain::DepthRule;

/// The inputs of the formulas \[ticks\].
#[derive(Clone, Copy, Debug)]
pub struct Ramp {
    /// Time since the last synchronous request completed.
    pub last_sync: u64,
    /// Time since the last synchronous request that completed late.
    pub delayed_sync: u64,
    /// The rest of the slice; 0 before its first completion, as it has no end until then.
    pub left: u64,
    /// The knob.
    pub slice_sync: u64,
    /// The knob.
    pub slice_idle: u64,
    /// Requests of the queue in flight.
    pub dispatched: u32,
}

impl AsyncDepth {
    /// How many requests may be in flight, and the formula that says so; `None` if there is no limit.
    pub fn depth(self, ramp: Ramp) -> Option<(u32, DepthRule)> {
        let Ramp { last_sync, delayed_sync, left, slice_sync, slice_idle, dispatched } = ramp;
        match self {
            AsyncDepth::Unlimited => None,
            AsyncDepth::SinceLastSync => {
                Some((since_sync(last_sync, slice_sync, dispatched), DepthRule::SinceLastSync))
            }
            AsyncDepth::SinceDelayedSync => {
                Some((since_sync(delayed_sync, slice_sync, dispatched), DepthRule::SinceDelayedSync))
            }
            AsyncDepth::RemainingSlice => {
                Some((remaining_slice(last_sync, left, slice_sync, slice_idle), DepthRule::RemainingSlice))
            }
        }
    }
}

/// One more for each `slice_sync` that has passed, and one if nothing is in flight: `depth = since / slice_sync`.
///
/// In ticks of 1 ms, with the defaults: one at a time for 200 ms, then two.
/// ```
/// use blksched::elevators::cfq::since_sync;
/// assert_eq!([0, 99, 100, 150, 199, 200, 300].map(|since| since_sync(since, 100, 0)), [1, 1, 1, 1, 1, 2, 3]);
/// // With one in flight during the first 100 ms the depth is zero: no more may be dispatched.
/// assert_eq!(since_sync(99, 100, 1), 0);
/// ```
/// With one request of 8 ms in flight at its end, a slice of 40 ms takes 48 ms at most; with the 16 of the mail 168 ms.
/// ```
/// let (slice, service) = (40, 8);
/// assert_eq!([1, 16].map(|in_flight| slice + in_flight * service), [48, 168]);
/// ```
pub fn since_sync(since: u64, slice_sync: u64, dispatched: u32) -> u32 {
    match (since / slice_sync.max(1)) as u32 {
        // Without this one, write-back beside a steady reader would never go at all.
        0 if dispatched == 0 => 1,
        depth => depth,
    }
}

/// One, plus as many as fit into the rest of the slice; more the longer ago the last synchronous request completed:
/// `depth = 1 + last_sync·left / (slice_sync·slice_idle)`, in the patch's 32-bit arithmetic.
///
/// With a fresh slice of 40 ms and `slice_idle` 8 ms: 6 requests 100 ms after the last sync request and 8 after 150 ms.
/// The mail's prose says 5 (`async_slice/slice_idle`) and forgets the one that its code begins with.
/// ```
/// use blksched::elevators::cfq::remaining_slice;
/// assert_eq!(remaining_slice(100, 40, 100, 8), 6);
/// assert_eq!(remaining_slice(150, 40, 100, 8), 8);
/// // At the end of the slice one at a time, if the last sync request was recent …
/// assert_eq!(remaining_slice(150, 5, 100, 8), 1);
/// // … and also before the first completion, when the slice has no end yet.
/// assert_eq!(remaining_slice(150, 0, 100, 8), 1);
/// ```
/// The mail promises 48 ms within the first 200 ms, as before. That holds if each request takes no longer than
/// `slice_idle` and the last sync request is no more than 100 ms ago: then all but one of the allowed requests fit into
/// the rest of the slice.
/// ```
/// # use blksched::elevators::cfq::remaining_slice;
/// let worst = |since: u64, service: u64| {
///     (1..=40).map(|left| 40 - left + u64::from(remaining_slice(since, left, 100, 8)) * service).max().unwrap()
/// };
/// assert_eq!(worst(100, 8), 48);
/// // It does not hold from 100 to 200 ms, nor for slower requests, nor long after the last sync request.
/// assert_eq!(worst(150, 8), 66);
/// assert_eq!(worst(199, 8), 83);
/// assert_eq!(worst(100, 12), 72);
/// assert_eq!(worst(1000, 8), 408);
/// ```
pub fn remaining_slice(last_sync: u64, left: u64, slice_sync: u64, slice_idle: u64) -> u32 {
    // The patch computes this in 32 bits, so with 40 ms left the depth restarts at one after 30 hours without a
    // synchronous request. Kept.
    let boosted = (last_sync as u32).wrapping_mul(left as u32);
    let each = (slice_sync as u32).wrapping_mul(slice_idle as u32).max(1);
    (boosted / each).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_looks_at_its_own_clock() {
        let ramp = Ramp { last_sync: 250, delayed_sync: 1000, left: 40, slice_sync: 100, slice_idle: 8, dispatched: 3 };
        let depth = |rule: AsyncDepth| rule.depth(ramp).map(|(depth, _)| depth);
        assert_eq!(depth(AsyncDepth::Unlimited), None);
        assert_eq!(depth(AsyncDepth::SinceLastSync), Some(2));
        assert_eq!(depth(AsyncDepth::SinceDelayedSync), Some(10));
        assert_eq!(depth(AsyncDepth::RemainingSlice), Some(13));
    }

    #[test]
    fn without_idling_the_patch_divides_by_one() {
        assert_eq!(remaining_slice(100, 40, 100, 0), 4001);
    }
}
