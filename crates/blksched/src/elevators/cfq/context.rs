//! Processes: what is known of each, and which queues it uses.
//!
//! **Rule** A process has one queue for requests it waits for and shares one for write-back with all processes of its
//! class and level. Priority travels on requests; a change is noticed at the next insertion.
//! **Origin** notes C1 and C17. **Quirk, kept** If no write-back queue of the new level exists yet, the process's
//! present one becomes the new level's too, so two levels share a queue of the old one.

use super::Cfq;
use super::priority::Standing;
use super::queue::Qid;
use super::slice::Rest;
use crate::elevator::{Cx, Run};
use crate::estimate::{SeekDistance, ThinkTime};
use crate::explain::SliceEnd;
use crate::request::{PerWaiter, RequestId, SubmitterId, Waiter};
use crate::time::Tick;

/// What is known of a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Process {
    standing: Standing,
    pub(super) queues: PerWaiter<Option<Qid>>,
    /// When a request that it waited for last came back; at first when it came.
    pub(super) last_end: Tick,
    pub(super) think: ThinkTime,
    pub(super) seeks: SeekDistance,
    /// It has exited; it is remembered until its last request is back.
    pub(super) gone: bool,
    /// Prepared and not yet complete.
    pub(super) requests: u32,
}

impl Process {
    fn new(standing: Standing, now: Tick) -> Process {
        Process {
            standing,
            queues: PerWaiter::default(),
            last_end: now,
            think: ThinkTime::default(),
            seeks: SeekDistance::default(),
            gone: false,
            requests: 0,
        }
    }
}

impl Cfq {
    pub(super) fn process_mut(&mut self, pid: SubmitterId) -> &mut Process {
        self.processes.get_mut(&pid).expect("a process is remembered while it has requests or queues")
    }

    /// The queue for a new request; process and queue are made if there are none.
    pub(super) fn prepared(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        let request = cx.rq(rq);
        let (pid, waiter, standing) = (request.submitter, request.waiter, Standing::of(request.priority));
        let now = self.now(cx);
        let process = self.processes.entry(pid).or_insert_with(|| Process::new(standing, now));
        process.requests += 1;
        process.gone = false;
        self.notice_priority(pid, standing);
        let present = self.processes[&pid].queues[waiter];
        let q = present.and_then(|q| self.part_or_join(cx, pid, waiter, q));
        let q = q.unwrap_or_else(|| self.new_queue(pid, waiter, standing));
        self.queues[q].held_by.requests += 1;
        self.rows.row(rq).queue = q;
    }

    fn notice_priority(&mut self, pid: SubmitterId, standing: Standing) {
        let process = self.process_mut(pid);
        if process.standing == standing {
            return;
        }
        process.standing = standing;
        let PerWaiter { sync, async_ } = process.queues;
        if let Some(present) = async_ {
            let new = *self.write_back.entry(standing).or_insert(present);
            self.process_mut(pid).queues.async_ = Some(new);
        }
        if let Some(sync) = sync {
            self.queues[sync].priority_is_old = true;
        }
    }

    fn new_queue(&mut self, pid: SubmitterId, waiter: Waiter, standing: Standing) -> Qid {
        let q = match waiter {
            Waiter::Sync => self.queues.make(pid, waiter, standing),
            Waiter::Async => match self.write_back.get(&standing) {
                Some(&q) => q,
                None => {
                    let q = self.queues.make(pid, waiter, standing);
                    self.write_back.insert(standing, q);
                    q
                }
            },
        };
        self.process_mut(pid).queues[waiter] = Some(q);
        q
    }

    /// The queue that a process's next request would go into.
    pub(super) fn queue_of(&self, pid: SubmitterId, waiter: Waiter) -> Option<Qid> {
        self.processes.get(&pid).and_then(|process| process.queues[waiter])
    }

    /// A request of a queue is no more.
    pub(super) fn drop_request(&mut self, cx: &mut Cx<'_>, q: Qid) {
        self.queues[q].held_by.requests -= 1;
        self.release_if_unused(cx, q);
    }

    /// A process, or a merge planned for one, leaves a queue.
    pub(super) fn drop_process(&mut self, cx: &mut Cx<'_>, q: Qid) {
        self.queues[q].held_by.processes -= 1;
        self.release_if_unused(cx, q);
    }

    fn release_if_unused(&mut self, cx: &mut Cx<'_>, q: Qid) {
        let held_by = self.queues[q].held_by;
        if held_by.processes + held_by.requests > 0 {
            return;
        }
        if self.active == Some(q) {
            self.expire(cx, Rest::Dropped, SliceEnd::Gone);
            self.wish_run();
        }
        self.queues.release(q);
    }

    pub(super) fn process_gone(&mut self, cx: &mut Cx<'_>, pid: SubmitterId) -> Run {
        let Some(process) = self.processes.get_mut(&pid) else { return Run::No };
        process.gone = true;
        let PerWaiter { sync, async_ } = core::mem::take(&mut process.queues);
        for q in [async_, sync].into_iter().flatten() {
            if self.active == Some(q) {
                self.expire(cx, Rest::Dropped, SliceEnd::Gone);
                self.wish_run();
            }
        }
        if let Some(q) = sync {
            self.drop_plans(cx, q);
            self.drop_process(cx, q);
        }
        self.forget_if_unused(pid);
        self.take_wish()
    }

    /// A process that is gone is remembered only while it has requests or is the one idled for.
    pub(super) fn forget_if_unused(&mut self, pid: SubmitterId) {
        let unused = self.processes.get(&pid).is_some_and(|process| process.gone && process.requests == 0);
        if unused && self.active_process != Some(pid) {
            self.processes.remove(&pid);
        }
    }
}
