//! Tasks on their way to a tag: asking, sleeping, woken. The state is in `queue/tasks.rs`.
//!
//! **In the kernel** `blk_mq_get_tag`, `sbitmap_prepare_to_wait`.

use crate::elevator::{Admission, Cx, Hook};
use crate::explain::{Reason, Unplug};
use crate::queue::fast_path::FastPath;
use crate::queue::mq::{SearchDepth, TagAsked, Task};
use crate::queue::plug::Handover;
use crate::queue::slot_pools::SlotPools;
use crate::queue::split::SplitPiece;
use crate::queue::tasks::{Asks, Gate, Sleeping, Tasks, Wakes};
use crate::queue::waiters::Sleeper;
use crate::queue::{BlockQueue, Delivery, Listener, QueueState, Submitted};
use crate::request::{Bio, NONE, RequestId};
use crate::time::Instant;

impl<L: Listener> BlockQueue<L> {
    /// A woken task has a processor: it continues with its bio.
    ///
    /// # Panics
    /// If no such task was woken.
    pub fn run_task(&mut self, now: Instant, task: Task) {
        self.catch_up(now);
        match self.core.state.slots {
            SlotPools::Tags(_) => self.go_on(now, task),
            SlotPools::Pools(_) => {
                self.run_waiter(now, task);
            }
        }
    }

    /// The task that fell asleep last.
    pub fn last_asleep(&self) -> Option<Task> {
        self.last_asleep
    }

    /// Whether a submitter that does not sleep for a tag would find one now, if nothing else limits it. True if there
    /// are no tags.
    pub fn has_free_tag(&self, submitter: crate::SubmitterId) -> bool {
        match &self.core.state.slots {
            SlotPools::Tags(tasks) => tasks.has_free(submitter),
            SlotPools::Pools(_) => true,
        }
    }

    /// Each of this many hardware queues has tags of its own, `nr_requests` of them; to be called before the first bio.
    /// Every submitter uses those of the first queue unless it is [placed](Self::place). Only since blk-mq.
    pub fn with_hardware_queues(mut self, queues: u32) -> BlockQueue<L> {
        if let SlotPools::Tags(tasks) = &mut self.core.state.slots {
            tasks.split(queues);
        }
        self
    }

    /// The processor of this submitter uses this hardware queue, counted from 0; a number beyond the last queue means
    /// the last.
    pub fn place(&mut self, submitter: crate::SubmitterId, hardware_queue: u32) {
        if let SlotPools::Tags(tasks) = &mut self.core.state.slots {
            tasks.place(submitter, hardware_queue);
        }
    }

    /// A bio that did not merge is to become a request.
    #[inline(always)]
    pub(in crate::queue) fn allocate(&mut self, now: Instant, bio: &Bio, piece: SplitPiece) -> Submitted {
        if self.core.state.policies.is_empty() {
            let search = self.search_for(now, bio);
            return match self.core.take_tag(bio.submitter, search) {
                Some(tag) => self.enter_with(now, bio, piece, tag),
                None => self.wait_for_tag(now, Sleeper { bio: *bio, piece }, search),
            };
        }
        let task = self.core.tasks().next();
        let climbed = self.climb(now, 0, task, bio);
        self.climbed(now, task, climbed, Sleeper { bio: *bio, piece })
    }

    /// This policy holds the bio back.
    #[cold]
    pub(in crate::queue) fn sleep_for_policy(&mut self, now: Instant, nth: usize, sleeper: Sleeper) -> Submitted {
        let task = self.core.tasks().next();
        self.climbed(now, task, Climbed::Asleep(Gate::Policy(nth)), sleeper)
    }

    /// No tag was free.
    #[cold]
    pub(in crate::queue) fn wait_for_tag(&mut self, now: Instant, sleeper: Sleeper, search: SearchDepth) -> Submitted {
        let tasks = self.core.tasks();
        let task = tasks.next();
        let climbed = climbed(tasks.ask(sleeper.bio.submitter, task, search, Asks::FoundNone), search);
        self.climbed(now, task, climbed, sleeper)
    }

    /// Out of line, because usually nothing holds a bio back and a tag is free.
    #[cold]
    fn climbed(&mut self, now: Instant, task: Task, climbed: Climbed, sleeper: Sleeper) -> Submitted {
        match climbed {
            Climbed::Tag(tag) => self.enter_with(now, &sleeper.bio, sleeper.piece, tag),
            Climbed::Asleep(gate) => {
                self.core.tasks().fall_asleep(gate, sleeper);
                self.last_asleep = Some(task);
                self.explain_sleep(now, &sleeper.bio);
                self.give_up_plugs(now, sleeper.bio.submitter);
                Submitted::Asleep
            }
        }
    }

    /// A submitter that sleeps also waits, so plugs are emptied; also the queue's plug, which no kernel with tags has.
    fn give_up_plugs(&mut self, now: Instant, submitter: crate::SubmitterId) {
        self.flush_plug_of(now, submitter, Handover::FromSchedule);
        self.open_plug(now, Unplug::Waiting);
    }

    /// Adds a piece of the bio whose task has just fallen asleep.
    pub(in crate::queue) fn queue_behind(&mut self, sleeper: Sleeper) {
        let Some(task) = self.last_asleep else { unreachable!("a piece of it sleeps") };
        self.core.tasks().behind(task, sleeper);
    }

    fn explain_sleep(&mut self, now: Instant, bio: &Bio) {
        let (submitter, dir) = (bio.submitter, bio.dir());
        self.core.explain(now, |_| Reason::Slept { submitter, dir });
    }

    /// Passes the policies from number `from` on, and takes a tag.
    fn climb(&mut self, now: Instant, from: usize, task: Task, bio: &Bio) -> Climbed {
        if let Some(held) = self.held_back(now, from, task, bio) {
            return Climbed::Asleep(Gate::Policy(held));
        }
        let search = self.search_for(now, bio);
        let asked = self.core.tasks().ask(bio.submitter, task, search, Asks::First);
        climbed(asked, search)
    }

    /// The depth limit is asked for once, and in 6.1 not for flushes' own requests.
    #[inline]
    pub(in crate::queue) fn search_for(&mut self, now: Instant, bio: &Bio) -> SearchDepth {
        if !self.core.state.hooks.has(Hook::Admit) || (!bio.is_volatile_data() && self.passes_elevator_by(bio)) {
            return SearchDepth::All;
        }
        let mut cx = self.core.cx(now);
        let admission = self.elevator.admit(&mut cx, bio);
        cx.search_of(admission)
    }

    #[inline(always)]
    fn enter_with(&mut self, now: Instant, bio: &Bio, piece: SplitPiece, tag: u32) -> Submitted {
        let carried = self.core.state.bios.carry(bio.tag, piece.of);
        let rq = self.core.state.requests.make(now, bio, carried, tag);
        self.tell_policies(now, |policy, cx| policy.track(cx, rq, bio));
        self.enter_queue(now, rq, crate::elevator::Insert::Sorted)
    }

    fn go_on(&mut self, now: Instant, task: Task) {
        let woken = self.core.tasks().sleeping[task.0 as usize].take();
        let Sleeping { gate, mut pieces } = woken.expect("only a task that slept can be woken");
        let Some(first) = pieces.pop_front() else { unreachable!("it sleeps with something") };
        let submitter = first.bio.submitter;
        let mut at = self.try_again(now, task, gate, &first.bio);
        let mut sleeper = first;
        loop {
            match at {
                Climbed::Asleep(gate) => {
                    pieces.push_front(sleeper);
                    self.core.tasks().sleeping[task.0 as usize] = Some(Sleeping { gate, pieces });
                    return self.give_up_plugs(now, submitter);
                }
                Climbed::Tag(tag) => self.enter_with(now, &sleeper.bio, sleeper.piece, tag),
            };
            // Further pieces of a split bio are treated as new ones.
            sleeper = loop {
                match pieces.pop_front() {
                    Some(next) if !next.bio.is_mergeable() || self.try_merge(now, &next.bio, next.piece).is_none() => {
                        break next;
                    }
                    Some(_) => {}
                    None => return self.gone_through(now, task, submitter),
                }
            };
            at = self.climb(now, 0, task, &sleeper.bio);
        }
    }

    fn try_again(&mut self, now: Instant, task: Task, gate: Gate, bio: &Bio) -> Climbed {
        match gate {
            Gate::Policy(nth) => {
                self.resume_from(now, nth, task, bio);
                self.climb(now, nth + 1, task, bio)
            }
            Gate::Tag(search) => climbed(self.core.tasks().ask(bio.submitter, task, search, Asks::Woken), search),
        }
    }

    fn gone_through(&mut self, now: Instant, task: Task, submitter: crate::SubmitterId) {
        self.core.tasks().free.push(task);
        // The burst to which it belonged may have ended.
        self.end_burst(now, submitter);
        self.core.explain(now, |_| Reason::Woke { submitter });
        self.core.state.deliveries.push(Delivery::Awake(submitter));
    }

    /// Runs woken tasks; returns whether there were any.
    pub(in crate::queue) fn run_woken(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(task) = self.tasks().and_then(|tasks| tasks.runnable.pop_front()) {
            self.go_on(now, task);
            any = true;
        }
        any
    }

    /// Frees a request's tag, if it has one.
    #[inline(always)]
    pub(in crate::queue) fn return_tag(&mut self, rq: RequestId) {
        let tag = self.core.state.requests.take_tag(rq);
        if tag != NONE {
            self.core.state.free_tag(tag);
        }
        self.core.state.woken();
    }

    fn tasks(&mut self) -> Option<&mut Tasks> {
        match &mut self.core.state.slots {
            SlotPools::Tags(tasks) => Some(tasks),
            SlotPools::Pools(_) => None,
        }
    }
}

impl<L> crate::queue::Core<L> {
    /// A tag, if one is free.
    #[inline(always)]
    fn take_tag(&mut self, submitter: crate::SubmitterId, search: SearchDepth) -> Option<u32> {
        self.tasks().take(submitter, search)
    }

    /// # Panics
    /// If the era has no tags.
    fn tasks(&mut self) -> &mut Tasks {
        match &mut self.state.slots {
            SlotPools::Tags(tasks) => tasks,
            SlotPools::Pools(_) => unreachable!("only blk-mq has tags"),
        }
    }
}

impl QueueState {
    fn free_tag(&mut self, tag: u32) {
        if let SlotPools::Tags(tasks) = &mut self.slots {
            tasks.give_back(tag, &mut self.woke);
        }
    }

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
                // They run before the elevator is asked again.
                self.fast_path = FastPath::UNKNOWN;
            }
            (Wakes::AtOnce, SlotPools::Pools(_)) => {}
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
