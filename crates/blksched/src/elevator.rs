//! The contract between a queue and an elevator.

pub use crate::answer::{Admission, Dispatch, Hook, Hooks, IdleFor, Insert, Lookup, Neighbours, Run};
use crate::explain::{End, Listener, Reason};
pub use crate::facts::DeviceFacts;
pub(crate) use crate::facts::Due;
use crate::group::Group;
use crate::index::Steps;
use crate::queue::merge::{Merging, adjoins};
use crate::queue::rq_qos::OwnThrottling;
use crate::queue::{CalmSteps, QueueState};
use crate::request::{Bio, GroupId, Request, RequestId, Requests, SubmitterId};
use crate::time::Instant;
use crate::tunables::{KnobError, Setting, Tunables};

/// What an elevator may look at and say during one call.
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

    /// Nothing merges into this request any more, though it stays queued. (Issuing one does that by itself.)
    pub fn seal(&mut self, id: RequestId) {
        self.state.seal(id);
    }

    /// Nothing finds this request, until it is inserted again ([`Dispatch::Reinsert`]); it may still merge then.
    pub fn hide(&mut self, id: RequestId) {
        self.state.merges.forget(&mut self.state.requests, id);
    }

    /// The deadline is this from now on: for elevators that do not name [`Hook::Deadline`].
    pub fn wake_at(&mut self, deadline: Option<Instant>) {
        let QueueState { due, calm, .. } = &mut *self.state;
        if !due.asked {
            due.at = deadline.unwrap_or(Instant::NEVER);
            calm.until = calm.until.min(due.at);
        }
    }

    /// Wish to be run, in the calls that have no answer to say so: [`Merges::meet`], [`Merges::grown`],
    /// [`Elevator::absorbed`] and [`Grouped::ungroup`].
    pub fn wish(&mut self, run: Run) {
        self.state.wished = run.max(self.state.wished);
    }

    /// The same context, for a call that is not compiled together with its caller: what the caller knows of its own,
    /// such as that nobody listens, it knows behind the call, too.
    #[inline(always)]
    pub(crate) fn apart(&mut self) -> Cx<'_> {
        let listener: Option<&mut dyn Listener> = match &mut self.listener {
            Some(listener) => Some(&mut **listener),
            None => None,
        };
        Cx { now: self.now, state: &mut *self.state, listener }
    }

    /// Is there a listener? For reasons that cost something to find out.
    pub fn is_heard(&self) -> bool {
        self.listener.is_some()
    }

    /// Whether a search counts its comparisons: it does for [`Reason::Searched`].
    #[inline(always)]
    pub fn steps(&self) -> Steps {
        if self.listener.is_some() { Steps::Counted } else { Steps::Uncounted }
    }

    /// Tell the listener, if there is one, what is made only then.
    #[inline(always)]
    pub(crate) fn tell(&mut self, reason: impl FnOnce(&Requests) -> Reason) {
        if let Some(listener) = &mut self.listener {
            listener.hear(self.now, reason(&self.state.requests));
        }
    }

    /// Tell the listener, if there is one.
    #[inline(always)]
    pub fn explain(&mut self, reason: Reason) {
        if let Some(listener) = &mut self.listener {
            listener.hear(self.now, reason);
        }
    }
}

/// A disk scheduler: decides, and does nothing else.
///
/// *Let what is due happen; change one thing; then, unless the queue is plugged or the device is full, call `dispatch`
/// until it no longer says `Issue`.* The [`BlockQueue`](crate::BlockQueue) keeps the rules of that sentence; see the
/// crate's documentation.
///
/// Thirteen calls, of which six must be there. What fewer elevators have stands in four further traits whose calls all
/// have defaults: how requests merge ([`Merges`]), how many may exist ([`Admits`]), groups ([`Grouped`]) and knobs
/// ([`Tuned`]); an elevator without groups says `impl Grouped for Mine {}`.
pub trait Elevator: Merges + Admits + Grouped + Tuned + CalmSteps + Send {
    /// A queue takes this elevator on: the first call it hears, at its birth (`cx.now`) and with the device's facts,
    /// ahead of any change of a knob. State that starts "now", and defaults that depend on the device, are set here.
    fn attach(&mut self, _cx: &mut Cx<'_>) {}

    /// Which of the optional calls it has, always the same. A call that is not named here is not made, so an elevator
    /// that names some must name all that it has.
    fn hooks(&self) -> Hooks {
        Hooks::ALL
    }

    /// A request is queued.
    fn insert(&mut self, cx: &mut Cx<'_>, rq: RequestId, at: Insert) -> Run;

    /// The same of a request that was just made of this bio alone and that nothing is known of otherwise: for elevators
    /// that need not look it up.
    fn insert_lone(&mut self, cx: &mut Cx<'_>, rq: RequestId, at: Insert, _bio: &Bio) -> Run {
        self.insert(cx, rq, at)
    }

    /// What should the disk do next? `Empty` when nothing is queued; else `Idle` when a deadline can change the
    /// answer; else `Wait`.
    fn dispatch(&mut self, cx: &mut Cx<'_>) -> Dispatch;

    /// The device is done with a request that `dispatch` issued.
    fn complete(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run;

    /// The era's own "not empty".
    fn has_work(&self) -> bool;

    /// When it next wants to be told the time.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// It is [`Elevator::deadline`] now (`cx.now` equals it).
    fn elapse(&mut self, _cx: &mut Cx<'_>) -> Run {
        Run::No
    }

    /// `victim` (still readable) was absorbed by `into` (already grown); it leaves every structure. A request also
    /// grows without this call, by [`Merges::unprepare`]d ones: never keep a copy of its size, read `cx.rq`.
    fn absorbed(&mut self, cx: &mut Cx<'_>, into: RequestId, victim: RequestId);

    /// The device handed an issued request back untried: it goes first when it can go again.
    fn requeue(&mut self, cx: &mut Cx<'_>, rq: RequestId);

    /// A submitter is gone. Its queued requests are served all the same.
    fn forget(&mut self, _cx: &mut Cx<'_>, _submitter: SubmitterId) -> Run {
        Run::No
    }

    /// Look at every invariant; tests call it between operations.
    ///
    /// # Panics
    /// If one is broken.
    fn check(&self, _requests: &Requests) {}
}

/// How bios find a request to join, and what an elevator that follows them hears of it.
pub trait Merges {
    /// How the queue looks for a request that a bio may join; always the same.
    fn merging(&self) -> Merging {
        Merging::LINUX_6_1
    }

    /// May this bio join this request? Asked of each candidate; of the request merged last only if the bio adjoins it,
    /// unless the elevator names [`Hook::MergeChanges`].
    fn may_merge(&mut self, _cx: &mut Cx<'_>, _rq: RequestId, _bio: &Bio) -> bool {
        true
    }

    /// Of an elevator that names [`Hook::MergeChanges`]: could asking whether this bio may join change anything now?
    /// Then it is asked of the request merged last, even if the bio does not adjoin that.
    fn asking_changes(&mut self, _bio: &Bio) -> bool {
        true
    }

    /// May this request, about to be inserted, be appended to a queued one?
    fn may_append(&self, _rq: &Request) -> bool {
        true
    }

    /// The elevator's own look-up for a bio that neither `last_merge` nor the hash could place.
    fn look_up(&mut self, _cx: &mut Cx<'_>, _bio: &Bio) -> Lookup {
        Lookup::Nothing
    }

    /// For [`Search::Newest`](crate::queue::merge::Search): of the requests that this bio may still join, the newest;
    /// or the newest that is older than `than`.
    fn newest(&self, _bio: &Bio, _than: Option<RequestId>) -> Option<RequestId> {
        None
    }

    /// The first of the answers of [`Merges::newest`], from `than` on, that the bio adjoins, and at which end. `left`:
    /// so many may still be looked at.
    fn newest_beside(
        &self,
        requests: &Requests,
        bio: &Bio,
        mut than: Option<RequestId>,
        left: &mut usize,
    ) -> Option<(RequestId, End)> {
        while *left > 0 {
            *left -= 1;
            let rq = self.newest(bio, than)?;
            if let Some(end) = adjoins(&requests[rq], bio) {
                return Some((rq, end));
            }
            than = Some(rq);
        }
        None
    }

    /// The queued requests next to `rq`, for coalescing.
    fn neighbours(&self, _rq: RequestId) -> Neighbours {
        Neighbours::default()
    }

    /// A bio joined `rq` at `end` and nothing coalesced; after a front merge its first sector is lower.
    fn grown(&mut self, _cx: &mut Cx<'_>, _rq: RequestId, _end: End) {}

    /// A bio has come and is about to look for a request to join, whether there is one or not.
    fn meet(&mut self, _cx: &mut Cx<'_>, _bio: &Bio) {}

    /// A request exists, has left its submitter's plug, and may still merge away before it is inserted.
    fn prepare(&mut self, _cx: &mut Cx<'_>, _rq: RequestId) {}

    /// A prepared request merged away; it will never be inserted.
    fn unprepare(&mut self, _cx: &mut Cx<'_>, _rq: RequestId) {}
}

/// How many requests may exist, and of which submitters: blk-mq's tags and what limits them.
pub trait Admits {
    /// May this bio take a slot, and how deep? Asked before a request is made.
    fn admit(&mut self, _cx: &mut Cx<'_>, _bio: &Bio) -> Admission {
        Admission::Unlimited
    }

    /// The smallest depth that [`Admits::admit`] limits anything to, as announced to blk-mq: fewer completions then
    /// make a wake-up.
    fn shallowest(&self, _device: &DeviceFacts) -> Option<u32> {
        None
    }

    /// Is there an elevator at all? Without one requests hold the device's own tags, and none are sent ahead.
    fn schedules(&self) -> bool {
        true
    }

    /// Does it schedule buffered writes by itself, so that they are not to be throttled?
    fn own_throttling(&self) -> OwnThrottling {
        OwnThrottling::No
    }
}

/// Whose share it is: control groups.
pub trait Grouped {
    /// A group is made, or its weights change. Every group is announced before its first request, parents first, the
    /// root right after [`Elevator::attach`].
    fn group(&mut self, _cx: &mut Cx<'_>, _id: GroupId, _group: Group) {}

    /// A group is gone: no request of it comes any more; those queued are served all the same.
    fn ungroup(&mut self, _cx: &mut Cx<'_>, _id: GroupId) {}
}

/// Knobs, as in `/sys/block/*/queue/iosched`.
pub trait Tuned {
    /// Its knobs.
    fn tunables(&self) -> &dyn Tunables {
        &()
    }

    /// Its knobs, to change while running.
    fn tunables_mut(&mut self) -> Option<&mut dyn Tunables> {
        None
    }

    /// A knob is written: by number, or by text as into sysfs. For elevators whose knobs do more than change.
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
