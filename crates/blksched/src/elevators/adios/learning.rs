//! Completions as samples, and when models are updated.
//!
//! **Rule** A sample is the time since the last completion while anything was in flight, not the request's own service
//! time. On spinning disks its weight grows with the head's movement: 1, plus 1 for each bit of the distance from where
//! the last request *began*. 100 ms after the first sample the models are updated, all four in a fixed order; samples
//! that one leaves in the shared accumulators go to the next.
//! **Origin** docs/behaviour/adios-3.1.md#a8, #a10 and #a13, traps 6 and 9. For a distance of 0 the kernel's weight is
//! undefined; here it is 1.

use super::kind::{Kind, PerKind};
use super::model::{Model, Samples};
use super::order::Row;
use super::tunables::AdiosTunables;
use crate::elevator::{Cx, IdleFor};
use crate::explain::Reason;
use crate::request::Sector;
use crate::time::{Instant, Jiffies, Span, Tick};

/// Models are updated this long after a sample, at the latest.
const RENEW_AFTER: Span = Span::from_ms(100);

/// The last completion, and when models are updated.
#[derive(Debug, Default)]
pub(super) struct Learning {
    /// When a request last completed \[ns\]; 0 if nothing was in flight then, or none completed yet.
    last_time: u64,
    /// Where that request began; 0 if unknown.
    last_pos: u64,
    due: Option<Tick>,
}

/// A completion that yields a sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct CostSample {
    latency: u64,
    weight: u64,
}

impl Learning {
    /// Turns the completion of `row` into a sample; `in_flight`: the number of requests still in flight.
    pub(super) fn completed(
        &mut self,
        cx: &Cx<'_>,
        row: &Row,
        start: Sector,
        in_flight: u64,
        limit: Span,
    ) -> Option<CostSample> {
        let rotational = cx.device().rotational;
        if row.kind == Kind::Other {
            if rotational {
                self.last_pos = 0;
            }
            return None;
        }
        let now = cx.now.as_ns();
        let from = if self.last_time == 0 { row.started } else { self.last_time };
        self.last_time = if in_flight > 0 { now } else { 0 };
        let latency = now.checked_sub(from).filter(|_| row.bytes > 0)?;
        if latency > limit.as_ns() {
            return None;
        }
        let mut weight = 1;
        if rotational {
            if self.last_pos > 0 {
                weight += u64::from(u64::BITS - start.0.abs_diff(self.last_pos).leading_zeros());
            }
            self.last_pos = start.0;
        }
        Some(CostSample { latency, weight })
    }

    /// Adds a sample to its kind's model.
    pub(super) fn learn(
        &mut self,
        cx: &mut Cx<'_>,
        row: &Row,
        sample: CostSample,
        (models, shared): (&mut PerKind<Model>, &mut Samples),
        (jiffies, tunables): (Jiffies, &AdiosTunables),
    ) {
        let now = jiffies.tick(cx.now);
        let model = &mut models[row.kind];
        if model.sample(sample.latency, sample.weight, row.bytes, row.predicted) {
            model.renew(shared, now, jiffies, tunables);
            said(cx, row.kind, model);
        }
        let due = now + jiffies.ticks(RENEW_AFTER);
        if self.due.is_none_or(|before| due < before) {
            self.due = Some(due);
            let until = moment(due, jiffies);
            cx.explain(Reason::Armed { until, why: IdleFor::Statistics });
        }
    }

    /// When models are updated next.
    pub(super) fn due(&self, jiffies: Jiffies) -> Option<Instant> {
        self.due.map(|due| moment(due, jiffies))
    }

    pub(super) fn elapse(
        &mut self,
        cx: &mut Cx<'_>,
        models: &mut PerKind<Model>,
        shared: &mut Samples,
        (jiffies, tunables): (Jiffies, &AdiosTunables),
    ) {
        self.due = None;
        let now = jiffies.tick(cx.now);
        for kind in Kind::ALL {
            models[kind].renew(shared, now, jiffies, tunables);
            said(cx, kind, &models[kind]);
        }
    }
}

/// The first nanosecond of a tick.
fn moment(tick: Tick, jiffies: Jiffies) -> Instant {
    let at = jiffies.instant(tick);
    if jiffies.tick(at) < tick { at + Span::from_ns(1) } else { at }
}

fn said(cx: &mut Cx<'_>, kind: Kind, model: &Model) {
    cx.explain(Reason::Learned { domain: kind.domain(), base: model.base, slope: model.slope });
}
