//! Weight raising: a queue that has just started, or needs little I/O but in time, is served as if it had 30 or 3000
//! times its weight.
//!
//! **What for** An application starts, and a video plays, as fast as on an idle disk, whatever else is going on.
//! **Rule** *Interactive*: a queue that becomes busy after 2 s without I/O, for as long as an application of some size
//! takes to load on this disk (3 s to 25 s), or until it has received 120,000 sectors. *Soft real-time*: a queue whose
//! rate does not exceed 7000 sectors per second, for 300 ms, renewed as long as that holds. *Write-back*: after 500 ms
//! without I/O. Raising ends early in a large burst.
//! **Origin** docs/behaviour/elevators-6.1.md#b6 and #b10; docs/behaviour/elevators-4.19-5.15.md#w11, #y9, #y10; kernel
//! documentation, `block/bfq-iosched.rst`, "low_latency".
//! **Costs when wrong** A process that keeps looking like a starting application gets 30 times its share.
//! **In the kernel** `wr_coeff`, `bfq_bfqq_softrt_next_start`, `bfq_update_bfqq_wr_on_rq_arrival`, `bfq_wr_duration`,
//! `switch_back_to_interactive_wr`, `bfq_bfqq_end_wr`, `bfq_end_wr`, `bfq_update_wr_data`.

use alloc::vec::Vec;

use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::hierarchy::entity::Node;
use crate::elevators::bfq::ids::Qid;
use crate::elevators::bfq::state::raising::{Raising, interactive_lasts};
use crate::elevators::bfq::timeouts::{Call, Jiffy};
use crate::explain::{Raised, RaisingEnd, Reason};

impl Bfq {
    pub(super) fn interactive_lasts(&self) -> Jiffy {
        interactive_lasts(&self.device.rate, &self.timeouts)
    }

    /// Sets a queue's raising, with the factor of its weight and the number of busy raised queues.
    pub(super) fn set_raising(&mut self, q: Qid, raising: Raising) {
        self.busy.set_raising(&mut self.queues[q], self.hierarchy.entity_mut(q), raising);
    }

    /// Ends its raising; its own weight applies when it next enters a service tree.
    fn end_raising_silently(&mut self, now: Jiffy, q: Qid) {
        self.set_raising(q, self.queues[q].raising().ended(now, self.rules.soft_start));
        self.entity_mut(q).reweigh();
    }

    pub(super) fn end_raising(&mut self, call: &mut Call<'_>, q: Qid, why: RaisingEnd) {
        self.end_raising_silently(call.now, q);
        call.explain(Reason::RaisingEnded { owner: self.queues[q].owner(), why });
    }

    /// Ends soft real-time raising; the rest of an interactive raising continues.
    pub(super) fn end_soft_real_time(&mut self, call: &mut Call<'_>, q: Qid, why: RaisingEnd) {
        let again = self.queues[q].raising().interactive_again(call.now, self.interactive_lasts());
        let Some(raising) = again else { return self.end_raising(call, q, why) };
        self.set_raising(q, raising);
        self.entity_mut(q).reweigh();
        self.say_raised(call, q, Raised::InteractiveAgain);
    }

    /// Ends a queue's raising, after it was served, if it has lasted long enough.
    #[inline(always)]
    pub(super) fn watch_raising(&mut self, call: &mut Call<'_>, q: Qid) {
        let mut queue = &self.queues[q];
        let raising = queue.raising();
        let lasts = !queue.birth.in_large_burst() && !raising.is_over(call.now) && !raising.is_served_enough();
        if raising.is_raised() && !lasts {
            self.end_what_is_over(&mut call.apart(), q);
            queue = &self.queues[q];
        }
        let entity = self.entity(q);
        // Applied at once rather than when it next enters a tree, as a queue that never runs empty would keep its
        // raised weight. Its class stays, since another class would need another tree.
        if (entity.weight() > entity.own_weight()) != queue.is_raised() {
            self.hierarchy.apply_priority(Node::queue(q), false);
        }
    }

    /// Ends a raising, for one of three reasons.
    #[inline(never)]
    fn end_what_is_over(&mut self, call: &mut Call<'_>, q: Qid) {
        let queue = &self.queues[q];
        let raising = *queue.raising();
        if queue.birth.in_large_burst() {
            self.end_raising(call, q, RaisingEnd::LargeBurst);
        } else if raising.is_over(call.now) && raising.is_soft_real_time() {
            self.end_soft_real_time(call, q, RaisingEnd::TimeUp);
        } else if raising.is_over(call.now) {
            self.end_raising(call, q, RaisingEnd::TimeUp);
        }
        // Otherwise a backup that begins after a pause would be raised for the whole maximum duration of an
        // application's start.
        if self.queues[q].raising().is_served_enough() {
            self.end_raising(call, q, RaisingEnd::ServedEnough);
        }
    }

    /// Computes when a queue, which has become idle, may next count as soft real-time.
    pub(super) fn note_soft_real_time(&mut self, now: Jiffy, q: Qid) {
        let idle = (self.slice_idle() / self.tick_ns()) as Jiffy;
        self.queues[q].note_soft_real_time(now, self.timeouts.second, idle);
    }

    pub(super) fn say_raised(&self, call: &mut Call<'_>, q: Qid, why: Raised) {
        let queue = &self.queues[q];
        let (owner, waiter, times) = (queue.owner(), queue.waiter(), queue.raising().times() as u32);
        call.explain(Reason::WeightRaised { owner, waiter, why, times });
    }

    /// Ends the raising of all queues. MEMORY: kernels do this when `low_latency` is turned off.
    pub(in crate::elevators::bfq) fn end_all_raising(&mut self) {
        let now = self.clock.latest();
        let raised: Vec<_> = self.queues.iter().filter(|(_, queue)| queue.is_raised()).map(|(q, _)| q).collect();
        raised.into_iter().for_each(|q| self.end_raising_silently(now, q));
    }
}
