//! Tasks that sleep in the block layer since blk-mq: for a policy, or for a tag; and how they continue when they run.
//!
//! **Rule** A bio that did not merge passes the policies, then takes a tag. Its task may sleep at each. A task that
//! sleeps flushes its plug. A woken task continues where it slept; it does not try to merge again, and it may lose its
//! tag to another task. The driver decides when it runs ([`Wakes`]).
//! **Origin** docs/behaviour/blk-mq-6.x.md#p.3, #t5 and #t8.
//! **In the kernel** `blk_mq_get_tag`, `rq_qos_wait`.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use super::mq::{Patience, SearchDepth, TagAsked, TagSet, Task};
use super::waiters::Sleeper;
use crate::request::SubmitterId;

/// When a woken task runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "elevator-author"), non_exhaustive)]
pub enum Wakes {
    /// After the queue has run, without the driver.
    #[default]
    AtOnce,
    /// When the driver says so: it is told ([`Delivery::Runnable`](crate::Delivery::Runnable)) and calls
    /// [`BlockQueue::run_task`](crate::BlockQueue::run_task) once the task has got a processor. Whether the task or the
    /// owner of the completed request is faster decides which gets the tag.
    ByDriver,
}

/// How a task comes to ask for a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    /// For the first time.
    First,
    /// It was just seen that none is free.
    FoundNone,
    /// It was woken.
    Woken,
}

/// What a task sleeps for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gate {
    /// This policy.
    Policy(usize),
    /// A tag of those that this search finds.
    Tag(SearchDepth),
}

/// A task that sleeps or was woken.
#[derive(Debug)]
pub(super) struct Sleeping {
    pub(super) gate: Gate,
    /// The bio with which it sleeps: its pieces.
    pub(super) pieces: VecDeque<Sleeper>,
}

/// Tags, the tasks that hold them, and those that sleep.
#[derive(Debug)]
pub(crate) struct Tasks {
    /// The first hardware queue's; usually there is no other, or all share these.
    pub(super) set: TagSet,
    /// The other hardware queues', if each has its own.
    others: Vec<TagSet>,
    /// Tags are numbered through all queues; this many belong to each.
    each: u32,
    /// The hardware queue of each submitter that was placed.
    hctx: BTreeMap<SubmitterId, u32>,
    pub(super) sleeping: Vec<Option<Sleeping>>,
    pub(super) free: Vec<Task>,
    /// Woken tasks, if they run without the driver.
    pub(super) runnable: VecDeque<Task>,
}

impl Tasks {
    pub(super) fn new(set: TagSet) -> Tasks {
        Tasks {
            set,
            others: Vec::new(),
            each: 0,
            hctx: BTreeMap::new(),
            sleeping: Vec::new(),
            free: Vec::new(),
            runnable: VecDeque::new(),
        }
    }

    /// The number of the next task that falls asleep.
    pub(super) fn next(&mut self) -> Task {
        if self.free.is_empty() {
            self.free.push(Task(self.sleeping.len() as u32));
            self.sleeping.push(None);
        }
        *self.free.last().expect("one was just made")
    }

    /// Puts the task that [`Tasks::next`] named to sleep.
    pub(super) fn fall_asleep(&mut self, gate: Gate, sleeper: Sleeper) {
        let Some(task) = self.free.pop() else { unreachable!("it has a number") };
        self.sleeping[task.0 as usize] = Some(Sleeping { gate, pieces: VecDeque::from([sleeper]) });
    }

    /// Adds a piece of the bio with which `task` sleeps.
    pub(super) fn behind(&mut self, task: Task, sleeper: Sleeper) {
        let Some(sleeping) = &mut self.sleeping[task.0 as usize] else { unreachable!("it sleeps") };
        sleeping.pieces.push_back(sleeper);
    }

    /// Another elevator comes. A kernel lets tasks that sleep for a tag through before it switches; here they are woken
    /// and continue without the old elevator's limit. Left asleep, they would wait for a wake-up batch that is sized
    /// for the new one and may never fill.
    pub(super) fn change_over(&mut self, shallowest: Option<u32>, woke: &mut Vec<Task>) {
        self.sets().for_each(|set| set.announce(shallowest));
        for sleeping in self.sleeping.iter_mut().flatten() {
            if let Gate::Tag(search) = &mut sleeping.gate {
                *search = SearchDepth::All;
            }
        }
        for set in self.sets() {
            while set.waits().asleep().next().is_some() {
                set.wake_one_each(woke);
            }
        }
    }

    /// Each of this many hardware queues has as many tags as the first.
    pub(super) fn split(&mut self, queues: u32) {
        self.each = self.set.map().depth();
        self.others = alloc::vec![self.set.clone(); queues.saturating_sub(1) as usize];
    }

    /// A submitter's processor has this hardware queue; returns its number. Queues that share their tags may be many.
    pub(super) fn place(&mut self, submitter: SubmitterId, queue: u32) -> u32 {
        let queue = if self.others.is_empty() { queue } else { queue.min(self.others.len() as u32) };
        self.hctx.insert(submitter, queue);
        queue
    }

    /// All submitters that were placed, and their hardware queues.
    pub(super) fn places(&self) -> impl Iterator<Item = (SubmitterId, u32)> + '_ {
        self.hctx.iter().map(|(&submitter, &queue)| (submitter, queue))
    }

    fn sets(&mut self) -> impl Iterator<Item = &mut TagSet> {
        core::iter::once(&mut self.set).chain(&mut self.others)
    }

    /// A submitter's hardware queue, and the number of its first tag: tags are numbered through all queues.
    fn of(&mut self, submitter: SubmitterId) -> (&mut TagSet, u32) {
        match self.hctx.get(&submitter) {
            Some(&queue) if queue > 0 && !self.others.is_empty() => {
                (&mut self.others[queue as usize - 1], queue * self.each)
            }
            _ => (&mut self.set, 0),
        }
    }

    /// A tag of the submitter's hardware queue, if one is free.
    #[inline(always)]
    pub(super) fn take(&mut self, submitter: SubmitterId, search: SearchDepth) -> Option<u32> {
        if self.others.is_empty() {
            // One set is the usual case, and then tags need no number beyond it.
            return self.set.take(0, search);
        }
        let (set, first) = self.of(submitter);
        set.take(0, search).map(|tag| first + tag)
    }

    /// [`TagSet::ask`], [`TagSet::wait`](TagSet) or [`TagSet::run`] of the submitter's hardware queue.
    pub(super) fn ask(&mut self, submitter: SubmitterId, task: Task, search: SearchDepth, how: Asks) -> TagAsked {
        let (set, first) = self.of(submitter);
        let asked = match how {
            Asks::First => set.ask(0, task, search, Patience::Waits),
            Asks::FoundNone => set.wait(0, task, search),
            Asks::Woken => set.run(0, task, search),
        };
        match asked {
            TagAsked::Tag(tag) => TagAsked::Tag(first + tag),
            asked => asked,
        }
    }

    /// A tag's request has ended; adds the tasks that are woken, in order.
    #[inline(always)]
    pub(super) fn give_back(&mut self, tag: u32, woke: &mut Vec<Task>) {
        if self.others.is_empty() {
            return self.set.free(tag, woke);
        }
        match tag / self.each {
            0 => self.set.free(tag, woke),
            queue => self.others[queue as usize - 1].free(tag % self.each, woke),
        }
    }

    /// Whether a tag of the submitter's hardware queue is free.
    pub(super) fn has_free(&self, submitter: SubmitterId) -> bool {
        let queue = self.hctx.get(&submitter).copied().unwrap_or_default() as usize;
        let set = queue.checked_sub(1).and_then(|other| self.others.get(other)).unwrap_or(&self.set);
        let map = set.map();
        map.in_use() < map.depth()
    }

    pub(super) fn nobody_runs(&self) -> bool {
        self.runnable.is_empty()
    }

    pub(super) fn check(&self, live: u32) {
        let in_use = core::iter::once(&self.set).chain(&self.others).map(|set| set.map().in_use()).sum::<u32>();
        assert!(in_use <= live, "tags are taken by nobody");
    }
}
