//! Merging queues: a process leaves its queue for the one that a merge was planned with.
//!
//! **Rule** The state of the process's own queue is saved; the shared queue takes over raising, the waker, and the
//! I/O-bound flag. *Stable merges*: a new queue joins the one created last, of the same level, class and group, if that
//! was created within 180 ms: at once on a non-rotational disk that queues, otherwise once both are older than 600 ms
//! and idling for the new one would not raise throughput. Such queues do not split. 5.10 and earlier have no stable
//! merges, and 4.19 merges queues on flash, too.
//! **Origin** docs/behaviour/elevators-6.1.md#b9; docs/behaviour/elevators-4.19-5.15.md#v3, #w6, #w12, #y12 to #y14 and
//! #y19.
//! **In the kernel** `bfq_merge_bfqqs`, `bfq_setup_merge`, `new_bfqq`, `bfq_bfqq_save_state`, `stably_merged`,
//! `bfq_do_early_stable_merge`, `bfq_do_or_sched_stable_merge`.

use crate::elevators::bfq::data::Bfq;
use crate::elevators::bfq::ids::{Cid, Qid};
use crate::elevators::bfq::rules::{SavedState, StableMerges};
use crate::elevators::bfq::state::context::Saved;
use crate::elevators::bfq::timeouts::Call;
use crate::explain::{Raised, Reason};
use crate::request::Waiter;

impl Bfq {
    /// Moves a process from `q` to the end of the chain of plans, `into`.
    pub(in crate::elevators::bfq) fn redirect(&mut self, call: &mut Call<'_>, context: Cid, q: Qid, into: Qid) {
        let mut at = q;
        while at != into {
            at = self.redirect_once(call, context, at);
        }
    }

    fn redirect_once(&mut self, call: &mut Call<'_>, context: Cid, q: Qid) -> Qid {
        let into = self.queues[q].sharing.target().expect("a planned merge has a target");
        self.save(call, q);
        self.save(call, into);
        let io_bound = self.queues[q].habits.give_io_bound();
        self.queues[into].habits.take_io_bound(io_bound);
        self.wakers.inherit(into, q);
        self.inherit_raising(call, into, q);
        self.contexts[context].use_queue(Waiter::Sync, Some(into));
        self.queues[into].sharing.share();
        self.hierarchy.replace_last_made(q, Some(into));
        let (submitter, owner) = (self.contexts[context].submitter(), self.queues[into].owner());
        call.explain(Reason::QueueMerged { submitter, into: owner });
        self.drop_process(call, q);
        into
    }

    fn inherit_raising(&mut self, call: &mut Call<'_>, into: Qid, q: Qid) {
        let raising = *self.queues[q].raising();
        if !raising.is_raised() {
            return;
        }
        let there = *self.queues[into].raising();
        if !there.is_raised() {
            // Otherwise an interactive process would lose its raising by reading beside another.
            self.set_raising(into, there.like(raising));
            self.entity_mut(into).reweigh();
            self.say_raised(call, into, Raised::ByMerging);
        }
        self.set_raising(q, raising.not_raised());
        self.entity_mut(q).reweigh();
    }

    /// Saves the state of a queue's only process, to be restored when it is split off.
    fn save(&mut self, call: &Call<'_>, q: Qid) {
        let queue = &self.queues[q];
        let Some(context) = queue.sharing.sole().and_then(|sole| self.contexts.find(sole)) else { return };
        let mut raising = *queue.raising();
        if queue.birth.is_new() && !queue.birth.in_large_burst() && self.knobs.low_latency {
            // It has not had time to be raised, so it is saved as interactive from now on.
            let keeps = self.rules.saved_state == SavedState::WithoutWeight;
            let before = self.contexts[context].saved().raising;
            raising = raising.saved_of_new(call.now, self.interactive_lasts(), before, keeps);
        }
        let saved = Saved {
            injection: queue.injection,
            weight: self.entity(q).own_weight(),
            habits: queue.habits,
            in_large_burst: queue.birth.in_large_burst(),
            was_in_burst: self.burst.has(q),
            raising,
        };
        self.contexts[context].save(saved);
    }

    /// Merges a new queue with the one created last, if they are likely to cooperate, or plans that. Returns the queue
    /// to use.
    pub(super) fn merge_with_last_made(&mut self, call: &mut Call<'_>, context: Cid, q: Qid) -> Qid {
        if self.rules.stable_merges == StableMerges::Off {
            return q;
        }
        let made = self.queues[q].birth.made();
        let alike = |&last: &Qid| {
            let there = &self.queues[last];
            there.birth.made() + self.timeouts.stable >= made
                && there.level() == self.queues[q].level()
                && self.entity(last).class() == self.entity(q).class()
        };
        let level = self.entity(q).level();
        let Some(last) = self.hierarchy.last_made(level).filter(alike) else {
            self.hierarchy.set_last_made(level, q);
            return q;
        };
        // Created too late after the last one to belong to it, and too soon to replace it: kept as in the kernel.
        if self.queues[last].birth.made() + self.timeouts.burst < made {
            return q;
        }
        if !self.needs_no_positions() {
            self.queues[last].sharing.hold_stable();
            self.contexts[context].plan_stable_merge(last);
            return q;
        }
        let Some(into) = self.plan_merge(call, q, last) else { return q };
        self.mark_stably_merged(context, into);
        self.redirect(call, context, q, into);
        into
    }

    /// Whether it was created, or split off, long enough ago to be judged by its behaviour. No source says why after
    /// 600 ms; kept.
    pub(super) fn is_time_for_stable_merge(&self, call: &Call<'_>, q: Qid) -> bool {
        let queue = &self.queues[q];
        queue.is_sync() && !queue.birth.is_new() && queue.birth.is_older_than(call.now, self.timeouts.stable)
    }

    /// Plans the stable merge of a process's queue into `target`, unless it no longer makes sense.
    pub(super) fn merge_stably(&mut self, call: &mut Call<'_>, context: Cid, q: Qid, target: Qid) -> Option<Qid> {
        let both = self.queues[q].sharing.processes() > 0 && self.queues[target].sharing.processes() > 0;
        // If idling makes it faster it is a good stream by itself, and merged with others it would only wait for them.
        let fits = both && !self.idling_is_faster(q);
        let into = if fits { self.plan_merge(call, q, target) } else { None };
        self.drop_stable(target);
        if let Some(into) = into {
            self.mark_stably_merged(context, into);
        }
        into
    }

    fn mark_stably_merged(&mut self, context: Cid, into: Qid) {
        self.contexts[context].merged_stably();
        if let Some(other) = self.queues[into].sharing.sole().and_then(|sole| self.contexts.find(sole)) {
            self.contexts[other].merged_stably();
        }
    }

    pub(super) fn drop_stable(&mut self, q: Qid) {
        self.queues[q].sharing.drop_stable();
        self.release_if_unused(q);
    }

    pub(super) fn end_of_chain(&self, q: Qid) -> Qid {
        let mut at = q;
        while let Some(target) = self.queues[at].sharing.target() {
            at = target;
        }
        at
    }

    /// Plans that the processes of `q` change to `other`, or to the end of the chain of plans from there.
    pub(super) fn plan_merge(&mut self, call: &mut Call<'_>, q: Qid, other: Qid) -> Option<Qid> {
        if self.queues[other].sharing.processes() == 0 {
            return None;
        }
        let into = self.end_of_chain(other);
        let (leaving, there) = (self.queues[q].sharing.processes(), self.queues[into].sharing.processes());
        // Their groups may differ by now. (MEMORY of a change of 2022, "bfq: Avoid merging queues with different
        // parents"; no recording shows it.)
        if into == q || leaving == 0 || there == 0 || !self.hierarchy.same_group(q, into) {
            return None;
        }
        self.queues[q].sharing.plan(into);
        self.queues[into].sharing.hold_processes(leaving);
        call.explain(Reason::MergePlanned { from: self.queues[q].owner(), into: self.queues[into].owner() });
        Some(into)
    }
}
