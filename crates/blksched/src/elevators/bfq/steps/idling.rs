//! Leaving the disk idle for the next request of the in-service queue.
//!
//! **What for** A process that waits for each request before it sends the next has nothing queued in between. Giving
//! the disk away at that moment costs a seek there and back and, worse, costs the process its share.
//! **Rule** Idle if that raises throughput (a rotating disk that does not queue, or a queue that reads sequentially
//! with a short think time; no raised queue is busy), or if guarantees need it (the queue is raised and others are
//! busy, weights or classes differ, or, since 5.15, it is alone). 8 ms (`slice_idle`); 2 ms for a seeky queue in the
//! symmetric case; 20 ms for a raised one.
//! **Origin** docs/behaviour/elevators-6.1.md#b11; docs/behaviour/elevators-4.19-5.15.md#w4 and #y3; kernel
//! documentation, `block/bfq-iosched.rst`, "slice_idle" and "strict_guarantees".
//! **In the kernel** `bfq_arm_slice_timer`, `bfq_idle_slice_timer`, `bfq_better_to_idle`,
//! `idling_needed_for_service_guarantees`, `idling_boosts_thr_without_issues`, `bfq_idle_slice_timer_body`,
//! `strict_guarantees`.

use crate::elevator::IdleFor;
use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::rules::{Lone, Protected};
use crate::elevators::bfq::timeouts::Call;
use crate::explain::Reason;
use crate::time::Instant;

/// The longest wait for a queue that seeks.
const FOR_SEEKERS_NS: u64 = 2_000_000;

/// The least wait for a queue that is raised.
const FOR_RAISED_NS: u64 = 20_000_000;

/// From this many requests of other queues on, the device mostly serves theirs rather than this queue's.
const OTHERS_IN_DEVICE: u32 = 4;

impl Bfq {
    /// Whether idling gives more throughput than serving other queues.
    pub(super) fn idling_is_faster(&self, q: Qid) -> bool {
        let queue = &self.queues[q];
        let (rotational, deep) = (self.device.rate.is_rotational(), self.device.ncq.queues());
        let in_order = !queue.seeks.is_seeky() && queue.habits.is_io_bound() && queue.habits.has_short_ttime();
        self.may_be_protected(q)
            && ((rotational && !deep) || ((rotational || !deep) && in_order))
            // While a raised queue is busy, an idle disk would make that very queue wait.
            && self.busy.raised() == 0
    }

    /// Whether it would not get its share without idling.
    pub(super) fn idling_is_needed(&self, q: Qid) -> bool {
        let queue = &self.queues[q];
        let bursts = self.rules.protected == Protected::OutsideBursts;
        let others = || !bursts && self.device.in_device() >= queue.in_device() + OTHERS_IN_DEVICE;
        self.may_be_protected(q)
            && !(bursts && queue.birth.in_large_burst())
            && ((queue.is_raised() && (self.busy.raised() < self.busy.count() || others()))
                || self.is_asymmetric(q)
                // A single busy queue needs idling, even if it seeks and no other queue competes: kept as in the
                // kernel.
                || (self.rules.lone == Lone::Needed && self.busy.count() == 1))
    }

    /// Whether a process may send another request; 4.19 does not ask.
    fn may_be_protected(&self, q: Qid) -> bool {
        self.queues[q].sharing.processes() > 0 || self.rules.protected == Protected::OutsideBursts
    }

    /// Whether it is better to idle for it.
    pub(super) fn idling_is_better(&self, q: Qid) -> bool {
        let queue = &self.queues[q];
        self.may_be_protected(q)
            && (self.knobs.strict_guarantees
                || (self.slice_idle() > 0
                    && queue.is_sync()
                    // Neither write-back nor the idle class has a share that must be protected.
                    && !self.entity(q).is_idle_class()
                    && (self.idling_is_faster(q) || self.idling_is_needed(q))))
    }

    /// Whether it is empty and the disk is to wait for it.
    pub(super) fn must_idle(&self, q: Qid) -> bool {
        self.queues[q].is_empty() && self.idling_is_better(q)
    }

    pub(super) fn begin_idling(&mut self, call: &mut Call<'_>, q: Qid) {
        let queue = &self.queues[q];
        let mut wait = self.slice_idle();
        // Its next request costs a seek whether or not the disk waits for it.
        if queue.seeks.is_seeky() && !queue.is_raised() && !self.is_asymmetric(q) {
            wait = wait.min(FOR_SEEKERS_NS);
        } else if queue.is_raised() {
            // At least this long, however low a user has set `slice_idle`. No source says why 20 ms.
            wait = wait.max(FOR_RAISED_NS);
        }
        let until = Instant::from_ns(call.ns + wait);
        let why = IdleFor::Submitter(queue.owner());
        self.queues[q].slice.set_waits(true);
        self.idling.begin(call.ns, until);
        call.cx.wake_at(Some(until));
        call.explain(Reason::Armed { until, why });
    }

    pub(super) fn end_idling(&mut self, call: &mut Call<'_>, q: Qid) {
        self.queues[q].slice.set_waits(false);
        if self.idling.end() {
            call.cx.wake_at(None);
            call.explain(Reason::Cancelled);
        }
    }
}
