//! How many requests of the active queue may be in flight.
//!
//! **Rule** None while the disk has write-back and should idle for this queue; no write-back while the disk has
//! synchronous requests; otherwise `quantum`, more if no other queue waits; for write-back, the limit of `async_ramp`.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#s3 and #c33.8; docs/behaviour/elevators-4.20.md#x.16; [`Depth`] says
//! what differs.
//! **In the kernel** `cfq_may_dispatch`, `cfq_quantum`, `quantum`.

use crate::elevators::cfq::rules::Depth;
use crate::elevators::cfq::state::queue::CfqQueue;
use crate::elevators::cfq::state::slice::Duty;
use crate::explain::HeldBack;
use crate::request::Waiter;

/// The inputs of the rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) waiter: Waiter,
    pub(crate) idle_class: bool,
    pub(crate) dispatched: u32,
    pub(crate) quantum: u32,
    /// Whether other queues wait.
    pub(crate) contended: bool,
    /// 4.20: whether a request must be dispatched.
    pub(crate) duty: Duty,
    /// 4.20: whether it is the only queue with synchronous requests.
    pub(crate) only_reader: bool,
    /// 4.20: whether the slice is too short for another request, counting `slice_idle` for each one in flight.
    pub(crate) slice_short: bool,
    /// Whether the disk has write-back in flight and should idle for this queue.
    pub(crate) must_drain: bool,
    /// Whether synchronous requests are in the disk or on the dispatch list.
    pub(crate) sync_in_flight: bool,
    /// How much write-back may be in flight.
    pub(crate) async_depth: Option<u32>,
}

/// Whether a queue may obviously dispatch, which is the usual case: it is synchronous, it has little in flight, and the
/// disk has no write-back. Then no other limit needs to be checked.
#[inline(always)]
pub(crate) fn simply_allowed(rule: Depth, queue: &CfqQueue, quantum: u32, async_in_flight: u32) -> bool {
    queue.is_sync() && !queue.is_idle_class() && async_in_flight == 0 && queue.dispatched < at_first(rule, quantum)
}

/// How many requests may be in flight regardless of other queues.
#[inline(always)]
fn at_first(rule: Depth, quantum: u32) -> u32 {
    // 4.20 begins with half of `quantum`, and allows all of it only while the slice has time for the requests in
    // flight.
    if rule == Depth::WhileSliceLasts { (quantum / 2).max(1) } else { quantum }
}

pub(crate) fn allowed(rule: Depth, load: Load) -> Result<(), HeldBack> {
    // 4.20: the disk idled for this request, or the request is overdue. Held back by a limit, it would wait behind the
    // requests that it was to precede; earlier kernels hold it back nevertheless.
    if rule == Depth::WhileSliceLasts && load.duty == Duty::MustDispatch {
        return Ok(());
    }
    // The disk is about to idle for a reader, and the reader's next read would find it busy with write-back: a slice of
    // write-back, and the requests in flight at its end, cost readers up to 168 ms (the mail of 2009-11-27). 2.6.31
    // does not check this.
    if load.must_drain && rule != Depth::Quantum {
        return Err(HeldBack::AsyncInFlight);
    }
    // Beside a synchronous request, write-back would take the disk's time from the very process that is waiting.
    if load.waiter == Waiter::Async && load.sync_in_flight {
        return Err(HeldBack::SyncInFlight);
    }
    if load.dispatched >= limit(rule, load)? {
        return Err(HeldBack::Quantum);
    }
    match load.async_depth {
        Some(depth) if load.waiter == Waiter::Async && load.dispatched >= depth => Err(HeldBack::AsyncDepth),
        _ => Ok(()),
    }
}

/// How many requests of the queue may be in flight, write-back's own limit aside.
pub(crate) fn limit(rule: Depth, load: Load) -> Result<u32, HeldBack> {
    let quantum = at_first(rule, load.quantum);
    // One at a time, so that any other request finds at most one request of the idle class ahead of it.
    if load.idle_class {
        return Ok(1);
    }
    if load.dispatched < quantum {
        return Ok(quantum);
    }
    match rule {
        Depth::WhileSliceLasts if !load.contended || load.only_reader => Ok(u32::MAX),
        // Requests still in flight when the slice ends are served in the next queue's time.
        Depth::WhileSliceLasts if load.slice_short => Err(HeldBack::SliceShort),
        Depth::WhileSliceLasts => Ok(load.quantum),
        _ if load.contended => Ok(quantum),
        // No other queue waits, so more requests in flight delay no one. No source gives a reason for the factor of
        // four; 2.6.33 has no limit here.
        Depth::Quantum | Depth::Drain => Ok(quantum.saturating_mul(4)),
        Depth::DrainOrAlone => Ok(u32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READER: Load = Load {
        waiter: Waiter::Sync,
        idle_class: false,
        dispatched: 0,
        quantum: 4,
        contended: true,
        duty: Duty::None,
        only_reader: false,
        slice_short: false,
        must_drain: false,
        sync_in_flight: false,
        async_depth: None,
    };

    #[test]
    fn a_reader_among_others_has_quantum_requests_in_flight_and_alone_more() {
        let with = |rule, contended, dispatched| allowed(rule, Load { contended, dispatched, ..READER }).is_ok();
        assert!(with(Depth::Quantum, true, 3) && !with(Depth::Quantum, true, 4));
        assert!(with(Depth::Quantum, false, 15) && !with(Depth::Quantum, false, 16));
        assert!(with(Depth::DrainOrAlone, false, 1000));
    }

    #[test]
    fn in_4_20_half_of_quantum_goes_then_all_of_it_while_the_slice_lasts_and_the_only_reader_has_no_limit() {
        let with = |load| allowed(Depth::WhileSliceLasts, load);
        assert_eq!(with(Load { dispatched: 1, slice_short: true, ..READER }), Ok(()));
        assert_eq!(with(Load { dispatched: 2, slice_short: true, ..READER }), Err(HeldBack::SliceShort));
        assert_eq!(with(Load { dispatched: 3, ..READER }), Ok(()));
        assert_eq!(with(Load { dispatched: 4, ..READER }), Err(HeldBack::Quantum));
        assert_eq!(with(Load { dispatched: 900, slice_short: true, only_reader: true, ..READER }), Ok(()));
        assert_eq!(with(Load { dispatched: 900, duty: Duty::MustDispatch, must_drain: true, ..READER }), Ok(()));
    }

    #[test]
    fn the_idle_class_has_one_even_alone() {
        let load = Load { idle_class: true, contended: false, dispatched: 1, ..READER };
        assert_eq!(allowed(Depth::DrainOrAlone, load), Err(HeldBack::Quantum));
    }

    #[test]
    fn write_back_waits_for_readers_and_goes_no_deeper_than_the_ramp() {
        let write_back = Load { waiter: Waiter::Async, async_depth: Some(2), ..READER };
        let reading = Load { sync_in_flight: true, ..write_back };
        assert_eq!(allowed(Depth::Drain, reading), Err(HeldBack::SyncInFlight));
        assert_eq!(allowed(Depth::Drain, Load { dispatched: 2, ..write_back }), Err(HeldBack::AsyncDepth));
        assert_eq!(allowed(Depth::Drain, Load { dispatched: 1, ..write_back }), Ok(()));
    }

    #[test]
    fn since_2_6_32_write_back_drains_before_a_reader_is_served() {
        let load = Load { must_drain: true, ..READER };
        assert_eq!([Depth::Quantum, Depth::Drain].map(|rule| allowed(rule, load).is_ok()), [true, false]);
    }
}
