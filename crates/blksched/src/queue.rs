//! The block queue: the layer between a submitted bio and an elevator, and between an elevator and the device.
//!
//! ```text
//! bio → flush sequence → split → merge → slot → (submitter's plug) → elevator → (queue's plug) → depth → device
//! bio → split → merge → policies → tag → flush sequence or (plug → elevator) → dispatch list → device      (blk-mq)
//! ```
//!
//! It owns the arena, keeps the contract's four rules, and is the only writer of requests. One file per mechanism.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use crate::elevator::{Cx, DeviceFacts, Dispatch, Due, Elevator, Hook, Insert, Run};
use crate::explain::{Listener, NoListener, Reason, Unplug};
use crate::group::Groups;
use crate::request::{
    Bio, Bios, Carried, Dir, FlightKey, InFlight, NONE, Op, RequestId, Requests, Sector, Stage, SubmitterId, Tag,
};
use crate::time::Instant;
use crate::tunables::{KnobError, Setting};

mod answers;
mod burst;
mod cancel;
mod cgroup;
mod config;
mod deliver;
mod dispatch_list;
mod fast_path;
mod flush;
mod groups;
#[cfg(test)]
mod hooks;
mod in_flight;
pub mod merge;
pub mod mq;
mod plug;
mod pools;
mod recorded;
mod requeue;
pub mod rq_qos;
mod sequence;
#[cfg(test)]
mod short_way;
mod slot_pools;
mod slots;
mod split;
mod state;
mod steps;
mod submit;
mod switch;
mod tasks;
mod waiters;
pub mod wbt;

pub use answers::{Cancelled, Delivery, Next, Outcome, Submitted};
pub use burst::Burst;
pub use cgroup::GroupFileError;
pub use config::{Limits, QueueConfig};
pub use dispatch_list::{DispatchAhead, Driver, FlushCommand};
pub use plug::Plugging;
pub use recorded::ListedBio;
pub use slots::{Pool, Slots, WakeRule};
pub use state::QueueState;
pub use steps::FastSteps;
pub use tasks::Wakes;

use answers::TakeDeliveries;
use cgroup::BioGate;
use dispatch_list::DispatchList;
use fast_path::FastPath;
use flush::Flushes;
use merge::MergeIndex;
use mq::{TagSet, Task};
use plug::{Handover, Plug};
use pools::Pools;
use rq_qos::Policies;
use sequence::Sequences;
use slot_pools::SlotPools;
use state::SlowPath;
use tasks::Tasks;

/// More deadlines than this at one moment are a bug.
const ROUNDS: u32 = 10_000;

/// An elevator, its requests, and the rules around them.
pub struct BlockQueue<L: Listener = NoListener> {
    core: Core<L>,
    elevator: Box<dyn Elevator>,
    plug: Plug,
    flushes: Flushes,
    sequences: Sequences,
    list: DispatchList,
    gate: BioGate,
    /// The elevator's last answer, as long as nothing has changed since.
    answer: Option<Dispatch>,
    /// Requests in flight that were issued by an elevator that has been replaced.
    of_old_elevator: Vec<RequestId>,
    /// Cancelled requests that are still in the elevator.
    cancelled: Vec<RequestId>,
    /// The task that fell asleep last; further pieces of its bio follow.
    last_asleep: Option<Task>,
}

impl<L: Listener> fmt::Debug for BlockQueue<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut queue = f.debug_struct("BlockQueue");
        queue.field("depth", &self.core.state.config.depth).field("queued", &self.queued());
        queue.field("in_flight", &self.in_flight()).field("deadline", &self.deadline()).finish_non_exhaustive()
    }
}

/// What the queue's mechanisms share: the state, and the listener.
struct Core<L> {
    state: QueueState,
    listener: L,
}

impl<L: Listener> Core<L> {
    #[inline(always)]
    fn cx(&mut self, now: Instant) -> Cx<'_> {
        let listener: Option<&mut dyn Listener> =
            if self.listener.is_listening() { Some(&mut self.listener) } else { None };
        Cx { now, state: &mut self.state, listener }
    }

    /// Prevents further merging into `rq`.
    fn seal(&mut self, rq: RequestId) {
        self.state.seal(rq);
    }

    fn explain(&mut self, now: Instant, reason: impl FnOnce(&Requests) -> Reason) {
        if self.listener.is_listening() {
            self.listener.on_event(now, reason(&self.state.requests));
        }
    }
}

impl BlockQueue {
    /// An empty queue without a listener.
    pub fn new(config: QueueConfig, elevator: Box<dyn Elevator>) -> BlockQueue {
        BlockQueue::with_listener(config, elevator, NoListener)
    }
}

impl<L: Listener> BlockQueue<L> {
    /// An empty queue that reports its reasons to `listener`.
    ///
    /// # Panics
    /// If the configuration allows nothing in flight or requests of no length.
    pub fn with_listener(config: QueueConfig, elevator: Box<dyn Elevator>, listener: L) -> BlockQueue<L> {
        assert!(config.depth > 0 && config.limits.max_sectors > 0 && config.limits.max_segments > 0);
        let merges = MergeIndex::new(elevator.merging(), config.slots.capacity());
        let device = DeviceFacts {
            rotational: config.limits.rotational,
            depth: config.depth,
            in_flight: 0,
            nr_requests: config.slots.nr_requests(),
            tags_per_word: config.slots.tags_per_word(),
            max_sectors: config.limits.max_sectors,
            max_segments: config.limits.max_segments,
        };
        let requests = Requests::with_capacity(config.slots.capacity());
        let slots = match config.slots {
            Slots::Tags { nr_requests, made_for, era, order } => {
                let mut set = TagSet::new(era, order, made_for.max(1), elevator.shallowest(&device));
                if nr_requests < made_for {
                    set.resize(nr_requests.max(1));
                }
                SlotPools::Tags(Box::new(Tasks::new(set)))
            }
            counted => SlotPools::Pools(Box::new(Pools::new(counted))),
        };
        let state = QueueState {
            config,
            hooks: elevator.hooks(),
            device,
            requests,
            merges,
            run_asked: Run::No,
            due: Due::of(elevator.hooks()),
            fast_path: FastPath::UNKNOWN,
            clock: config.born,
            bios: Bios::default(),
            slots,
            policies: Policies::default(),
            groups: Groups::default(),
            woke: Vec::new(),
            queued: 0,
            deliveries: Vec::new(),
            slow_path: SlowPath::Nothing,
        };
        let core = Core { state, listener };
        let mut queue = BlockQueue {
            core,
            elevator,
            plug: Plug::new(config.plugging),
            flushes: Flushes::default(),
            sequences: Sequences::default(),
            list: DispatchList::default(),
            gate: BioGate::default(),
            answer: None,
            of_old_elevator: Vec::new(),
            cancelled: Vec::new(),
            last_asleep: None,
        };
        queue.elevator.attach(&mut queue.core.cx(config.born));
        queue.introduce_groups(config.born);
        queue
    }

    /// What the device should do next. Call until it no longer returns `Issue`.
    #[inline]
    pub fn next(&mut self, now: Instant) -> Next {
        if self.may_go_fast(now) { self.next_fast(now) } else { self.next_at(now) }
    }

    /// The same, on the long path.
    #[inline(never)]
    fn next_at(&mut self, now: Instant) -> Next {
        self.catch_up(now);
        if self.is_simply_full() && self.nobody_goes_on() {
            return Next::Full;
        }
        self.next_of_all(now)
    }

    #[inline(never)]
    fn next_of_all(&mut self, now: Instant) -> Next {
        loop {
            let next = self.ask(now);
            if matches!(next, Next::Issue(_)) || !self.admit_sleepers(now) {
                return next;
            }
        }
    }

    /// The device has completed a command.
    ///
    /// # Panics
    /// If it is not in flight here: see [`crate::request::NotInFlight`].
    #[inline]
    pub fn complete(&mut self, now: Instant, command: InFlight, outcome: Outcome) {
        // Only two words of the token are needed, so it need not be in memory.
        let (key, start) = (command.key(), command.start);
        if !self.may_go_fast(now) || !self.complete_fast(now, key, start, outcome) {
            self.complete_at(now, key, start, outcome);
        }
    }

    /// The same, on the long path.
    #[inline(never)]
    fn complete_at(&mut self, now: Instant, key: FlightKey, start: Sector, outcome: Outcome) {
        self.catch_up(now);
        let rq = self.leave_device(key, start);
        self.explain_completed(now, rq);
        if self.core.state.requests[rq].op == Op::Flush {
            match self.core.state.config.slots.era() {
                Some(_) => self.sequence_flushed(now, rq, outcome),
                None => self.flush_done(now, rq, outcome),
            }
            return;
        }
        let plain = self.core.state.requests[rq].is_plain();
        if (plain || !self.passed_by(rq)) && !self.is_orphan(rq) && self.core.state.hooks.has(Hook::Complete) {
            let run = self.elevator.complete(&mut self.core.cx(now), rq);
            self.run_hw_queue(now, run);
        }
        if plain || !self.sequence_goes_on(now, rq, outcome) {
            self.end_request(now, rq, outcome);
        }
    }

    fn explain_completed(&mut self, now: Instant, rq: RequestId) {
        self.core.explain(now, |requests| {
            let Bio { submitter, sectors, .. } = *requests[rq];
            Reason::Completed { rq, dir: requests[rq].dir(), sectors, submitter }
        });
    }

    /// Ends `rq`: its bios end, the policies are told, its slot becomes free, in this order.
    #[inline(always)]
    fn end_request(&mut self, now: Instant, rq: RequestId, outcome: Outcome) {
        let dir = self.core.state.requests[rq].dir();
        self.deliver(now, rq, outcome);
        self.tell_policies(now, |policy, cx| policy.done(cx, rq));
        match &mut self.core.state.slots {
            SlotPools::Pools(pools) => {
                pools.release(dir);
                self.tell_woken();
            }
            SlotPools::Tags(_) => self.return_tag(rq),
        }
        self.core.state.requests.release(rq);
    }

    /// `submitter` has sent its burst and now waits for it: plugs are emptied.
    pub fn waits(&mut self, now: Instant, submitter: SubmitterId) {
        self.catch_up(now);
        self.flush_plug_of(now, submitter, Handover::Finish);
        self.open_plug(now, Unplug::Waiting);
    }

    /// `submitter` has exited; its queued requests are still served.
    pub fn forget(&mut self, now: Instant, submitter: SubmitterId) {
        self.catch_up(now);
        self.flush_plug_of(now, submitter, Handover::Finish);
        self.plug.forget(submitter);
        let run = self.elevator.forget(&mut self.core.cx(now), submitter);
        self.changed();
        self.run_hw_queue(now, run);
    }

    /// Changes a knob of the elevator while it runs.
    ///
    /// # Errors
    /// If it has no such knob or the value does not fit; nothing has changed then.
    pub fn set(&mut self, now: Instant, knob: &str, raw: i64) -> Result<(), KnobError> {
        self.write_knob(now, knob, Setting::Raw(raw))
    }

    /// Writes text to a knob of the elevator, as to its file in sysfs.
    ///
    /// # Errors
    /// As [`BlockQueue::set`].
    pub fn set_text(&mut self, now: Instant, knob: &str, text: &str) -> Result<(), KnobError> {
        self.write_knob(now, knob, Setting::Text(text))
    }

    fn write_knob(&mut self, now: Instant, knob: &str, value: Setting<'_>) -> Result<(), KnobError> {
        self.catch_up(now);
        let shallowest = self.elevator.shallowest(&self.core.state.device);
        self.elevator.store(&mut self.core.cx(now), knob, value)?;
        // A kernel freezes the queue while such a knob is written.
        if self.elevator.shallowest(&self.core.state.device) != shallowest {
            self.change_over();
        }
        self.changed();
        Ok(())
    }

    /// The time by which the queue must be called again, with any call.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        let elevator = if self.core.state.due.may_come() { self.elevator.deadline() } else { None };
        if !self.has_timers() {
            return elevator;
        }
        Instant::earliest([elevator, self.plug.deadline(), self.core.state.policies.deadline(), self.gate.deadline()])
    }

    /// Handles what is due by `now`. Every other call does this first.
    pub fn elapse(&mut self, now: Instant) {
        self.catch_up(now);
    }

    /// Makes the next call of [`BlockQueue::next`] ask the elevator even if nothing has changed: a kernel's explicit
    /// run of the queue. Replays need it; drivers do not.
    pub fn run(&mut self) {
        self.changed();
    }

    /// The deliveries since the last call.
    #[inline(always)]
    pub fn deliveries(&mut self) -> impl Iterator<Item = Delivery> + '_ {
        TakeDeliveries::of(&mut self.core.state.deliveries)
    }

    /// The listener.
    pub fn listener(&self) -> &L {
        &self.core.listener
    }

    /// The listener, for taking something from it.
    pub fn listener_mut(&mut self) -> &mut L {
        &mut self.core.listener
    }

    /// The live requests.
    pub fn requests(&self) -> &Requests {
        &self.core.state.requests
    }

    /// The elevator.
    pub fn elevator(&self) -> &dyn Elevator {
        &*self.elevator
    }

    /// The tags of the bios that a request carries, in their order on the disk. (A bio that was split has its tag on
    /// every piece.)
    pub fn tags(&self, rq: RequestId) -> impl Iterator<Item = Tag> + '_ {
        self.core.state.bios.tags(self.core.state.requests[rq].carried())
    }

    /// The number of requests in the device.
    pub fn in_flight(&self) -> u32 {
        self.core.state.device.in_flight
    }

    /// Until blk-mq: how many more requests of this direction could be made; `None` if there is no limit, or if it is
    /// counted otherwise.
    pub fn free(&self, dir: Dir) -> Option<u32> {
        match (&self.core.state.slots, self.core.state.config.slots) {
            (SlotPools::Pools(pools), Slots::PerDirection { .. }) => Some(pools.free(dir)),
            _ => None,
        }
    }

    /// The number of requests in the elevator.
    pub fn queued(&self) -> u32 {
        self.core.state.queued
    }

    /// Checks every invariant of the queue and its elevator; for tests.
    ///
    /// # Panics
    /// If one is broken.
    pub fn check(&self) {
        self.elevator.check(&self.core.state.requests);
        let live = self.core.state.requests.len() as u32;
        match &self.core.state.slots {
            SlotPools::Pools(pools) => pools.check(live),
            SlotPools::Tags(tasks) => tasks.check(live),
        }
        assert!(self.core.state.device.in_flight <= self.core.state.config.depth);
        assert!(self.core.state.due.agrees(self.elevator.deadline()), "its deadline moved, and it did not say so");
        self.core.state.merges.check(&self.core.state.requests);
        self.check_fast_path();
    }
}

impl<L: Listener> BlockQueue<L> {
    /// Rule 1: deadlines that are due elapse first, the earliest first, each at its own time.
    #[inline(always)]
    fn catch_up(&mut self, now: Instant) {
        assert!(now >= self.core.state.clock, "time ran backwards: {now} after {}", self.core.state.clock);
        self.core.state.fast_path = FastPath::UNKNOWN;
        let is_due = self.core.state.due.may_be(now) && self.elevator.deadline().is_some_and(|at| at <= now);
        if is_due || self.is_timer_due(now) {
            self.pass_all(now);
        }
        self.core.state.clock = now;
    }

    /// Out of line: nearly every call finds nothing due.
    #[inline(never)]
    fn pass_all(&mut self, now: Instant) {
        let mut rounds = 0;
        while let Some(at) = self.deadline().filter(|&at| at <= now) {
            let at = at.max(self.core.state.clock);
            rounds = if at == self.core.state.clock { rounds + 1 } else { 0 };
            assert!(rounds < ROUNDS, "at {at} the elevator leaves its deadline in the past for ever");
            self.pass(at);
        }
    }

    /// Handles the deadline that has come at `at`.
    fn pass(&mut self, at: Instant) {
        self.core.state.clock = at;
        if self.elevator.deadline().is_some_and(|deadline| deadline <= at) {
            self.core.explain(at, |_| Reason::Elapsed);
            let run = self.elevator.elapse(&mut self.core.cx(at));
            // A deadline that requests no run changes no answer, unless the answer was to wait for it.
            if run != Run::No || matches!(self.answer, Some(Dispatch::Idle { .. })) {
                self.changed();
            }
            self.run_hw_queue(at, run);
        } else if self.core.state.policies.deadline().is_some_and(|deadline| deadline <= at) {
            self.elapse_policies(at);
        } else if self.gate.deadline().is_some_and(|deadline| deadline <= at) {
            self.elapse_gate(at);
        } else {
            self.end_long_bursts(at);
            if self.plug.is_due(at) {
                self.open_plug(at, Unplug::Timer);
            }
        }
    }

    /// Rule 2: something changed, so the elevator's last answer is no longer valid.
    fn changed(&mut self) {
        self.answer = None;
    }

    /// A requested run opens the plug.
    #[inline]
    fn run_hw_queue(&mut self, now: Instant, run: Run) {
        if run != Run::No {
            self.run_if_asked_by(now, run);
        }
    }

    fn run_if_asked_by(&mut self, now: Instant, run: Run) {
        self.core.explain(now, |_| Reason::WishedRun(run));
        self.open_plug(now, Unplug::Wished);
    }

    /// Asks the elevator once, or returns the reason not to ask.
    #[inline(always)]
    fn ask(&mut self, now: Instant) -> Next {
        if self.is_device_full(now) {
            return Next::Full;
        }
        if let Some(listed) = self.next_listed(now) {
            return Next::Issue(listed);
        }
        if let Some(flush) = self.next_flush(now) {
            return Next::Issue(flush);
        }
        if self.plug.is_closed() {
            return Next::Plugged { until: self.plug.deadline() };
        }
        let answer = self.choose(now);
        self.answer = (!matches!(answer, Dispatch::Issue(_))).then_some(answer);
        match answer {
            Dispatch::Issue(rq) => Next::Issue(self.issue(now, rq)),
            Dispatch::Reinsert(rq) => unreachable!("{rq:?} was inserted again"),
            Dispatch::Idle { until, why } => Next::Idle { until, why },
            Dispatch::Wait => Next::Wait,
            Dispatch::Empty if self.plug.holds() => Next::Plugged { until: self.plug.deadline() },
            Dispatch::Empty => Next::Empty,
        }
    }

    /// The elevator's answer, after its reinsertions and cancelled requests have been handled.
    #[inline(always)]
    fn choose(&mut self, now: Instant) -> Dispatch {
        loop {
            match self.answer {
                Some(answer) => return answer,
                None => match self.elevator.dispatch(&mut self.core.cx(now)) {
                    Dispatch::Reinsert(rq) => self.reinsert(now, rq),
                    Dispatch::Issue(rq) if !self.cancelled.is_empty() && self.drops(now, rq) => {}
                    answer => return answer,
                },
            }
        }
    }

    /// The elevator chose `rq`: it leaves the merge index and goes to the device.
    #[inline(always)]
    fn issue(&mut self, now: Instant, rq: RequestId) -> InFlight {
        self.take_from_elevator(rq);
        self.start(now, rq)
    }

    #[inline(always)]
    fn take_from_elevator(&mut self, rq: RequestId) {
        let stage = self.core.state.requests[rq].stage;
        assert!(stage == Stage::Queued, "the elevator issued {rq:?}, which is {stage:?}");
        self.core.seal(rq);
        self.core.state.queued -= 1;
    }

    /// Gives a prepared request to the elevator.
    #[inline(always)]
    fn hand_over(&mut self, now: Instant, rq: RequestId, at: Insert) {
        let was_idle = self.plug.closes() && !self.elevator.has_work();
        self.enlist(now, rq);
        if was_idle {
            self.close_plug(now);
        }
        self.insert(now, rq, at);
    }

    /// From now on it is queued, and bios can find it.
    #[inline(always)]
    fn enlist(&mut self, now: Instant, rq: RequestId) {
        self.core.state.requests.get_mut(rq).stage = Stage::Queued;
        self.core.state.queued += 1;
        self.core.state.merges.admit(&mut self.core.state.requests, rq);
        if !self.cancelled.is_empty() && self.cancelled.contains(&rq) {
            // It is inserted again, and as before, nothing may join it.
            self.core.seal(rq);
        }
        self.explain_inserted(now, rq);
    }

    fn explain_inserted(&mut self, now: Instant, rq: RequestId) {
        self.core.explain(now, |requests| {
            let Bio { submitter, start, sectors, .. } = *requests[rq];
            Reason::Inserted { rq, dir: requests[rq].dir(), start, sectors, submitter }
        });
    }

    #[inline(always)]
    fn insert(&mut self, now: Instant, rq: RequestId, at: Insert) {
        let run = self.elevator.insert(&mut self.core.cx(now), rq, at);
        self.changed();
        self.run_hw_queue(now, run);
        if self.plug.is_reached(self.core.state.queued) {
            self.open_plug(now, Unplug::Threshold);
        }
    }

    /// A bio as the arena keeps it.
    #[inline(always)]
    fn make(&mut self, now: Instant, bio: &Bio, carried: Carried) -> RequestId {
        self.core.state.requests.make(now, bio, carried, NONE)
    }
}
