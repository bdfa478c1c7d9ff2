//! A watched elevator: every call is passed on and reported to the law of calls.

use blksched::author::merge::Merging;
use blksched::author::{
    Admission, Admits, Cx, DeviceFacts, Dispatch, Elevator, Grouped, Insert, Lookup, Merges, Neighbours, Request,
    RequestId, Requests, Run, Tuned,
};
use blksched::reasons::End;
use blksched::surroundings::rq_qos::OwnThrottling;
use blksched::tunables::{KnobError, Setting, Tunables};
use blksched::{Bio, Group, GroupId, Instant, SubmitterId};

use super::calls::Calls;

/// An elevator with the state of its laws.
pub(super) struct Watched {
    inner: Box<dyn Elevator>,
    calls: Calls,
}

impl Watched {
    pub(super) fn new(inner: Box<dyn Elevator>, calls: Calls) -> Watched {
        Watched { inner, calls }
    }

    /// Makes a call that may change the elevator's answer.
    fn changes<T>(&mut self, cx: &mut Cx<'_>, call: impl FnOnce(&mut dyn Elevator, &mut Cx<'_>) -> T) -> T {
        self.calls.enter(cx, self.inner.deadline());
        let answer = call(&mut *self.inner, cx);
        self.calls.leave(cx.now, self.inner.deadline());
        answer
    }
}

impl Elevator for Watched {
    fn attach(&mut self, cx: &mut Cx<'_>) {
        self.changes(cx, |inner, cx| inner.attach(cx));
    }

    fn insert(&mut self, cx: &mut Cx<'_>, rq: RequestId, at: Insert) -> Run {
        self.calls.inserted(cx, rq, at, self.inner.tunables());
        self.changes(cx, |inner, cx| inner.insert(cx, rq, at))
    }

    fn dispatch(&mut self, cx: &mut Cx<'_>) -> Dispatch {
        self.calls.asked(cx, self.inner.deadline(), self.inner.tunables());
        let answer = self.inner.dispatch(cx);
        self.calls.leave(cx.now, self.inner.deadline());
        self.calls.answered(cx, answer, self.inner.deadline())
    }

    fn complete(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run {
        self.calls.completed(rq);
        self.changes(cx, |inner, cx| inner.complete(cx, rq))
    }

    fn announces_deadline(&self) -> bool {
        self.inner.announces_deadline()
    }

    fn has_work(&self) -> bool {
        self.inner.has_work()
    }

    fn deadline(&self) -> Option<Instant> {
        // The queue would wait for ever for a deadline that never moves; the law is already broken.
        self.inner.deadline().filter(|_| !self.calls.is_broken())
    }

    fn elapse(&mut self, cx: &mut Cx<'_>) -> Run {
        self.calls.elapses(cx, self.inner.deadline());
        let run = self.inner.elapse(cx);
        self.calls.elapsed(cx.now, self.inner.deadline());
        run
    }

    fn absorbed(&mut self, cx: &mut Cx<'_>, into: RequestId, victim: RequestId) {
        self.calls.absorbed(into, victim);
        self.changes(cx, |inner, cx| inner.absorbed(cx, into, victim));
    }

    fn requeue(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        self.calls.requeued(cx, rq);
        self.changes(cx, |inner, cx| inner.requeue(cx, rq));
    }

    fn forget(&mut self, cx: &mut Cx<'_>, submitter: SubmitterId) -> Run {
        self.changes(cx, |inner, cx| inner.forget(cx, submitter))
    }

    fn check(&self, requests: &Requests) {
        self.inner.check(requests);
    }
}

impl Merges for Watched {
    fn prepare(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        self.changes(cx, |inner, cx| inner.prepare(cx, rq));
    }

    fn unprepare(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        self.changes(cx, |inner, cx| inner.unprepare(cx, rq));
    }

    fn merging(&self) -> Merging {
        self.inner.merging()
    }

    fn meet(&mut self, cx: &mut Cx<'_>, bio: &Bio) {
        self.changes(cx, |inner, cx| inner.meet(cx, bio));
    }

    fn may_merge(&mut self, cx: &mut Cx<'_>, rq: RequestId, bio: &Bio) -> bool {
        self.changes(cx, |inner, cx| inner.may_merge(cx, rq, bio))
    }

    fn asking_changes(&mut self, bio: &Bio) -> bool {
        self.inner.asking_changes(bio)
    }

    fn may_append(&self, rq: &Request) -> bool {
        self.inner.may_append(rq)
    }

    fn look_up(&mut self, cx: &mut Cx<'_>, bio: &Bio) -> Lookup {
        self.changes(cx, |inner, cx| inner.look_up(cx, bio))
    }

    fn newest(&self, bio: &Bio, than: Option<RequestId>) -> Option<RequestId> {
        self.inner.newest(bio, than)
    }

    fn neighbours(&self, rq: RequestId) -> Neighbours {
        self.inner.neighbours(rq)
    }

    fn grown(&mut self, cx: &mut Cx<'_>, rq: RequestId, end: End) {
        self.calls.grown(cx, rq, end);
        self.changes(cx, |inner, cx| inner.grown(cx, rq, end));
    }
}

impl Admits for Watched {
    fn admit(&mut self, cx: &mut Cx<'_>, bio: &Bio) -> Admission {
        self.changes(cx, |inner, cx| inner.admit(cx, bio))
    }

    fn shallowest(&self, device: &DeviceFacts) -> Option<u32> {
        self.inner.shallowest(device)
    }

    fn place(&mut self, submitter: SubmitterId, hardware_queue: u32) {
        self.inner.place(submitter, hardware_queue);
    }

    // `schedules` is not passed on, because requests of `none` that go directly to the device would not be seen here.

    fn own_throttling(&self) -> OwnThrottling {
        self.inner.own_throttling()
    }
}

impl Grouped for Watched {
    fn shares_by_weight(&self) -> bool {
        self.inner.shares_by_weight()
    }

    fn group(&mut self, cx: &mut Cx<'_>, id: GroupId, group: Group) {
        self.inner.group(cx, id, group);
    }

    fn ungroup(&mut self, cx: &mut Cx<'_>, id: GroupId) {
        self.inner.ungroup(cx, id);
    }
}

impl Tuned for Watched {
    fn tunables(&self) -> &dyn Tunables {
        self.inner.tunables()
    }

    fn tunables_mut(&mut self) -> Option<&mut dyn Tunables> {
        self.inner.tunables_mut()
    }

    fn store(&mut self, cx: &mut Cx<'_>, knob: &str, value: Setting<'_>) -> Result<(), KnobError> {
        self.inner.store(cx, knob, value)
    }
}
