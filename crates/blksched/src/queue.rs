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

use crate::elevator::{Cx, DeviceFacts, Due, Elevator, Run};
use crate::explain::{Listener, NoListener};
use crate::group::Groups;
use crate::request::{Bio, Bios, Dir, InFlight, RequestId, Requests, SubmitterId, Tag};
use crate::time::Instant;
use crate::tunables::{KnobError, Setting};

mod answers;
mod burst;
mod cancel;
mod cgroup;
mod config;
mod deliver;
mod dispatch_list;
mod flush;
mod groups;
mod in_flight;
#[cfg(test)]
mod lives;
pub mod merge;
#[cfg_attr(not(feature = "elevator-author"), allow(dead_code, unused_imports, reason = "replayers use the rest"))]
pub mod mq;
mod plug;
mod pools;
mod recorded;
mod requeue;
#[cfg_attr(not(feature = "elevator-author"), allow(dead_code, reason = "authors of policies use the rest"))]
pub mod rq_qos;
mod sequence;
mod slot_pools;
mod slots;
mod split;
mod state;
mod step;
mod steps;
mod submit;
mod switch;
mod tasks;
mod waiters;
#[cfg_attr(not(feature = "elevator-author"), allow(dead_code, unused_imports, reason = "replayers use the rest"))]
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
pub use steps::Compiled;
pub use tasks::Wakes;

use answers::TakeDeliveries;
use cgroup::BioGate;
use dispatch_list::DispatchList;
use flush::Flushes;
use merge::MergeIndex;
use mq::TagSet;
use plug::{Handover, Plug};
use pools::Pools;
use rq_qos::Policies;
use sequence::Sequences;
use slot_pools::SlotPools;
use step::Step;
use steps::Caller;
use tasks::Tasks;

/// An elevator, its requests, and the rules around them.
pub struct BlockQueue<L: Listener = NoListener> {
    state: QueueState,
    listener: L,
    elevator: Box<dyn Elevator>,
}

impl<L: Listener> fmt::Debug for BlockQueue<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut queue = f.debug_struct("BlockQueue");
        queue.field("depth", &self.state.config.depth).field("queued", &self.queued());
        queue.field("in_flight", &self.in_flight()).field("deadline", &self.deadline()).finish_non_exhaustive()
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
            device,
            requests,
            merges,
            run_asked: Run::No,
            due: Due::of(elevator.announces_deadline()),
            quiet_until: Instant::ZERO,
            clock: config.born,
            bios: Bios::default(),
            slots,
            policies: Policies::default(),
            groups: Groups::default(),
            woke: Vec::new(),
            queued: 0,
            deliveries: Vec::new(),
            answer: None,
            plug: Plug::new(config.plugging),
            flushes: Flushes::default(),
            sequences: Sequences::default(),
            list: DispatchList::default(),
            gate: BioGate::new(config.io_max),
            longest: 0,
            of_old_elevator: Vec::new(),
            cancelled: Vec::new(),
            last_asleep: None,
        };
        let mut queue = BlockQueue { state, listener, elevator };
        queue.state.gate_changed();
        let mut step = queue.step(config.born);
        step.elevator.attach(&mut step.cx);
        step.introduce_groups();
        queue
    }

    /// The queue at this moment; nothing is handled yet.
    #[inline(always)]
    fn step(&mut self, now: Instant) -> Step<'_, dyn Elevator> {
        let listener: Option<&mut dyn Listener> =
            if self.listener.is_listening() { Some(&mut self.listener) } else { None };
        Step { elevator: &mut *self.elevator, cx: Cx { now, state: &mut self.state, listener } }
    }

    /// Every call begins with this: the queue at this moment, after what was due before (Rule 1).
    #[inline(always)]
    fn at(&mut self, now: Instant) -> Step<'_, dyn Elevator> {
        let mut step = self.step(now);
        step.catch_up();
        step
    }

    /// Submits one bio.
    ///
    /// # Panics
    /// If it has no length and is no flush, or if time runs backwards.
    #[inline]
    pub fn submit(&mut self, now: Instant, bio: Bio) -> Submitted {
        self.at(now).submit_compiled(&bio, Caller::Continues)
    }

    /// What the device should do next. Call until it no longer returns `Issue`.
    #[inline]
    pub fn next(&mut self, now: Instant) -> Next {
        self.at(now).next()
    }

    /// The device has completed a command.
    ///
    /// # Panics
    /// If it is not in flight here: see [`crate::request::NotInFlight`].
    #[inline]
    pub fn complete(&mut self, now: Instant, command: InFlight, outcome: Outcome) {
        // Only two words of the token are needed, so it need not be in memory.
        let (key, start) = (command.key(), command.start);
        self.at(now).complete(key, start, outcome);
    }

    /// `submitter` has sent its burst and now waits for it: plugs are emptied.
    pub fn waits(&mut self, now: Instant, submitter: SubmitterId) {
        self.at(now).wait_for_burst(submitter);
    }

    /// `submitter` has exited: what its plug holds is handed over, the elevator forgets it, and all that it has
    /// submitted is still served, also what sleeps or is held. To give something up instead:
    /// [`BlockQueue::cancel_all`].
    pub fn forget(&mut self, now: Instant, submitter: SubmitterId) {
        let mut step = self.at(now);
        step.flush_plug_of(submitter, Handover::Finish);
        step.cx.state.plug.forget(submitter);
        let run = step.elevator.forget(&mut step.cx, submitter);
        step.changed();
        step.unplug_for(run);
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
        let mut step = self.at(now);
        let shallowest = step.elevator.shallowest(&step.cx.state.device);
        step.elevator.store(&mut step.cx, knob, value)?;
        // A kernel freezes the queue while such a knob is written.
        if step.elevator.shallowest(&step.cx.state.device) != shallowest {
            step.change_over();
        }
        step.changed();
        Ok(())
    }

    /// The time by which the queue must be called again, with any call.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        let elevator = if self.state.due.may_come() { self.elevator.deadline() } else { None };
        if self.state.has_timers() { Instant::earliest([elevator, self.state.next_timer()]) } else { elevator }
    }

    /// Handles what is due by `now`. Every other call does this first.
    pub fn elapse(&mut self, now: Instant) {
        self.at(now);
    }

    /// Makes the next call of [`BlockQueue::next`] ask the elevator even if nothing has changed: a kernel's explicit
    /// run of the queue. Replays need it; drivers do not.
    pub fn run(&mut self) {
        self.state.answer = None;
    }

    /// The deliveries since the last call.
    #[inline(always)]
    pub fn deliveries(&mut self) -> impl Iterator<Item = Delivery> + '_ {
        TakeDeliveries::of(&mut self.state.deliveries)
    }

    /// The listener.
    pub fn listener(&self) -> &L {
        &self.listener
    }

    /// The listener, for taking something from it.
    pub fn listener_mut(&mut self) -> &mut L {
        &mut self.listener
    }

    /// The live requests.
    pub fn requests(&self) -> &Requests {
        &self.state.requests
    }

    /// The elevator.
    pub fn elevator(&self) -> &dyn Elevator {
        &*self.elevator
    }

    /// The tags of the bios that a request carries, in their order on the disk. (A bio that was split has its tag on
    /// every piece.)
    pub fn tags(&self, rq: RequestId) -> impl Iterator<Item = Tag> + '_ {
        self.state.bios.tags(self.state.requests[rq].carried())
    }

    /// The number of requests in the device.
    pub fn in_flight(&self) -> u32 {
        self.state.device.in_flight
    }

    /// Until blk-mq: how many more requests of this direction could be made; `None` if there is no limit, or if it is
    /// counted otherwise.
    pub fn free(&self, dir: Dir) -> Option<u32> {
        match (&self.state.slots, self.state.config.slots) {
            (SlotPools::Pools(pools), Slots::PerDirection { .. }) => Some(pools.free(dir)),
            _ => None,
        }
    }

    /// The number of requests in the elevator.
    pub fn queued(&self) -> u32 {
        self.state.queued
    }

    /// Checks every invariant of the queue and its elevator; for tests.
    ///
    /// # Panics
    /// If one is broken.
    pub fn check(&self) {
        self.elevator.check(&self.state.requests);
        let live = self.state.requests.len() as u32;
        match &self.state.slots {
            SlotPools::Pools(pools) => pools.check(live),
            SlotPools::Tags(tasks) => tasks.check(live),
        }
        assert!(self.state.device.in_flight <= self.state.config.depth);
        assert!(self.state.due.agrees(self.elevator.deadline()), "its deadline moved, and it did not say so");
        self.state.merges.check(&self.state.requests);
        let deadline = self.deadline().unwrap_or(Instant::NEVER);
        assert!(self.state.quiet_until <= deadline, "a deadline would be missed: {deadline}");
        assert!(self.state.policies.agrees(), "a policy's deadline came sooner, and the queue was not told");
    }
}
