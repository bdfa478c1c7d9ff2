//! How many requests of the queue being served may be in flight.
//!
//! **Rule** None while the disk has write-back and the disk is to idle for this queue; no write-back while the disk has
//! requests that somebody waits for; else `quantum`, more if nobody else waits; and for write-back what `async_ramp`
//! says.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#s3 and #c33.8; docs/behaviour/elevators-4.20.md#x.16; [`Depth`] says
//! what differs.
//! **In the kernel** `cfq_may_dispatch`, `cfq_quantum`.

#![doc(alias = "cfq_may_dispatch")]
#![doc(alias = "cfq_quantum")]

use super::Cfq;
use super::async_ramp::{AsyncDepth, Ramp};
use super::qid::Qid;
use super::tunables::V2_6_32;
use crate::elevator::Cx;
use crate::explain::{HeldBack, Reason};
use crate::request::Waiter;

/// What a queue with nobody beside it may do, and whether write-back is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Alone: 4 × quantum (2.6.31).
    Quantum,
    /// Write-back drains before a queue is served that is idled for; alone: 4 × quantum (2.6.32).
    Drain,
    /// Write-back drains; alone there is no limit (2.6.33).
    DrainOrAlone,
    /// Write-back drains from the moment it is chosen; half of quantum, all of it if the slice will last so long, and
    /// alone, or the only reader, without limit. What has to go goes (4.20).
    WhileSliceLasts,
}

/// What the rule looks at.
#[derive(Clone, Copy, Debug)]
struct Load {
    waiter: Waiter,
    idle_class: bool,
    dispatched: u32,
    quantum: u32,
    /// Other queues wait.
    contended: bool,
    /// 4.20: a request has to go.
    must: bool,
    /// 4.20: it is the only queue with requests that somebody waits for.
    only_reader: bool,
    /// 4.20: with `slice_idle` for each request in flight, the slice will not last for another.
    slice_short: bool,
    /// The disk would idle for this queue and has write-back.
    must_drain: bool,
    /// The disk has requests that somebody waits for, or they are chosen.
    sync_in_flight: bool,
    /// How much write-back may be in flight.
    async_depth: Option<u32>,
}

fn allowed(rule: Depth, load: Load) -> Result<(), HeldBack> {
    if rule == Depth::WhileSliceLasts && load.must {
        return Ok(());
    }
    if load.must_drain && rule != Depth::Quantum {
        return Err(HeldBack::AsyncInFlight);
    }
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

/// How many requests of any queue may be in flight.
fn limit(rule: Depth, load: Load) -> Result<u32, HeldBack> {
    let quantum = if rule == Depth::WhileSliceLasts { (load.quantum / 2).max(1) } else { load.quantum };
    if load.idle_class {
        return Ok(1);
    }
    if load.dispatched < quantum {
        return Ok(quantum);
    }
    match rule {
        Depth::WhileSliceLasts if !load.contended || load.only_reader => Ok(u32::MAX),
        Depth::WhileSliceLasts if load.slice_short => Err(HeldBack::SliceShort),
        Depth::WhileSliceLasts => Ok(load.quantum),
        _ if load.contended => Ok(quantum),
        Depth::Quantum | Depth::Drain => Ok(quantum.saturating_mul(4)),
        Depth::DrainOrAlone => Ok(u32::MAX),
    }
}

impl Cfq {
    pub(super) fn may_dispatch(&mut self, cx: &mut Cx<'_>, q: Qid) -> bool {
        let async_depth = self.async_depth(cx, q);
        let now = self.now(cx);
        let async_in_flight = match self.rules.depth {
            Depth::WhileSliceLasts => self.in_flight.async_,
            _ => self.in_driver.async_,
        };
        let queue = &self.queues[q];
        let (owner, waiter) = (queue.owner, queue.waiter);
        let load = Load {
            waiter,
            idle_class: queue.is_idle_class(),
            dispatched: queue.dispatched,
            quantum: self.knobs.quantum as u32,
            contended: self.service.busy() > 1,
            must: queue.slice.must_dispatch,
            only_reader: queue.is_sync() && self.service.busy_sync() == 1,
            slice_short: !queue.slice.lasts(now, self.ticks.slice_idle * u64::from(queue.dispatched)),
            must_drain: async_in_flight > 0 && self.should_idle(cx, q),
            sync_in_flight: self.in_flight.sync > 0,
            async_depth,
        };
        let allowed = allowed(self.rules.depth, load);
        if let Err(why) = allowed {
            cx.explain(Reason::HeldBack { owner, waiter, why });
        }
        allowed.is_ok()
    }

    fn async_depth(&self, cx: &mut Cx<'_>, q: Qid) -> Option<u32> {
        let (queue, ticks, now) = (&self.queues[q], self.ticks, self.now(cx));
        // 2.6.31 has no such knob, and so never less than all of this.
        let wanted = self.knobs.low_latency || self.knobs.kernel < V2_6_32;
        if queue.is_sync() || !wanted {
            return None;
        }
        // The patch's product is 32 bits wide: it counts jiffies.
        let jiffy = if self.rules.async_depth == AsyncDepth::RemainingSlice { self.jiffy } else { 1 };
        let ramp = Ramp {
            last_sync: now.wrapping_sub(self.last_sync) / jiffy,
            delayed_sync: now.wrapping_sub(self.last_delayed_sync) / jiffy,
            left: queue.slice.left(now) / jiffy,
            slice_sync: ticks.slice_sync / jiffy,
            slice_idle: ticks.slice_idle / jiffy,
            dispatched: queue.dispatched,
        };
        let (depth, rule) = self.rules.async_depth.depth(ramp)?;
        cx.explain(Reason::AsyncDepth { depth, rule });
        Some(depth)
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
        must: false,
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
        assert_eq!(with(Load { dispatched: 900, must: true, must_drain: true, ..READER }), Ok(()));
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
