//! The invariants of the state.
//!
//! **Rule** Every stored count is counted again after every call in a test.
//! **In the kernel** `cfq_data`.

use crate::elevators::cfq::data::Cfq;
use crate::elevators::cfq::rules::Grouping;
use crate::request::Requests;

impl Cfq {
    /// The invariants of the state.
    pub(super) fn check_state(&self, requests: &Requests) {
        let (mut queued, mut waiting, mut reading) = (0, 0, 0);
        for (q, queue) in self.queues.iter() {
            let members = self.sorted.iter(queue.sorted);
            members.for_each(|slot| assert!(requests.is_live(crate::request::RequestId::from_index(slot))));
            let by_age = self.rows.iter(queue.fifo).count();
            assert_eq!(queue.sorted.len() as usize, by_age, "queue {q}: the orders hold different requests");
            assert_eq!(queue.next.is_some(), !queue.is_empty(), "queue {q}: a next request exactly if there are any");
            assert!(queue.is_empty() || queue.served_in.is_some(), "queue {q} has requests but waits for no slice");
            assert!(queue.positioned_in.is_none() || !queue.is_empty(), "queue {q} is nowhere but has a position");
            let idle = queue.is_empty() && queue.dispatched == 0 && queue.served_in.is_none();
            assert!(queue.held_by.requests() > 0 || idle || self.active.is(q), "queue {q} lives for nothing");
            queued += queue.sorted.len();
            waiting += u32::from(queue.served_in.is_some());
            reading += u32::from(queue.served_in.is_some() && queue.is_sync());
        }
        assert_eq!((self.queued, self.service.busy(), self.service.busy_sync()), (queued, waiting, reading));
        let counts = self.rules.groups == Grouping::On;
        let (mut in_groups, mut in_flight) = (0, 0);
        for (g, group) in self.groups.iter() {
            let queues = self.service.in_group(g);
            assert_eq!(counts && queues > 0, self.groups.is_waiting(g), "group {g} waits exactly if its queues do");
            in_groups += queues;
            in_flight += group.in_flight();
        }
        assert_eq!(
            (in_groups, in_flight),
            (self.service.busy(), self.in_device.sync_in_flight() + self.in_device.async_in_flight())
        );
        assert!(self.active.queue().is_some() || self.active.process().is_none());
    }
}
