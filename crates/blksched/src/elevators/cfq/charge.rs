//! What a turn costs its group: the time it had, or the requests it sent.
//!
//! **Rule** The time from the turn's first completion, at most its slice; without a completion the time since it began,
//! at least a jiffy. Write-back of a group that has nothing else costs its whole slice. Where the disk does not idle
//! and queues (a solid-state disk: IOPS mode), time says nothing about use, and each request costs one.
//! **Origin** docs/behaviour/elevators-4.20.md#g.4.
//! **In the kernel** `cfq_group_served`, `cfq_cfqq_slice_usage`, `cfq_scale_slice`.

#![doc(alias = "cfq_group_served")]
#![doc(alias = "cfq_cfqq_slice_usage")]
#![doc(alias = "cfq_scale_slice")]

use super::Cfq;
use super::groups::Grouping;
use super::qid::Qid;
use super::slice::Slice;
use crate::elevator::Cx;
use crate::explain::{Charged, Reason};
use crate::time::Tick;

/// What groups are charged for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// Time, on any disk.
    Time,
    /// Requests, if the disk queues and does not idle between them; else time (4.20).
    RequestsWithoutIdling,
}

/// The time that a turn had.
fn used(slice: &Slice, now: Tick, jiffy: Tick) -> Tick {
    match slice.started {
        Some(started) if started != now => (now - started).min(slice.allocated),
        _ => (now - slice.activated).max(jiffy),
    }
}

impl Cfq {
    /// Requests count, not time.
    pub(super) fn counts_requests(&self) -> bool {
        self.rules.charge == Charge::RequestsWithoutIdling && self.ticks.slice_idle == 0 && self.ncq.queues()
    }

    /// How far behind the last group a newcomer begins: 200 ms of virtual time, or `HZ/5`.
    pub(super) fn newcomers_delay(&self) -> u64 {
        let second = if self.counts_requests() { self.second() / self.jiffy } else { self.second() };
        second / 5
    }

    /// The turn of `q` is over: its group pays.
    pub(super) fn pay(&mut self, cx: &mut Cx<'_>, q: Qid) {
        let (queue, now) = (&self.queues[q], self.now(cx));
        let g = queue.group;
        if self.rules.groups == Grouping::Off || !self.groups.is_waiting(g) {
            return;
        }
        let (charge, charged) = if self.counts_requests() {
            (u64::from(queue.slice.dispatched), Charged::Requests(queue.slice.dispatched))
        } else {
            let time = if !queue.is_sync() && !self.service.has_sync(g) {
                queue.slice.allocated
            } else {
                used(&queue.slice, now, self.jiffy)
            };
            (time, Charged::Time(self.unit.span(time)))
        };
        let fraction = self.groups[g].share.fraction() as u32;
        cx.explain(Reason::GroupCharged { group: self.groups[g].id, charged, fraction });
        self.groups.charge(g, charge);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_costs_the_time_since_its_first_completion_and_never_more_than_its_slice() {
        let slice = Slice { activated: 100, started: Some(150), allocated: 60, ..Slice::default() };
        assert_eq!([150, 151, 200, 300].map(|now| used(&slice, now, 4)), [50, 1, 50, 60]);
    }

    #[test]
    fn without_a_completion_it_costs_all_the_time_and_at_least_a_jiffy() {
        let slice = Slice { activated: 100, ..Slice::default() };
        assert_eq!([101, 104, 130].map(|now| used(&slice, now, 4)), [4, 4, 30]);
    }
}
