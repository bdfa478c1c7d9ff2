//! Tasks on their way to a tag: asking, sleeping, woken. The state is in `queue/tasks.rs`.
//!
//! **In the kernel** `blk_mq_get_tag`, `sbitmap_prepare_to_wait`.

use crate::elevator::{Admission, Cx, Elevator, Insert};
use crate::explain::{Reason, Unplug};
use crate::queue::merge::Attempt;
use crate::queue::mq::{SearchDepth, TagAsked, Task};
use crate::queue::plug::Handover;
use crate::queue::slot_pools::SlotPools;
use crate::queue::split::SplitPiece;
use crate::queue::step::Step;
use crate::queue::tasks::{Asks, Gate, Sleeping, Wakes};
use crate::queue::waiters::Sleeper;
use crate::queue::{BlockQueue, Delivery, Listener, QueueState, Submitted};
use crate::request::{Bio, SubmitterId};
use crate::time::Instant;

impl<L: Listener> BlockQueue<L> {
    /// A woken task has a processor: it continues with its bio.
    ///
    /// # Panics
    /// If no such task was woken.
    pub fn run_task(&mut self, now: Instant, task: Task) {
        let mut step = self.at(now);
        if step.cx.state.slots.are_tags() {
            step.go_on(task);
        } else {
            step.run_waiter(task);
        }
    }

    /// The task that fell asleep last.
    pub fn last_asleep(&self) -> Option<Task> {
        self.state.last_asleep
    }

    /// Whether a submitter that does not sleep for a tag would find one now, if nothing else limits it. True if there
    /// are no tags.
    pub fn has_free_tag(&self, submitter: SubmitterId) -> bool {
        match &self.state.slots {
            SlotPools::Tags(tasks) => tasks.has_free(submitter),
            SlotPools::Pools(_) => true,
        }
    }

    /// Each of this many hardware queues has tags of its own, `nr_requests` of them; to be called before the first bio.
    /// Every submitter uses those of the first queue unless it is [placed](Self::place). Only since blk-mq.
    pub fn with_hardware_queues(mut self, queues: u32) -> BlockQueue<L> {
        if let SlotPools::Tags(tasks) = &mut self.state.slots {
            tasks.split(queues);
        }
        self
    }

    /// The processor of this submitter uses this hardware queue, counted from 0; to be called before its first bio. If
    /// each queue has [tags of its own](Self::with_hardware_queues), a number beyond the last means the last.
    pub fn place(&mut self, submitter: SubmitterId, hardware_queue: u32) {
        if let SlotPools::Tags(tasks) = &mut self.state.slots {
            let queue = tasks.place(submitter, hardware_queue);
            self.elevator.place(submitter, queue);
        }
    }
}

impl Step<'_, dyn Elevator> {
    /// The depth limit is asked for once, and in 6.1 not for flushes' own requests.
    pub(in crate::queue) fn search_for(&mut self, bio: &Bio) -> SearchDepth {
        if !bio.is_volatile_data() && self.passes_elevator_by(bio) {
            return SearchDepth::All;
        }
        self.depth_for(bio)
    }

    /// This policy holds the bio back.
    #[cold]
    pub(in crate::queue) fn sleep_for_policy(&mut self, nth: usize, sleeper: Sleeper) -> Submitted {
        let task = self.cx.state.slots.tasks().next();
        self.climbed(task, Climbed::Asleep(Gate::Policy(nth)), sleeper)
    }

    /// No tag was free.
    #[cold]
    pub(in crate::queue) fn wait_for_tag(&mut self, sleeper: Sleeper, search: SearchDepth) -> Submitted {
        let tasks = self.cx.state.slots.tasks();
        let task = tasks.next();
        let climbed = climbed(tasks.ask(sleeper.bio.submitter, task, search, Asks::FoundNone), search);
        self.climbed(task, climbed, sleeper)
    }

    /// Out of line, because usually nothing holds a bio back and a tag is free.
    #[cold]
    fn climbed(&mut self, task: Task, climbed: Climbed, sleeper: Sleeper) -> Submitted {
        match climbed {
            Climbed::Tag(tag) => self.enter_with(&sleeper.bio, sleeper.piece, tag),
            Climbed::Asleep(gate) => {
                self.cx.state.slots.tasks().fall_asleep(gate, sleeper);
                self.cx.state.last_asleep = Some(task);
                self.explain_sleep(&sleeper.bio);
                self.give_up_plugs(sleeper.bio.submitter);
                Submitted::Asleep
            }
        }
    }

    /// A submitter that sleeps also waits, so plugs are emptied; also the queue's plug, which no kernel with tags has.
    fn give_up_plugs(&mut self, submitter: SubmitterId) {
        self.flush_plug_of(submitter, Handover::FromSchedule);
        self.open_plug(Unplug::Waiting);
    }

    /// Adds a piece of the bio whose task has just fallen asleep.
    pub(in crate::queue) fn queue_behind(&mut self, sleeper: Sleeper) {
        let Some(task) = self.cx.state.last_asleep else { unreachable!("a piece of it sleeps") };
        self.cx.state.slots.tasks().behind(task, sleeper);
    }

    fn explain_sleep(&mut self, bio: &Bio) {
        let (submitter, dir) = (bio.submitter, bio.dir());
        self.cx.tell(|_| Reason::Slept { submitter, dir });
    }

    /// Passes the policies from number `from` on, and takes a tag.
    fn climb(&mut self, from: usize, task: Task, bio: &Bio) -> Climbed {
        if let Some(held) = self.held_back(from, task, bio) {
            return Climbed::Asleep(Gate::Policy(held));
        }
        let search = self.search_for(bio);
        let asked = self.cx.state.slots.tasks().ask(bio.submitter, task, search, Asks::First);
        climbed(asked, search)
    }

    fn enter_with(&mut self, bio: &Bio, piece: SplitPiece, tag: u32) -> Submitted {
        let collected = self.cx.state.plug.collects();
        self.make_request(bio, piece, collected, Insert::Sorted, tag)
    }

    /// Whether the bio joined a request.
    fn is_merged(&mut self, bio: &Bio, piece: SplitPiece) -> bool {
        if !bio.is_mergeable() {
            return false;
        }
        let Attempt::Joined { into, .. } = self.merge_bio(bio, piece) else { return false };
        self.tell_merged(into, bio);
        true
    }

    fn go_on(&mut self, task: Task) {
        let woken = self.cx.state.slots.tasks().sleeping[task.0 as usize].take();
        let Sleeping { gate, mut pieces } = woken.expect("only a task that slept can be woken");
        let Some(first) = pieces.pop_front() else { unreachable!("it sleeps with something") };
        let submitter = first.bio.submitter;
        let mut at = self.try_again(task, gate, &first.bio);
        let mut sleeper = first;
        loop {
            match at {
                Climbed::Asleep(gate) => {
                    pieces.push_front(sleeper);
                    self.cx.state.slots.tasks().sleeping[task.0 as usize] = Some(Sleeping { gate, pieces });
                    return self.give_up_plugs(submitter);
                }
                Climbed::Tag(tag) => self.enter_with(&sleeper.bio, sleeper.piece, tag),
            };
            // Further pieces of a split bio are treated as new ones.
            sleeper = loop {
                match pieces.pop_front() {
                    Some(next) if !self.is_merged(&next.bio, next.piece) => break next,
                    Some(_) => {}
                    None => return self.gone_through(task, submitter),
                }
            };
            at = self.climb(0, task, &sleeper.bio);
        }
    }

    fn try_again(&mut self, task: Task, gate: Gate, bio: &Bio) -> Climbed {
        match gate {
            Gate::Policy(nth) => {
                self.resume_from(nth, task, bio);
                self.climb(nth + 1, task, bio)
            }
            Gate::Tag(search) => {
                climbed(self.cx.state.slots.tasks().ask(bio.submitter, task, search, Asks::Woken), search)
            }
        }
    }

    fn gone_through(&mut self, task: Task, submitter: SubmitterId) {
        self.cx.state.slots.tasks().free.push(task);
        // The burst to which it belonged may have ended.
        self.end_burst(submitter);
        self.cx.tell(|_| Reason::Woke { submitter });
        self.cx.state.deliveries.push(Delivery::Awake(submitter));
    }

    /// Runs woken tasks; returns whether there were any.
    pub(in crate::queue) fn run_woken(&mut self) -> bool {
        let mut any = false;
        while let Some(task) = self.cx.state.slots.tasks().runnable.pop_front() {
            self.go_on(task);
            any = true;
        }
        any
    }
}

impl QueueState {
    /// Reports woken tasks, in this order; usually there are none. The list is kept for the next time.
    #[inline(always)]
    pub(in crate::queue) fn woken(&mut self) {
        if !self.woke.is_empty() {
            self.let_run();
        }
    }

    #[inline(never)]
    fn let_run(&mut self) {
        match (self.config.wakes, &mut self.slots) {
            (Wakes::ByDriver, _) => self.deliveries.extend(self.woke.drain(..).map(Delivery::Runnable)),
            (Wakes::AtOnce, SlotPools::Tags(tasks)) => {
                tasks.runnable.extend(self.woke.drain(..));
            }
            (Wakes::AtOnce, SlotPools::Pools(pools)) => pools.waiters().runnable.extend(self.woke.drain(..)),
        }
    }
}

impl Cx<'_> {
    /// The search for a tag that this answer requires.
    #[inline(always)]
    pub(in crate::queue) fn search_of(&mut self, admission: Admission) -> SearchDepth {
        match admission {
            Admission::Unlimited => SearchDepth::All,
            Admission::Shallow(shallow) => {
                self.tell(|_| Reason::Limited { shallow });
                SearchDepth::PerWord(shallow)
            }
            Admission::AtMost(shallow) => {
                self.tell(|_| Reason::Limited { shallow });
                SearchDepth::OfAll(shallow)
            }
        }
    }
}

fn climbed(asked: TagAsked, search: SearchDepth) -> Climbed {
    match asked {
        TagAsked::Tag(tag) => Climbed::Tag(tag),
        TagAsked::Sleep(_) => Climbed::Asleep(Gate::Tag(search)),
        TagAsked::Fail => unreachable!("it waits"),
    }
}

/// The result of an attempt.
enum Climbed {
    Tag(u32),
    Asleep(Gate),
}
