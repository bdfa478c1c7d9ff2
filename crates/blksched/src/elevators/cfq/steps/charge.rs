//! A group is charged for the slices of its queues.
//!
//! **Origin** docs/behaviour/elevators-4.20.md#x.12 and #g.4.
//! **In the kernel** `cfq_group_served`, `cfq_cfqq_slice_usage`, `iops_mode`, `cfq_group_notify_queue_add`.

use crate::elevator::Cx;
use crate::elevators::cfq::data::Cfq;
use crate::elevators::cfq::decide::charge::used;
use crate::elevators::cfq::ids::Qid;
use crate::elevators::cfq::rules::{Charge, Grouping};
use crate::explain::{Charged, Reason};

impl Cfq {
    /// Whether groups are charged for requests rather than for time (IOPS mode).
    fn counts_requests(&self) -> bool {
        self.rules.charge == Charge::RequestsWithoutIdling && self.ticks.slice_idle == 0 && self.ncq.queues()
    }

    /// How far behind the last group a group joins: 200 ms of virtual time, or `HZ/5`.
    pub(super) fn newcomers_delay(&self) -> u64 {
        let second = if self.counts_requests() { self.second() / self.jiffy } else { self.second() };
        second / 5
    }

    /// Charges the slice of `q`, which is over, to its group.
    pub(super) fn charge_group(&mut self, cx: &mut Cx<'_>, q: Qid) {
        let (queue, now) = (&self.queues[q], self.now);
        let g = queue.group;
        if self.rules.groups == Grouping::Off || !self.groups.is_waiting(g) {
            return;
        }
        let (charge, charged) = if self.counts_requests() {
            (u64::from(queue.slice.dispatched()), Charged::Requests(queue.slice.dispatched()))
        } else {
            // Write-back of a group that has nothing else is charged a whole slice, however little it used. No source
            // says why; kept.
            let time = if !queue.is_sync() && !self.service.has_sync(g) {
                queue.slice.allocated()
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
