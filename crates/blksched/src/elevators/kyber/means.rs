//! 4.19's feedback: mean latencies within a window, and depths from the status of reads and synchronous writes.
//!
//! **Rule** A read or synchronous write that took longer than its target in the device opens a window of 10 ms. At its
//! end the mean latency of each of the two is great (at most half of the target), good, bad (above it) or awful (twice
//! or more). A domain whose latency is good gives up an eighth or a quarter of its depth, or half of it, if the other's
//! is bad or awful; a domain whose latency is bad gets one or two more if the other's is not. All other requests get
//! more while the better of the two is good, and lose a quarter or half otherwise. Another window, of 100 ms, follows
//! if one of the two is bad, or the others have less than their initial depth.
//! **Origin** docs/behaviour/elevators-4.19-5.15.md#k1.
//! **Costs when wrong** Here every window moves depths; later kernels' need 500 samples.
//! **In the kernel** `kyber_stat_timer_fn`, `kyber_lat_status`, `kyber_adjust_rw_depth`, `kyber_adjust_other_depth`.

use super::domain::PerDomain;
use super::tokens::Tokens;
use super::tunables::KyberTunables;
use crate::elevator::{Cx, IdleFor};
use crate::explain::{DepthChange, Domain, LatencyStatus, Reason};
use crate::time::{Instant, Jiffies, Span};

/// The window that a slow request opens, and one that follows another.
const FIRST: Span = Span::from_ms(10);
const NEXT: Span = Span::from_ms(100);

/// The latencies of a domain in the device within a window.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    ns: u64,
    samples: u64,
}

impl Sum {
    fn status(self, target: Span) -> Option<LatencyStatus> {
        let mean = self.ns.checked_div(self.samples)?;
        let target = target.as_ns();
        Some(match mean {
            _ if mean >= 2 * target => LatencyStatus::Awful,
            _ if mean > target => LatencyStatus::Bad,
            _ if mean <= target / 2 => LatencyStatus::Great,
            _ => LatencyStatus::Good,
        })
    }
}

/// The means, and the window.
#[derive(Debug, Default)]
pub(super) struct Means {
    reads: Sum,
    sync_writes: Sum,
    others: Sum,
    /// The end of the window, if one is open.
    due: Option<Instant>,
}

impl Means {
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Counts the latency of a completed request in the device.
    pub(super) fn count(
        &mut self,
        cx: &mut Cx<'_>,
        domain: Domain,
        took: Span,
        tunables: &KyberTunables,
        jiffies: Jiffies,
    ) {
        let target = match domain {
            Domain::Read => Some(tunables.read_lat_nsec),
            Domain::Write => Some(tunables.write_lat_nsec),
            Domain::Discard | Domain::Other => None,
        };
        if self.due.is_none() && target.is_some_and(|target| took > target) {
            self.open(cx, FIRST, jiffies);
        }
        if self.due.is_some() {
            let sum = match domain {
                Domain::Read => &mut self.reads,
                Domain::Write => &mut self.sync_writes,
                Domain::Discard | Domain::Other => &mut self.others,
            };
            sum.ns += took.as_ns();
            sum.samples += 1;
        }
    }

    fn open(&mut self, cx: &mut Cx<'_>, window: Span, jiffies: Jiffies) {
        let until = jiffies.instant(jiffies.tick(cx.now) + jiffies.ticks(window));
        self.due = Some(until);
        cx.wake_at(self.due);
        cx.explain(Reason::Armed { until, why: IdleFor::Statistics });
    }

    /// Handles the end of a window.
    pub(super) fn look(
        &mut self,
        cx: &mut Cx<'_>,
        tokens: &mut PerDomain<Tokens>,
        tunables: &KyberTunables,
        jiffies: Jiffies,
    ) {
        let Means { reads, sync_writes, others, .. } = core::mem::take(self);
        cx.wake_at(None);
        let reads = reads.status(tunables.read_lat_nsec);
        let writes = sync_writes.status(tunables.write_lat_nsec);
        resize(cx, tokens, Domain::Read, [reads, writes], of_two(reads, writes));
        resize(cx, tokens, Domain::Write, [writes, reads], of_two(writes, reads));
        resize(cx, tokens, Domain::Other, [reads, writes], of_the_others(others.samples > 0, reads, writes));
        let others = &tokens[Domain::Other];
        if reads.is_some_and(is_bad) || writes.is_some_and(is_bad) || others.depth() < others.most() {
            self.open(cx, NEXT, jiffies);
        }
    }
}

fn is_bad(status: LatencyStatus) -> bool {
    matches!(status, LatencyStatus::Bad | LatencyStatus::Awful)
}

/// How a depth changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Stays,
    Grows(u32),
    /// By a part, at least one.
    Loses {
        one_in: u32,
    },
    Halves,
}

impl Change {
    fn apply(self, depth: u32, most: u32) -> u32 {
        let changed = match self {
            Change::Stays => depth,
            Change::Grows(by) => depth + by,
            Change::Loses { one_in } => depth - (depth / one_in).max(1),
            Change::Halves => depth / 2,
        };
        changed.clamp(1, most)
    }
}

/// The change for reads, given their status and that of synchronous writes, or the other way round.
fn of_two(own: Option<LatencyStatus>, other: Option<LatencyStatus>) -> Change {
    use LatencyStatus::{Awful, Bad, Good, Great};
    match (own, other) {
        (None, _) => Change::Stays,
        (Some(_), None) => Change::Grows(1),
        (Some(own), Some(other)) if is_bad(own) == is_bad(other) => Change::Stays,
        (Some(Good), Some(Awful)) => Change::Loses { one_in: 4 },
        (Some(Good), Some(_)) => Change::Loses { one_in: 8 },
        (Some(Great), Some(Awful)) => Change::Halves,
        (Some(Great), Some(_)) => Change::Loses { one_in: 4 },
        (Some(Awful), Some(Great)) => Change::Grows(2),
        (Some(Bad | Awful), Some(_)) => Change::Grows(1),
    }
}

/// The change for all other requests.
fn of_the_others(any: bool, reads: Option<LatencyStatus>, writes: Option<LatencyStatus>) -> Change {
    let better = match (reads, writes) {
        (Some(reads), Some(writes)) => Some(reads.min(writes)),
        (reads, writes) => reads.or(writes),
    };
    match better {
        None => Change::Grows(2),
        Some(_) if !any => Change::Stays,
        Some(LatencyStatus::Great) => Change::Grows(2),
        Some(LatencyStatus::Good) => Change::Grows(1),
        Some(LatencyStatus::Bad) => Change::Loses { one_in: 4 },
        Some(LatencyStatus::Awful) => Change::Halves,
    }
}

fn resize(
    cx: &mut Cx<'_>,
    tokens: &mut PerDomain<Tokens>,
    domain: Domain,
    [own, other]: [Option<LatencyStatus>; 2],
    change: Change,
) {
    let tokens = &mut tokens[domain];
    let from = tokens.depth();
    let to = change.apply(from, tokens.most());
    if to != from {
        tokens.resize(to);
        cx.explain(Reason::TokensChanged { domain, from, to, why: DepthChange::Means { own, other } });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LatencyStatus::{Awful, Bad, Good, Great};

    #[test]
    fn twice_the_target_is_awful_and_half_of_it_is_great() {
        let status = |ns: u64| Sum { ns: 3 * ns, samples: 3 }.status(Span::from_ns(1001));
        assert_eq!([500, 501, 1001, 1002, 2001, 2002].map(status), [Great, Good, Good, Bad, Bad, Awful].map(Some));
        assert_eq!(Sum::default().status(Span::from_ns(1)), None);
    }

    #[test]
    fn a_good_domain_gives_way_to_a_bad_one_and_two_alike_stay() {
        let depth = |own, other| of_two(own, other).apply(100, 256);
        assert_eq!([Great, Good].map(|own| depth(Some(own), Some(Bad))), [75, 88]);
        assert_eq!([Great, Good].map(|own| depth(Some(own), Some(Awful))), [50, 75]);
        assert_eq!([Bad, Awful].map(|own| depth(Some(own), Some(Great))), [101, 102]);
        assert_eq!([Bad, Awful].map(|own| depth(Some(own), Some(Good))), [101, 101]);
        assert_eq!([depth(Some(Great), Some(Good)), depth(Some(Bad), Some(Awful)), depth(None, Some(Bad))], [100; 3]);
        assert_eq!([Great, Awful].map(|own| depth(Some(own), None)), [101, 101]);
        assert_eq!((of_two(Some(Good), Some(Bad)).apply(1, 256), of_two(Some(Bad), None).apply(256, 256)), (1, 256));
    }

    #[test]
    fn the_others_follow_the_better_of_the_two() {
        let depth = |any, reads, writes| of_the_others(any, reads, writes).apply(40, 64);
        assert_eq!((depth(false, None, None), depth(false, Some(Awful), None)), (42, 40));
        assert_eq!([Great, Good, Bad, Awful].map(|reads| depth(true, Some(reads), Some(Awful))), [42, 41, 30, 20]);
        assert_eq!(depth(true, None, Some(Good)), 41);
    }
}
