//! The timer: when latencies are judged, and what follows.
//!
//! **Rule** A completion sets the timer for a tenth of a second later, unless it is already set. The timer does not run
//! the queue. Reads, writes and discards are judged, in this order; first the device latency of all, then the total
//! latency of each.
//! **Origin** docs/behaviour/elevators-6.1.md#kyber "Latency" and "Timer". The target of discards is 5 s and cannot be
//! set. (A real kernel's timer may fire a tick later: its wheel rounds.)
//! **In the kernel** `kyber_timer_fn`, `KYBER_GOOD_BUCKETS`, `latency_buckets`, `read_lat_nsec`, `write_lat_nsec`.

use super::depth::{self, Remembered};
use super::domain::PerDomain;
use super::latency::{Judged, Latencies};
use super::tokens::Tokens;
use super::tunables::KyberTunables;
use crate::elevator::{Cx, IdleFor};
use crate::explain::{Domain, Latency, Reason};
use crate::time::{Instant, Jiffies, Span, Tick};

/// The domains that have a target.
const JUDGED: [Domain; 3] = [Domain::Read, Domain::Write, Domain::Discard];

const DISCARD_TARGET: Span = Span::from_secs(5);

/// The latency target of a domain, if it has one.
#[inline(always)]
fn target(domain: Domain, tunables: &KyberTunables) -> Option<Span> {
    if matches!(domain, Domain::Read | Domain::Write) {
        // Which of the two it is cannot be predicted.
        let is_read = domain == Domain::Read;
        return Some(core::hint::select_unpredictable(is_read, tunables.read_lat_nsec, tunables.write_lat_nsec));
    }
    (domain == Domain::Discard).then_some(DISCARD_TARGET)
}

/// The latencies measured, and the timer.
#[derive(Debug, Default)]
pub(super) struct Statistics {
    domains: [Watched; JUDGED.len()],
    due: Option<Instant>,
}

#[derive(Debug, Default)]
struct Watched {
    latencies: Latencies,
    remembered: Remembered,
}

impl Statistics {
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Counts the latencies of a completed request of `domain`.
    #[inline(always)]
    pub(super) fn count(
        &mut self,
        cx: &mut Cx<'_>,
        domain: Domain,
        [total, device]: [Span; 2],
        tunables: &KyberTunables,
        jiffies: Jiffies,
    ) {
        let Some(target) = target(domain, tunables) else { return };
        let latencies = &mut self.domains[domain as usize].latencies;
        latencies.count(Latency::Total, total, target);
        latencies.count(Latency::Device, device, target);
        // A timer that is already set is due earlier than one set now.
        if self.due.is_none() {
            self.arm(&mut cx.apart(), jiffies);
        }
    }

    #[inline(never)]
    fn arm(&mut self, cx: &mut Cx<'_>, jiffies: Jiffies) {
        let until = jiffies.instant(jiffies.tick(cx.now) + Tick::from(jiffies.hz() / 10));
        self.due = Some(until);
        cx.wake_at(self.due);
        cx.explain(Reason::Armed { until, why: IdleFor::Statistics });
    }

    /// Handles the timer: judges latencies and resizes domains.
    pub(super) fn look(&mut self, cx: &mut Cx<'_>, tokens: &mut PerDomain<Tokens>, jiffies: Jiffies) {
        self.due = None;
        cx.wake_at(None);
        let (now, a_second) = (jiffies.tick(cx.now), Tick::from(jiffies.hz()));
        let mut device_has_too_much = false;
        for domain in JUDGED {
            let latencies = &mut self.domains[domain as usize].latencies;
            latencies.look();
            let judged = latencies.judge(Latency::Device, now, a_second);
            explain(cx, domain, Latency::Device, judged);
            device_has_too_much |= judged.is_some_and(Judged::is_bad);
        }
        for domain in JUDGED {
            let Watched { latencies, remembered } = &mut self.domains[domain as usize];
            let judged = latencies.judge(Latency::Total, now, a_second);
            explain(cx, domain, Latency::Total, judged);
            let total = remembered.go_by(judged, device_has_too_much);
            let tokens = &mut tokens[domain];
            let (from, most) = (tokens.depth(), tokens.most());
            let change = total.and_then(|total| depth::decide(from, most, total, device_has_too_much));
            if let Some((to, why)) = change {
                tokens.resize(to);
                cx.explain(Reason::TokensChanged { domain, from, to, why });
            }
        }
    }
}

fn explain(cx: &mut Cx<'_>, domain: Domain, latency: Latency, judged: Option<Judged>) {
    if let Some(judged) = judged {
        cx.explain(Reason::LatencyJudged { domain, latency, quarters: judged.quarters() });
    }
}
