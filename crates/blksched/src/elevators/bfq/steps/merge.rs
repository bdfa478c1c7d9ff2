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
use crate::elevators::bfq::hierarchy::entity::Node;
use crate::elevators::bfq::ids::{Cid, Qid};
use crate::elevators::bfq::rules::{SavedState, StableMerges};
use crate::elevators::bfq::state::context::Saved;
use crate::elevators::bfq::state::raising::{Raising, RaisingKind};
use crate::elevators::bfq::timeouts::{Call, LONG_AGO};
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
        let into = self.queues[q].sharing.target.expect("a planned merge has a target");
        self.save(call, q);
        self.save(call, into);
        self.queues[into].habits.is_io_bound |= self.queues[q].habits.is_io_bound;
        // Moved rather than copied: as in the kernel, for no known reason.
        self.queues[q].habits.is_io_bound = false;
        self.inherit_waker(into, q);
        self.inherit_raising(call, into, q);
        self.contexts[context].queues.sync = Some(into);
        self.queues[into].sharing.is_shared = true;
        self.queues[into].sharing.sole = None;
        let last_made = &mut self.hierarchy.levels[self.hierarchy.entities[Node::queue(q)].level].last_made;
        if *last_made == Some(q) {
            *last_made = Some(into);
        }
        let (submitter, owner) = (self.contexts[context].submitter, self.queues[into].owner);
        call.explain(Reason::QueueMerged { submitter, into: owner });
        self.drop_process(call, q);
        into
    }

    fn inherit_raising(&mut self, call: &mut Call<'_>, into: Qid, q: Qid) {
        let raising = self.queues[q].raising;
        if !raising.is_raised() {
            return;
        }
        if !self.queues[into].is_raised() {
            let Raising { kind, lasts, since, interactive_since, .. } = raising;
            let there = self.queues[into].raising;
            // Otherwise an interactive process would lose its raising by reading beside another.
            self.set_raising(into, Raising { kind, lasts, since, interactive_since, ..there });
            self.entity_mut(into).is_changing = true;
            self.say_raised(call, into, Raised::ByMerging);
        }
        self.set_raising(q, Raising { kind: RaisingKind::None, ..raising });
        self.entity_mut(q).is_changing = true;
    }

    /// Saves the state of a queue's only process, to be restored when it is split off.
    fn save(&mut self, call: &Call<'_>, q: Qid) {
        let queue = &self.queues[q];
        let Some(context) = queue.sharing.sole.and_then(|sole| self.contexts.find(sole)) else { return };
        let mut raising = queue.raising;
        if queue.birth.is_new && !queue.birth.in_large_burst && self.knobs.low_latency {
            // It has not had time to be raised, so it is saved as interactive from now on.
            raising.make_interactive(self.interactive_lasts());
            let kept = self.rules.saved_state == SavedState::WithoutWeight;
            let before = self.contexts[context].saved.raising.interactive_since;
            raising.interactive_since = if kept { before } else { LONG_AGO };
            raising.since = call.now;
            raising.served = self.contexts[context].saved.raising.served;
        }
        self.contexts[context].saved = Saved {
            injection: queue.injection,
            weight: self.entity(q).own_weight,
            habits: queue.habits,
            in_large_burst: queue.birth.in_large_burst,
            was_in_burst: self.burst.has(q),
            raising,
        };
    }

    /// Merges a new queue with the one created last, if they are likely to cooperate, or plans that. Returns the queue
    /// to use.
    pub(super) fn merge_with_last_made(&mut self, call: &mut Call<'_>, context: Cid, q: Qid) -> Qid {
        if self.rules.stable_merges == StableMerges::Off {
            return q;
        }
        let made = self.queues[q].birth.made;
        let alike = |&last: &Qid| {
            let there = &self.queues[last];
            there.birth.made + self.timeouts.stable >= made
                && there.level == self.queues[q].level
                && self.entity(last).class == self.entity(q).class
        };
        let level = self.entity(q).level;
        let Some(last) = self.hierarchy.levels[level].last_made.filter(alike) else {
            self.hierarchy.levels[level].last_made = Some(q);
            return q;
        };
        // Created too late after the last one to belong to it, and too soon to replace it: kept as in the kernel.
        if self.queues[last].birth.made + self.timeouts.burst < made {
            return q;
        }
        if !self.needs_no_positions() {
            self.queues[last].held_by.stable += 1;
            self.contexts[context].stable_target = Some(last);
            return q;
        }
        let Some(into) = self.plan_merge(call, q, last) else { return q };
        self.mark_stably_merged(context, into);
        self.redirect(call, context, q, into);
        into
    }

    /// Forgets a queue as the one created last.
    pub(super) fn forget_last_made(&mut self, q: Qid) {
        let last_made = &mut self.hierarchy.levels[self.hierarchy.entities[Node::queue(q)].level].last_made;
        if *last_made == Some(q) {
            *last_made = None;
        }
    }

    /// Whether it was created, or split off, long enough ago to be judged by its behaviour. No source says why after
    /// 600 ms; kept.
    pub(super) fn is_time_for_stable_merge(&self, call: &Call<'_>, q: Qid) -> bool {
        let queue = &self.queues[q];
        let since = queue.birth.split.max(queue.birth.made);
        queue.waiter == Waiter::Sync && !queue.birth.is_new && call.now > since + self.timeouts.stable
    }

    /// Plans the stable merge of a process's queue into `target`, unless it no longer makes sense.
    pub(super) fn merge_stably(&mut self, call: &mut Call<'_>, context: Cid, q: Qid, target: Qid) -> Option<Qid> {
        let both = self.queues[q].held_by.processes > 0 && self.queues[target].held_by.processes > 0;
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
        self.contexts[context].is_stably_merged = true;
        if let Some(other) = self.queues[into].sharing.sole.and_then(|sole| self.contexts.find(sole)) {
            self.contexts[other].is_stably_merged = true;
        }
    }

    pub(super) fn drop_stable(&mut self, q: Qid) {
        self.queues[q].held_by.stable -= 1;
        self.release_if_unused(q);
    }
}
