//! The state of a process.
//!
//! **Rule** An exited process is remembered until its last request has completed. The state of its own queue is saved
//! while it shares another.
//! **Origin** docs/behaviour/elevators-6.1.md#b1.
//! **In the kernel** `bfq_io_cq`, `bfq_bfqq_save_state`, `bic_to_bfqq`.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::elevators::bfq::ids::{Cid, Qid};
use crate::elevators::bfq::priority::USUAL_WEIGHT;
use crate::elevators::bfq::state::habits::Habits;
use crate::elevators::bfq::state::injection::Injection;
use crate::elevators::bfq::state::raising::Raising;
use crate::elevators::bfq::timeouts::LONG_AGO;
use crate::elevators::ioprio::Ioprio;
use crate::request::{GroupId, PerWaiter, Priority, SubmitterId, Waiter};

/// The saved state of a process's own queue, while the process shares another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Saved {
    pub(crate) injection: Injection,
    pub(crate) weight: i64,
    pub(crate) habits: Habits,
    pub(crate) in_large_burst: bool,
    pub(crate) was_in_burst: bool,
    pub(crate) raising: Raising,
}

impl Saved {
    pub(crate) fn nothing() -> Saved {
        Saved {
            injection: Injection::default(),
            weight: USUAL_WEIGHT,
            habits: Habits::unknown(),
            in_large_burst: false,
            was_in_burst: false,
            raising: Raising::new(LONG_AGO),
        }
    }
}

/// The state of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    submitter: SubmitterId,
    queues: PerWaiter<Option<Qid>>,
    priority: Priority,
    /// The group of its last bio.
    group_serial: Option<u64>,
    saved: Saved,
    /// The queue with which its own may be stably merged.
    stable_target: Option<Qid>,
    is_stably_merged: bool,
    /// The number of its requests that are prepared and not yet complete.
    requests: u32,
    /// Whether it has exited; it is then remembered until its last request completes.
    is_gone: bool,
}

impl Context {
    pub(crate) fn submitter(&self) -> SubmitterId {
        self.submitter
    }

    /// The queue that it uses for such requests.
    #[inline(always)]
    pub(crate) fn queue(&self, waiter: Waiter) -> Option<Qid> {
        self.queues[waiter]
    }

    pub(crate) fn use_queue(&mut self, waiter: Waiter, q: Option<Qid>) {
        self.queues[waiter] = q;
    }

    #[inline(always)]
    pub(crate) fn priority(&self) -> Priority {
        self.priority
    }

    pub(crate) fn set_priority(&mut self, priority: Priority) {
        self.priority = priority;
    }

    /// Whether its last bio was of this group.
    #[inline]
    pub(crate) fn was_in_group(&self, serial: u64) -> bool {
        self.group_serial == Some(serial)
    }

    pub(crate) fn join_group(&mut self, serial: u64) {
        self.group_serial = Some(serial);
    }

    pub(crate) fn saved(&self) -> &Saved {
        &self.saved
    }

    pub(crate) fn save(&mut self, saved: Saved) {
        self.saved = saved;
    }

    /// The queue that it leaves is in a large burst, which its own will be, too.
    pub(crate) fn save_large_burst(&mut self) {
        self.saved.in_large_burst = true;
    }

    #[inline]
    pub(crate) fn has_stable_target(&self) -> bool {
        self.stable_target.is_some()
    }

    pub(crate) fn plan_stable_merge(&mut self, into: Qid) {
        self.stable_target = Some(into);
    }

    pub(crate) fn take_stable_target(&mut self) -> Option<Qid> {
        self.stable_target.take()
    }

    pub(crate) fn is_stably_merged(&self) -> bool {
        self.is_stably_merged
    }

    pub(crate) fn merged_stably(&mut self) {
        self.is_stably_merged = true;
    }

    /// The number of its requests that are prepared and not yet complete.
    #[inline(always)]
    pub(crate) fn requests(&self) -> u32 {
        self.requests
    }

    #[inline(always)]
    pub(crate) fn hold_request(&mut self) {
        self.requests += 1;
    }

    #[inline(always)]
    pub(crate) fn drop_request(&mut self) {
        self.requests -= 1;
    }

    #[inline(always)]
    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// It exits; returns the queues that it used.
    pub(crate) fn exit(&mut self) -> PerWaiter<Option<Qid>> {
        self.is_gone = true;
        core::mem::take(&mut self.queues)
    }
}

/// Every process, in slots that are reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contexts {
    slots: Vec<Context>,
    free: Vec<Cid>,
    by_submitter: BTreeMap<SubmitterId, Cid>,
    /// The process looked up last: most look-ups are for the same one again.
    recent: Recent,
    /// The group that `recent` is known to be in: its bios of that group need no check until groups are added or
    /// removed.
    settled: Settled,
}

/// A process or none: its submitter's number, or a number that no submitter has, so that one comparison decides.
#[derive(Clone, Copy, Debug)]
struct Recent {
    submitter: u64,
    context: Cid,
}

impl Default for Recent {
    fn default() -> Recent {
        Recent { submitter: u64::MAX, context: 0 }
    }
}

impl Recent {
    #[inline(always)]
    fn of(submitter: SubmitterId, context: Cid) -> Recent {
        Recent { submitter: u64::from(submitter.0), context }
    }

    #[inline(always)]
    fn context_of(self, submitter: SubmitterId) -> Option<Cid> {
        (self.submitter == u64::from(submitter.0)).then_some(self.context)
    }
}

/// A group's number, or a number that no group has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Settled(u64);

impl Settled {
    const NOWHERE: Settled = Settled(u64::MAX);

    #[inline(always)]
    fn in_group(group: GroupId) -> Settled {
        Settled(u64::from(group.0))
    }
}

impl Default for Settled {
    fn default() -> Settled {
        Settled::NOWHERE
    }
}

impl Contexts {
    pub(crate) fn reserve(&mut self, processes: usize) {
        self.slots.reserve(processes);
        self.free.reserve(processes);
    }

    /// Is the process looked for last known to be in this group?
    #[inline(always)]
    pub(crate) fn is_settled_in(&self, group: GroupId) -> bool {
        self.settled == Settled::in_group(group)
    }

    pub(crate) fn settle_in(&mut self, group: GroupId) {
        self.settled = Settled::in_group(group);
    }

    pub(crate) fn unsettle(&mut self) {
        self.settled = Settled::NOWHERE;
    }

    #[inline]
    pub(crate) fn find(&self, submitter: SubmitterId) -> Option<Cid> {
        self.recent.context_of(submitter).or_else(|| self.by_submitter.get(&submitter).copied())
    }

    /// Looks up a process that will probably be looked up again soon.
    #[inline]
    pub(crate) fn find_often(&mut self, submitter: SubmitterId) -> Option<Cid> {
        match self.recent.context_of(submitter) {
            None => self.find_anew(submitter),
            known => known,
        }
    }

    #[inline(never)]
    fn find_anew(&mut self, submitter: SubmitterId) -> Option<Cid> {
        let found = self.by_submitter.get(&submitter).copied()?;
        (self.recent, self.settled) = (Recent::of(submitter, found), Settled::NOWHERE);
        Some(found)
    }

    #[inline]
    pub(crate) fn meet(&mut self, submitter: SubmitterId) -> Cid {
        if let Some(known) = self.find_often(submitter) {
            self.slots[known as usize].is_gone = false;
            return known;
        }
        self.make(submitter)
    }

    #[inline(never)]
    fn make(&mut self, submitter: SubmitterId) -> Cid {
        let context = Context {
            submitter,
            queues: PerWaiter::default(),
            priority: Priority::default(),
            group_serial: None,
            saved: Saved::nothing(),
            stable_target: None,
            is_stably_merged: false,
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
        (self.recent, self.settled) = (Recent::of(submitter, id), Settled::NOWHERE);
        id
    }

    /// Forgets an exited process without requests.
    #[inline]
    pub(crate) fn forget_if_unused(&mut self, id: Cid) {
        let Context { is_gone, requests, submitter, .. } = self[id];
        if is_gone && requests == 0 {
            self.forget(id, submitter);
        }
    }

    #[inline(never)]
    fn forget(&mut self, id: Cid, submitter: SubmitterId) {
        if self.by_submitter.remove(&submitter).is_some() {
            (self.recent, self.settled) = (Recent::default(), Settled::NOWHERE);
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

/// The write-back queue of each level of the hierarchy, class and ioprio level.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteBack(BTreeMap<(usize, Ioprio), Qid>);

impl WriteBack {
    pub(crate) fn find(&self, level: usize, ioprio: Ioprio) -> Option<Qid> {
        self.0.get(&(level, ioprio)).copied()
    }

    pub(crate) fn add(&mut self, level: usize, ioprio: Ioprio, q: Qid) {
        self.0.insert((level, ioprio), q);
    }

    /// Takes one of a level that is removed.
    pub(crate) fn take_one_of(&mut self, level: usize) -> Option<Qid> {
        let key = self.0.keys().find(|key| key.0 == level).copied()?;
        self.0.remove(&key)
    }
}
