//! Processes: what is known of each, and which queues it uses.
//!
//! **Rule** A process has one queue for requests it waits for, and shares one for write-back with all processes of its
//! class, level and group. Priority and group travel on requests; a change is noticed at the next one.
//! **Origin** docs/behaviour/elevators-6.1.md#b1.
//! **In the kernel** `bfq_io_cq`, `bfq_get_bfqq_handle_split`, `bfq_exit_icq`, `bic_to_bfqq`.

#![doc(alias = "bfq_io_cq")]
#![doc(alias = "bfq_get_bfqq_handle_split")]
#![doc(alias = "bfq_exit_icq")]
#![doc(alias = "bic_to_bfqq")]

use std::collections::BTreeMap;

use super::Bfq;
use super::entity::{Entity, Node};
use super::expire::Why;
use super::habits::Habits;
use super::injection::Injection;
use super::priority::{USUAL_WEIGHT, weight};
use super::qid::Qid;
use super::raising::Raising;
use super::scheduling::Newcomer;
use super::terms::{Call, LONG_AGO};
use super::wf2q::Turn;
use crate::elevator::Run;
use crate::elevators::ioprio::{Ioprio, IoprioClass};
use crate::request::{PerWaiter, Priority, RequestId, SubmitterId, Waiter};

/// A process's number here.
pub(super) type Cid = u32;

/// What a process was like alone, while it shares a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Saved {
    pub(super) injection: Injection,
    pub(super) weight: i64,
    pub(super) habits: Habits,
    pub(super) in_large_burst: bool,
    pub(super) was_in_burst: bool,
    pub(super) raising: Raising,
}

impl Saved {
    fn nothing() -> Saved {
        Saved {
            injection: Injection::default(),
            weight: USUAL_WEIGHT,
            habits: Habits {
                thinks_shortly: false,
                is_io_bound: false,
                last_end_ns: 0,
                ..Habits::new(0, Waiter::Sync)
            },
            in_large_burst: false,
            was_in_burst: false,
            raising: Raising { interactive_since: LONG_AGO, ..Raising::new(LONG_AGO) },
        }
    }
}

/// What is known of a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    pub(super) submitter: SubmitterId,
    pub(super) queues: PerWaiter<Option<Qid>>,
    priority: Priority,
    /// The group of its last bio.
    pub(super) group_serial: Option<u64>,
    pub(super) saved: Saved,
    /// The queue that it may join for good.
    pub(super) stable_target: Option<Qid>,
    pub(super) is_merged_for_good: bool,
    /// Prepared and not yet complete.
    pub(super) requests: u32,
    /// It has exited; it is remembered until its last request is back.
    pub(super) is_gone: bool,
}

/// Every process, in slots that are reused.
#[derive(Clone, Debug, Default)]
pub(super) struct Contexts {
    slots: Vec<Context>,
    free: Vec<Cid>,
    by_submitter: BTreeMap<SubmitterId, Cid>,
    /// The one looked for last: most look-ups are for it again.
    recent: Option<(SubmitterId, Cid)>,
}

impl Contexts {
    pub(super) fn reserve(&mut self, processes: usize) {
        self.slots.reserve(processes);
        self.free.reserve(processes);
    }

    pub(super) fn find(&self, submitter: SubmitterId) -> Option<Cid> {
        match self.recent {
            Some((recent, context)) if recent == submitter => Some(context),
            _ => self.by_submitter.get(&submitter).copied(),
        }
    }

    /// Look for a process that is about to be looked for again.
    fn find_often(&mut self, submitter: SubmitterId) -> Option<Cid> {
        let found = self.find(submitter)?;
        self.recent = Some((submitter, found));
        Some(found)
    }

    fn meet(&mut self, submitter: SubmitterId) -> Cid {
        if let Some(known) = self.find_often(submitter) {
            self.slots[known as usize].is_gone = false;
            return known;
        }
        let context = Context {
            submitter,
            queues: PerWaiter::default(),
            priority: Priority::default(),
            group_serial: None,
            saved: Saved::nothing(),
            stable_target: None,
            is_merged_for_good: false,
            requests: 0,
            is_gone: false,
        };
        let id = match self.free.pop() {
            Some(id) => id,
            None => {
                self.slots.push(context);
                (self.slots.len() - 1) as Cid
            }
        };
        self.slots[id as usize] = context;
        self.by_submitter.insert(submitter, id);
        id
    }

    /// A process that is gone is remembered only while it has requests.
    fn forget_if_unused(&mut self, id: Cid) {
        let Context { is_gone, requests, submitter, .. } = self[id];
        if is_gone && requests == 0 && self.by_submitter.remove(&submitter).is_some() {
            self.recent = None;
            self.free.push(id);
        }
    }
}

impl core::ops::Index<Cid> for Contexts {
    type Output = Context;
    fn index(&self, id: Cid) -> &Context {
        &self.slots[id as usize]
    }
}

impl core::ops::IndexMut<Cid> for Contexts {
    fn index_mut(&mut self, id: Cid) -> &mut Context {
        &mut self.slots[id as usize]
    }
}

/// Whose write-back a queue is.
pub(super) type WriteBackOf = (usize, Ioprio);

impl Bfq {
    /// A request exists: its queue is found, made, or parted from.
    pub(super) fn prepared(&mut self, call: &mut Call<'_, '_>, rq: RequestId) {
        let request = call.rq(rq);
        let (submitter, waiter, priority, group) = (request.submitter, request.waiter, request.priority, request.group);
        let context = self.contexts.meet(submitter);
        let level = self.level_of(group);
        self.notice_priority(call, context, priority, level);
        // Whoever is made to run by that is run behind the insertion that follows.
        self.notice_group(call, context, group);
        let present = self.contexts[context].queues[waiter];
        let parts = present.filter(|&q| {
            let sharing = &self.queues[q].sharing;
            sharing.is_shared && sharing.splits && !self.contexts[context].is_merged_for_good
        });
        let q = match (parts, present, waiter) {
            (Some(shared), _, _) => self.split(call, context, shared, level),
            (None, Some(q), _) => q,
            (None, None, Waiter::Sync) => {
                let q = self.make_own_queue(call, context, level);
                self.merge_with_last_made(call, context, q)
            }
            (None, None, Waiter::Async) => self.join_write_back(call, context, level),
        };
        self.hold_request(q);
        self.contexts[context].requests += 1;
        let row = self.rows.row(rq);
        (row.queue, row.context) = (q, context);
        if self.queues[q].sharing.target.is_none() && self.queues[q].held_by.processes == 1 {
            self.queues[q].sharing.sole = Some(submitter);
            if parts.is_some() {
                self.restore(call, context, q);
            }
        }
        if self.queues[q].birth.is_new && (self.burst.has_begun() || self.busy_queues() == 0) {
            self.meet_burst(call, q);
        }
    }

    fn ioprio(&self, context: Cid) -> Ioprio {
        Ioprio::of(self.contexts[context].priority)
    }

    fn make_queue(&mut self, call: &Call<'_, '_>, context: Cid, waiter: Waiter, level: usize) -> Qid {
        let (ioprio, owner) = (self.ioprio(context), self.contexts[context].submitter);
        let assigned = self.first_budget();
        let q = self.queues.make(call, owner, waiter, ioprio, assigned);
        self.queues[q].held_by.processes = 1;
        if self.scheduling.newcomer == Newcomer::IsNew {
            self.queues[q].injection.decreased = call.now;
        }
        self.entities.set(Node::queue(q), Entity::new(level, ioprio.rank, weight(ioprio)));
        q
    }

    pub(super) fn make_own_queue(&mut self, call: &Call<'_, '_>, context: Cid, level: usize) -> Qid {
        let q = self.make_queue(call, context, Waiter::Sync, level);
        self.contexts[context].queues.sync = Some(q);
        q
    }

    /// The write-back queue of a process's class and level in a group; that lives as long as the group.
    fn join_write_back(&mut self, call: &Call<'_, '_>, context: Cid, level: usize) -> Qid {
        let key = (level, self.ioprio(context));
        let q = match self.write_back.get(&key) {
            Some(&q) => q,
            None => {
                let q = self.make_queue(call, context, Waiter::Async, level);
                self.write_back.insert(key, q);
                q
            }
        };
        self.queues[q].held_by.processes += 1;
        self.contexts[context].queues.async_ = Some(q);
        q
    }

    /// `level`: the group of the bio that says so.
    fn notice_priority(&mut self, call: &mut Call<'_, '_>, context: Cid, priority: Priority, level: usize) {
        if self.contexts[context].priority == priority {
            return;
        }
        self.contexts[context].priority = priority;
        let PerWaiter { sync, async_ } = self.contexts[context].queues;
        if let Some(old) = async_ {
            self.drop_process(call, old);
            self.join_write_back(call, context, level);
        }
        if let Some(q) = sync {
            let ioprio = Ioprio::of(priority);
            self.queues[q].level = ioprio.level;
            let entity = self.entity_mut(q);
            (entity.wanted_class, entity.wanted_weight) = (ioprio.rank, weight(ioprio));
            entity.is_changing = true;
        }
    }

    pub(super) fn is_idle_class(&self, q: Qid) -> bool {
        self.entity(q).class == IoprioClass::Idle
    }

    /// A request belongs to a queue.
    pub(super) fn hold_request(&mut self, q: Qid) {
        self.queues[q].held_by.requests += 1;
        self.count_allocated(q, 1);
    }

    /// A request of a queue is no more.
    pub(super) fn drop_request(&mut self, q: Qid) {
        self.queues[q].held_by.requests -= 1;
        self.count_allocated(q, -1);
        self.release_if_unused(q);
    }

    /// A request is no more.
    pub(super) fn finished(&mut self, rq: RequestId) {
        let row = self.rows[rq];
        self.contexts[row.context].requests -= 1;
        self.contexts.forget_if_unused(row.context);
        self.drop_request(row.queue);
    }

    /// A process leaves a queue.
    pub(super) fn drop_process(&mut self, call: &mut Call<'_, '_>, q: Qid) {
        if self.queues[q].busy && self.queues[q].is_empty() && self.in_service != Some(q) {
            self.leave_service_trees(call, q, Turn::GoesOn);
        }
        self.forget_last_made(q);
        self.queues[q].held_by.processes -= 1;
        self.release_if_unused(q);
    }

    /// The merges planned from a queue on are dropped by one of its processes.
    pub(super) fn drop_plans(&mut self, q: Qid) {
        let mut at = self.queues[q].sharing.target;
        while let Some(target) = at {
            at = self.queues[target].sharing.target;
            self.queues[target].held_by.processes -= 1;
            self.release_if_unused(target);
        }
    }

    /// The last of those who hold a queue may be gone.
    pub(super) fn release_if_unused(&mut self, q: Qid) {
        let super::queue::References { processes, requests, stable, counted } = self.queues[q].held_by;
        let held = processes + requests + stable > 0 || counted.is_some();
        let placed = self.entity(q).place != super::entity::Place::Out || self.in_service == Some(q);
        if held || placed || !self.queues.is_live(q) {
            return;
        }
        if self.burst.has(q) {
            self.burst.leave(q);
            if self.queues[q].sharing.sole.is_some() {
                self.burst.uncount();
            }
        }
        self.forget_waking(q);
        if self.last_completed == Some(q) {
            self.last_completed = None;
        }
        self.position_remove(q);
        self.queues.release(q);
    }

    /// A process is gone.
    pub(super) fn process_gone(&mut self, call: &mut Call<'_, '_>, submitter: SubmitterId) -> Run {
        let Some(context) = self.contexts.find(submitter) else { return Run::No };
        self.contexts[context].is_gone = true;
        if let Some(target) = self.contexts[context].stable_target.take() {
            self.drop_stable(target);
        }
        let PerWaiter { sync, async_ } = core::mem::take(&mut self.contexts[context].queues);
        let runs = [sync, async_].map(|q| q.map_or(Run::No, |q| self.leave_queue(call, q)));
        self.contexts.forget_if_unused(context);
        runs[0].max(runs[1])
    }

    /// A process takes no more to do with a queue; was it in service, that ends.
    fn leave_queue(&mut self, call: &mut Call<'_, '_>, q: Qid) -> Run {
        let served = self.in_service == Some(q);
        if served {
            self.take_out_of_service(call, q, Why::Gone);
        }
        let run = if served { self.wish_if_queued() } else { Run::No };
        self.drop_plans(q);
        self.drop_process(call, q);
        run
    }

    /// The queue that a process's next request would go into.
    pub(super) fn queue_of(&mut self, submitter: SubmitterId, waiter: Waiter) -> Option<(Cid, Qid)> {
        let context = self.contexts.find_often(submitter)?;
        self.contexts[context].queues[waiter].map(|q| (context, q))
    }
}
