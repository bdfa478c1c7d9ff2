//! Writeback throttling as a policy between merging and slots.
//!
//! **In the kernel** `wbt_rqos_ops`, `wbt_init`, `wbt_issue`, `wbt_track`, `wbt_requeue`.

use super::super::mq::Task;
use super::super::rq_qos::{OwnThrottling, QosCx, RqQos, Throttled};
use super::{Kind, Throttle};
use crate::request::{Bio, RequestId};
use crate::time::Instant;

impl RqQos for Throttle {
    fn name(&self) -> &'static str {
        "wbt"
    }

    fn throttle(&mut self, cx: &mut QosCx<'_>, task: Task, bio: &Bio) -> Throttled {
        Throttle::throttle(self, cx.now, task, Kind::of(bio))
    }

    fn resumed(&mut self, cx: &mut QosCx<'_>, _task: Task, _bio: &Bio) {
        Throttle::resumed(self, cx.now);
    }

    fn track(&mut self, _cx: &mut QosCx<'_>, rq: RequestId, bio: &Bio) {
        Throttle::track(self, rq, Kind::of(bio));
    }

    fn issued(&mut self, cx: &mut QosCx<'_>, rq: RequestId) {
        Throttle::issued(self, cx.now, rq);
    }

    fn requeued(&mut self, _cx: &mut QosCx<'_>, rq: RequestId) {
        Throttle::requeued(self, rq);
    }

    fn done(&mut self, cx: &mut QosCx<'_>, rq: RequestId) {
        Throttle::done(self, cx.now, rq, cx.woke);
    }

    fn absorbed(&mut self, cx: &mut QosCx<'_>, _into: RequestId, victim: RequestId) {
        Throttle::absorbed(self, cx.now, victim, cx.woke);
    }

    fn elevator(&mut self, _cx: &mut QosCx<'_>, own: OwnThrottling) {
        match own {
            OwnThrottling::Yes => self.disable_default(),
            OwnThrottling::No => self.enable_default(),
        }
    }

    fn dirty_wait(&mut self, now: Instant) {
        Throttle::dirty_wait(self, now);
    }

    fn deadline(&self) -> Option<Instant> {
        Throttle::deadline(self)
    }

    fn elapse(&mut self, cx: &mut QosCx<'_>) {
        Throttle::elapse(self, cx.now, cx.woke);
    }
}
