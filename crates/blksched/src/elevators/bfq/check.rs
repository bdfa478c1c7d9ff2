//! The invariants of the state.
//!
//! **Rule** Every stored count is counted again after every call in a test.
//! **In the kernel** `bfq_data`.

use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::hierarchy::entity::EntityPlace;
use crate::request::Requests;

impl Bfq {
    /// The invariants of the state.
    pub(super) fn check_state(&self, requests: &Requests) {
        let (mut queued, mut in_device, mut busy, mut raised) = (0, 0, 0, 0);
        for (q, queue) in self.queues.iter() {
            let entity = self.entity(q);
            let members = self.sorted.iter(queue.sorted);
            members.for_each(|slot| assert!(requests.is_live(crate::request::RequestId::from_index(slot))));
            let by_age = self.rows.iter(queue.fifo).count();
            assert_eq!(queue.sorted.len() as usize, by_age, "queue {q}: the orders hold different requests");
            assert_eq!(queue.next.is_some(), !queue.is_empty(), "queue {q}: a next request exactly if there are any");
            assert!(queue.is_empty() || queue.is_busy(), "queue {q} has requests and is not busy");
            let served = self.hierarchy.in_service() == Some(q);
            let waits = entity.place() == EntityPlace::Active;
            assert_eq!(
                queue.is_busy(),
                waits || served,
                "queue {q} is busy exactly if it waits for service or is served"
            );
            assert_eq!(waits, self.hierarchy.waits(q), "queue {q} is listed exactly if it waits for service");
            assert_eq!(entity.times(), queue.raising().times(), "queue {q} counts as raised as it is");
            assert!(entity.weight() > 0 && entity.own_weight() > 0, "queue {q} weighs nothing");
            assert_eq!(entity.allocated(), i64::from(queue.sharing.requests()), "queue {q}");
            queued += queue.sorted.len();
            in_device += queue.in_device();
            busy += i64::from(queue.is_busy());
            raised += i64::from(queue.is_busy() && queue.is_raised());
        }
        assert_eq!((queued, in_device), (self.queued, self.device.in_device()));
        assert_eq!((busy, raised), (self.busy.count(), self.busy.raised()));
        assert!(self.idling.until().is_none() || self.hierarchy.in_service().is_some(), "the disk idles for no queue");
        assert!(!self.hierarchy.has_left(), "a queue left and was not let go");
        self.hierarchy.check_levels();
    }
}
