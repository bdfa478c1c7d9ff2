//! A shared queue that seeks is split: the next request of each of its processes goes into a queue of its own.
//!
//! **Rule** The last process keeps the queue. The saved state of each, including raising, is restored unless it has
//! expired meanwhile; until 5.10 without what was measured for injection, and in 4.19 without the weight.
//! **Origin** docs/behaviour/elevators-6.1.md#b9; docs/behaviour/elevators-4.19-5.15.md#v3, #w12 and #y19.
//! **In the kernel** `bfq_split_bfqq`, `bfq_mark_bfqq_split_coop`, `bfq_bfqq_resume_state`, `split_coop`.

use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::ids::{Cid, Qid};
use crate::elevators::bfq::rules::{Chains, SavedState};
use crate::elevators::bfq::state::context::Saved;
use crate::elevators::bfq::state::raising::Restored;
use crate::elevators::bfq::timeouts::Call;
use crate::explain::{Raised, Reason};
use crate::request::Waiter;

impl Bfq {
    /// Splits a process off a shared queue; returns the queue that it uses from now on. `level`: the group of its
    /// request.
    pub(super) fn split(&mut self, call: &mut Call<'_>, context: Cid, q: Qid, level: usize) -> Qid {
        // Before anything else: the following may release the shared queue, and its waker with it.
        let waker = self.lasting_waker(q);
        if self.queues[q].birth.in_large_burst() {
            self.contexts[context].save_large_burst();
        }
        call.explain(Reason::QueueSplit { submitter: self.contexts[context].submitter() });
        if self.queues[q].sharing.is_of_one(self.rules.chains) {
            self.queues[q].sharing.unshare();
            return q;
        }
        self.contexts[context].use_queue(Waiter::Sync, None);
        self.drop_plans(q);
        self.drop_process(call, q);
        let own = self.make_own_queue(call, context, level);
        let Saved { was_in_burst, in_large_burst, .. } = *self.contexts[context].saved();
        if (was_in_burst && self.burst.is_large()) || in_large_burst {
            self.queues[own].birth.join_large_burst();
        // The burst that it was part of may still become large, with this queue in it.
        } else if was_in_burst {
            self.burst.join_again(own);
        }
        self.queues[own].birth.note_split(call.now);
        if waker.is_some() {
            self.wakers.set(own, waker);
        }
        own
    }

    /// The waker, unless it may vanish with the queue.
    fn lasting_waker(&self, q: Qid) -> Option<Qid> {
        let waker = self.wakers.waker(q)?;
        if self.rules.chains == Chains::OneStep {
            return Some(waker);
        }
        let processes = self.queues[waker].sharing.processes();
        let mut at = self.queues[q].sharing.target();
        while let Some(target) = at {
            if target == waker && processes == 1 {
                return None;
            }
            at = self.queues[target].sharing.target();
        }
        (processes > 0).then_some(waker)
    }

    /// Restores the saved state of a process to its own queue.
    pub(super) fn restore(&mut self, call: &mut Call<'_>, context: Cid, q: Qid) {
        let saved = *self.contexts[context].saved();
        let all = self.rules.saved_state == SavedState::All;
        let in_large_burst = self.queues[q].birth.in_large_burst();
        let more = match (all, self.knobs.low_latency) {
            (false, _) => Restored::Kind,
            (true, true) => Restored::KindAndServed,
            (true, false) => Restored::Served,
        };
        let mut raising = self.queues[q].raising().restored(saved.raising, more);
        if raising.is_raised() && (in_large_burst || raising.is_over(call.now)) {
            // The raising would have ended while the process shared a queue.
            let again = raising.interactive_again(call.now, self.interactive_lasts());
            let may_go_back = raising.is_soft_real_time() && !in_large_burst;
            raising = again.filter(|_| may_go_back).unwrap_or(raising.not_raised());
        }
        self.set_raising(q, raising);
        let queue = &mut self.queues[q];
        queue.habits.restore(saved.habits);
        if all {
            queue.injection.restore(&saved.injection);
        }
        let entity = self.hierarchy.entity_mut(q);
        if self.rules.saved_state != SavedState::WithoutWeight {
            entity.want_weight(saved.weight);
        }
        entity.reweigh();
        if raising.is_raised() {
            self.say_raised(call, q, Raised::Restored);
        }
    }
}
