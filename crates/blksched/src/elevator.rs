//! The contract between a queue and an elevator.
//! **In the kernel** `elevator_type`, `elevator_ops`, `elevator_mq_ops`.

pub use crate::answer::{Admission, Dispatch, IdleFor, Insert, Lookup, Neighbours, Run};
use crate::explain::{End, Index, Listener, Reason};
pub use crate::facts::DeviceFacts;
pub(crate) use crate::facts::Due;
use crate::group::Group;
use crate::index::Steps;
use crate::queue::merge::{Merging, first_beside};
use crate::queue::rq_qos::OwnThrottling;
use crate::queue::{Compiled, QueueState};
use crate::request::{Bio, GroupId, Request, RequestId, Requests, SubmitterId};
use crate::time::Instant;
use crate::tunables::{KnobError, Setting, Tunables};

/// What an elevator may read and report during one call.
pub struct Cx<'a> {
    /// The time of this call.
    pub now: Instant,
    pub(crate) state: &'a mut QueueState,
    pub(crate) listener: Option<&'a mut dyn Listener>,
}

impl Cx<'_> {
    /// The device.
    pub fn device(&self) -> &DeviceFacts {
        &self.state.device
    }

    /// A live request.
    pub fn rq(&self, id: RequestId) -> &Request {
        &self.state.requests[id]
    }

    /// Prevents further merging into this request, which stays queued. (Issuing a request has the same effect.)
    pub fn seal(&mut self, id: RequestId) {
        self.state.seal(id);
    }

    /// Hides this request from searches until it is inserted again ([`Dispatch::Reinsert`]); it may merge again then.
    pub fn hide(&mut self, id: RequestId) {
        self.state.merges.forget(&mut self.state.requests, id);
    }

    /// Sets the deadline, for elevators that [announce](Elevator::announces_deadline) theirs.
    pub fn wake_at(&mut self, deadline: Option<Instant>) {
        let due = &mut self.state.due;
        if !due.asked {
            due.at = deadline.unwrap_or(Instant::NEVER);
            let at = due.at;
            self.state.wake_by(at);
        }
    }

    /// Requests a run, in calls whose answer cannot request it: [`Merges::meet`], [`Merges::grown`],
    /// [`Elevator::absorbed`] and [`Grouped::ungroup`].
    pub fn run_queue(&mut self, run: Run) {
        self.state.run_asked = run.max(self.state.run_asked);
    }

    /// The same context, for a call that is not compiled together with its caller: what the caller knows, for example
    /// that there is no listener, also holds after the call.
    #[inline(always)]
    pub(crate) fn apart(&mut self) -> Cx<'_> {
        let listener: Option<&mut dyn Listener> = match &mut self.listener {
            Some(listener) => Some(&mut **listener),
            None => None,
        };
        Cx { now: self.now, state: &mut *self.state, listener }
    }

    /// Whether there is a listener; for reasons that are costly to compute.
    pub fn has_listener(&self) -> bool {
        self.listener.is_some()
    }

    /// Whether a search counts its comparisons, which it does for [`Reason::Searched`].
    #[inline(always)]
    pub fn steps(&self) -> Steps {
        if self.listener.is_some() { Steps::Counted } else { Steps::Uncounted }
    }

    /// Reports to the listener, if there is one, a reason that is made only then.
    #[inline(always)]
    pub(crate) fn tell(&mut self, reason: impl FnOnce(&Requests) -> Reason) {
        if let Some(listener) = &mut self.listener {
            listener.on_event(self.now, reason(&self.state.requests));
        }
    }

    /// Reports a reason that has a method of its own on the listener.
    #[inline(always)]
    pub(crate) fn tell_by(&mut self, tell: impl FnOnce(&mut dyn Listener, Instant, &Requests)) {
        if let Some(listener) = &mut self.listener {
            tell(&mut **listener, self.now, &self.state.requests);
        }
    }

    /// Reports the cost of a search to the listener, if there is one.
    #[inline(always)]
    pub fn explain_search(&mut self, index: Index, steps: u32) {
        if let Some(listener) = &mut self.listener {
            listener.on_searched(self.now, index, steps);
        }
    }

    /// Reports to the listener, if there is one.
    #[inline(always)]
    pub fn explain(&mut self, reason: Reason) {
        if let Some(listener) = &mut self.listener {
            listener.on_event(self.now, reason);
        }
    }
}

/// A disk scheduler: it decides, and does nothing else.
///
/// *Handle what is due; make one change; then, unless the queue is plugged or the device is full, call `dispatch` until
/// it no longer returns `Issue`.* The [`BlockQueue`](crate::BlockQueue) keeps the rules of that sentence; see the
/// crate's documentation.
///
/// Twelve calls, six of them required. Calls that fewer elevators need are in four further traits, in which all calls
/// have defaults: how requests merge ([`Merges`]), how many may exist ([`Admits`]), groups ([`Grouped`]) and knobs
/// ([`Tuned`]); an elevator without groups says `impl Grouped for Mine {}`.
pub trait Elevator: Merges + Admits + Grouped + Tuned + AsDyn + Compiled + Send + 'static {
    /// A queue adopts this elevator. This is the first call, made at the beginning (`cx.now`) with the device's facts,
    /// before any change of a knob. State that starts "now", and defaults that depend on the device, are set here.
    fn attach(&mut self, _cx: &mut Cx<'_>) {}

    /// Whether it announces every change of its deadline ([`Cx::wake_at`]); always the same answer. Otherwise it is
    /// asked for its deadline in every call.
    fn announces_deadline(&self) -> bool {
        false
    }

    /// A request is queued.
    fn insert(&mut self, cx: &mut Cx<'_>, rq: RequestId, at: Insert) -> Run;

    /// The next request for the disk, or why there is none: `Empty` if nothing is queued; otherwise `Idle` if a
    /// deadline can change the answer; otherwise `Wait`.
    fn dispatch(&mut self, cx: &mut Cx<'_>) -> Dispatch;

    /// The device has completed a request that `dispatch` issued.
    fn complete(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run;

    /// The era's own "not empty".
    fn has_work(&self) -> bool;

    /// When it next must be called.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// [`Elevator::deadline`] has come (`cx.now` equals it).
    fn elapse(&mut self, _cx: &mut Cx<'_>) -> Run {
        Run::No
    }

    /// `victim` (still readable) was absorbed by `into` (already grown); it leaves every structure. A request also
    /// grows without this call, through [`Merges::unprepare`]d ones: never keep a copy of its size, read `cx.rq`.
    fn absorbed(&mut self, cx: &mut Cx<'_>, into: RequestId, victim: RequestId);

    /// The device returned an issued request untried: it must be dispatched before all others.
    fn requeue(&mut self, cx: &mut Cx<'_>, rq: RequestId);

    /// A submitter has exited. Its queued requests are still served.
    fn forget(&mut self, _cx: &mut Cx<'_>, _submitter: SubmitterId) -> Run {
        Run::No
    }

    /// Checks every invariant; tests call it between operations.
    ///
    /// # Panics
    /// If one is broken.
    fn check(&self, _requests: &Requests) {}
}

/// An elevator whose type is known, as one whose type is not; every elevator has this.
pub trait AsDyn {
    /// The same elevator.
    fn as_dyn(&mut self) -> &mut dyn Elevator;
}

impl<E: Elevator> AsDyn for E {
    fn as_dyn(&mut self) -> &mut dyn Elevator {
        self
    }
}

/// How bios find a request to join, and what an elevator that follows merges is told.
pub trait Merges {
    /// How the queue searches for a request that a bio may join; always the same answer.
    fn merging(&self) -> Merging {
        Merging::LINUX_6_1
    }

    /// Whether this bio may join this request. Asked for each candidate; for the request merged last only if the bio
    /// adjoins it, unless [asking changes something](Merges::asking_changes).
    fn may_merge(&mut self, _cx: &mut Cx<'_>, _rq: RequestId, _bio: &Bio) -> bool {
        true
    }

    /// Whether asking [`Merges::may_merge`] about this bio could change anything now. If so, it is asked about the
    /// request merged last even if the bio does not adjoin that.
    fn asking_changes(&mut self, _bio: &Bio) -> bool {
        true
    }

    /// Whether this request, about to be inserted, may be appended to a queued one.
    fn may_append(&self, _rq: &Request) -> bool {
        true
    }

    /// The elevator's own look-up for a bio that neither `last_merge` nor the hash could place.
    fn look_up(&mut self, _cx: &mut Cx<'_>, _bio: &Bio) -> Lookup {
        Lookup::Nothing
    }

    /// For [`Search::Newest`](crate::queue::merge::Search): the newest of the requests that this bio may still join, or
    /// the newest that is older than `than`.
    fn newest(&self, _bio: &Bio, _than: Option<RequestId>) -> Option<RequestId> {
        None
    }

    /// The first of the answers of [`Merges::newest`], from `than` on, that the bio adjoins, and at which end. `left`:
    /// how many may still be examined.
    fn newest_beside(
        &self,
        requests: &Requests,
        bio: &Bio,
        than: Option<RequestId>,
        left: &mut usize,
    ) -> Option<(RequestId, End)> {
        first_beside(requests, bio, than, left, |than| self.newest(bio, than))
    }

    /// The queued requests adjacent to `rq` in order, for coalescing.
    fn neighbours(&self, _rq: RequestId) -> Neighbours {
        Neighbours::default()
    }

    /// A bio joined `rq` at `end`, and nothing coalesced; after a front merge its first sector is lower.
    fn grown(&mut self, _cx: &mut Cx<'_>, _rq: RequestId, _end: End) {}

    /// A bio has arrived and is about to search for a request to join, whether there is one or not.
    fn meet(&mut self, _cx: &mut Cx<'_>, _bio: &Bio) {}

    /// A request exists, has left its submitter's plug, and may still merge into another before it is inserted.
    fn prepare(&mut self, _cx: &mut Cx<'_>, _rq: RequestId) {}

    /// A prepared request merged into another; it will never be inserted.
    fn unprepare(&mut self, _cx: &mut Cx<'_>, _rq: RequestId) {}
}

/// How many requests may exist, and of which submitters: blk-mq's tags and their limits.
pub trait Admits {
    /// Whether this bio may take a slot, and how deep. Asked before a request is made.
    fn admit(&mut self, _cx: &mut Cx<'_>, _bio: &Bio) -> Admission {
        Admission::Unlimited
    }

    /// The smallest depth to which [`Admits::admit`] limits anything, as announced to blk-mq: it makes wake-up batches
    /// smaller.
    fn shallowest(&self, _device: &DeviceFacts) -> Option<u32> {
        None
    }

    /// The processor of this submitter has this hardware queue of the disk. Told before the submitter's first request,
    /// and only if there are several; whoever is not placed has the first, 0.
    fn place(&mut self, _submitter: SubmitterId, _hardware_queue: u32) {}

    /// Whether there is an elevator. Without one, requests hold the device's own tags, and none are sent ahead.
    fn schedules(&self) -> bool {
        true
    }

    /// Whether it schedules buffered writes itself, so that they must not be throttled.
    fn own_throttling(&self) -> OwnThrottling {
        OwnThrottling::No
    }
}

/// Control groups, the owners of shares.
pub trait Grouped {
    /// Whether groups share the disk by their weights. Without that, groups and weights change nothing.
    fn shares_by_weight(&self) -> bool {
        false
    }

    /// A group is created, or its weights change. Every group is announced before its first request, parents first, the
    /// root directly after [`Elevator::attach`].
    fn group(&mut self, _cx: &mut Cx<'_>, _id: GroupId, _group: Group) {}

    /// A group is removed: no further request of it arrives; those queued are still served.
    fn ungroup(&mut self, _cx: &mut Cx<'_>, _id: GroupId) {}
}

/// Knobs, as in `/sys/block/*/queue/iosched`.
pub trait Tuned {
    /// Its knobs.
    fn tunables(&self) -> &dyn Tunables {
        &()
    }

    /// Its knobs, for changes while running.
    fn tunables_mut(&mut self) -> Option<&mut dyn Tunables> {
        None
    }

    /// A knob is written: by number, or by text as in sysfs. For elevators whose knobs have further effects.
    ///
    /// # Errors
    /// As [`Tunables::set`] and [`Tunables::set_text`].
    fn store(&mut self, _cx: &mut Cx<'_>, knob: &str, value: Setting<'_>) -> Result<(), KnobError> {
        match (self.tunables_mut(), value) {
            (Some(tunables), Setting::Raw(raw)) => tunables.set(knob, raw),
            (Some(tunables), Setting::Text(text)) => tunables.set_text(knob, text),
            (None, _) => ().set(knob, 0),
        }
    }
}
