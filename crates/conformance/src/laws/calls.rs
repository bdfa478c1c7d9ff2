//! The law between a queue and an elevator, seen from their calls.
//!
//! **Rule** The elevator issues only queued requests. It says `Empty` only with nothing queued, `Wait` only with
//! requests queued and something in flight or a deadline to come, `Idle` only with a deadline. The queue asks again
//! only after a change, and lets each deadline elapse at its own time before any other call.

use std::collections::BTreeSet;

use blksched::Instant;
use blksched::author::{Bound, Cx, Dispatch, Insert, RequestId};
use blksched::reasons::End;
use blksched::tunables::Tunables;

use super::law::SharedState;
use super::waiting::Waiting;

/// How often a deadline may elapse at one moment in which no request is issued or ends, since an elevator may have
/// several timers. Each request may bring one more: BFQ with `strict_guarantees` and `slice_idle=0` idles for no time
/// whenever a queue becomes empty.
const AT_ONE_MOMENT: u32 = 32;

const ISSUES: &str = "nothing is issued that is not queued";
const EMPTY: &str = "never Empty with requests queued";
const WAIT: &str = "never Wait with nothing in flight and no deadline";
const IDLE: &str = "Idle only with a deadline";
const POLLS: &str = "the queue never polls";
const TIME: &str = "deadlines elapse in time";
const PAST: &str = "no deadline stays in the past";
const WAITING: &str = "bounded waiting";

/// The elevator's deadline, and when it took this value.
#[derive(Clone, Copy, Debug)]
struct Armed {
    until: Instant,
    at: Instant,
    call: u64,
}

/// The state of the law for one elevator.
pub(super) struct Calls {
    shared: SharedState,
    queued: BTreeSet<RequestId>,
    flying: BTreeSet<RequestId>,
    latest: Instant,
    armed: Option<Armed>,
    /// How often a deadline elapsed at the latest moment since a request was issued or ended.
    elapses: u32,
    /// The last answer that issued nothing, and the number of requests then in flight, while nothing has changed since.
    unchanged: Option<(Dispatch, u32)>,
    waiting: Waiting,
}

impl Calls {
    pub(super) fn new(shared: SharedState, bound: Bound) -> Calls {
        Calls {
            shared,
            queued: BTreeSet::new(),
            flying: BTreeSet::new(),
            latest: Instant::ZERO,
            armed: None,
            elapses: 0,
            unchanged: None,
            waiting: Waiting::new(bound),
        }
    }

    pub(super) fn is_broken(&self) -> bool {
        self.shared.is_broken()
    }

    /// Checks any call but an elapse: time does not go back, and nothing is overdue except deadlines armed during this
    /// call of the queue.
    pub(super) fn enter(&mut self, cx: &Cx<'_>, deadline: Option<Instant>) {
        self.unchanged = None;
        self.time_is(cx.now);
        let now = cx.now;
        let this_call = self.shared.checked().call;
        let overdue = deadline.filter(|&until| until <= now);
        if let Some(until) = overdue.filter(|_| self.armed.is_none_or(|armed| armed.call != this_call)) {
            self.shared.accuse(TIME, || format!("a call at {now}, but the deadline of {until} has not elapsed"));
        }
    }

    fn time_is(&mut self, now: Instant) {
        if now < self.latest {
            let latest = self.latest;
            self.shared.accuse(TIME, || format!("time ran backwards, from {latest} to {now}"));
        }
        if now > self.latest {
            self.elapses = 0;
        }
        self.latest = now;
    }

    pub(super) fn leave(&mut self, now: Instant, deadline: Option<Instant>) {
        if deadline != self.armed.map(|armed| armed.until) {
            let call = self.shared.checked().call;
            self.armed = deadline.map(|until| Armed { until, at: now, call });
        }
    }

    /// Checks that a deadline elapses at its own time, or at once if it was armed in the past.
    pub(super) fn elapses(&mut self, cx: &Cx<'_>, deadline: Option<Instant>) {
        self.unchanged = None;
        self.time_is(cx.now);
        let now = cx.now;
        let expected = deadline.map(|until| self.armed.map_or(until, |armed| until.max(armed.at)));
        if expected != Some(now) {
            self.shared.accuse(TIME, || format!("told the time at {now}, but the deadline was {deadline:?}"));
        }
        self.elapses += 1;
        if self.elapses > AT_ONE_MOMENT {
            self.shared.accuse(PAST, || format!("at {now} a deadline elapsed {AT_ONE_MOMENT} times and is due again"));
        }
    }

    pub(super) fn elapsed(&mut self, now: Instant, deadline: Option<Instant>) {
        let call = self.shared.checked().call;
        self.armed = deadline.map(|until| Armed { until, at: now, call });
    }

    pub(super) fn inserted(&mut self, cx: &Cx<'_>, rq: RequestId, at: Insert, tunables: &dyn Tunables) {
        self.queued.insert(rq);
        self.waiting.look(tunables);
        self.waiting.inserted(cx.now, rq, cx.rq(rq), at, tunables);
    }

    pub(super) fn grown(&mut self, cx: &Cx<'_>, rq: RequestId, end: End) {
        if end == End::Front {
            self.waiting.moved(rq, cx.rq(rq).start);
        }
    }

    pub(super) fn absorbed(&mut self, into: RequestId, victim: RequestId) {
        if !self.queued.contains(&into) || !self.queued.remove(&victim) {
            self.shared.accuse(ISSUES, || format!("{into:?} absorbed {victim:?}, and not both were queued"));
        }
        self.waiting.gone(victim);
    }

    pub(super) fn requeued(&mut self, cx: &Cx<'_>, rq: RequestId) {
        self.flying.remove(&rq);
        self.queued.insert(rq);
        self.waiting.requeued(rq, cx.rq(rq));
    }

    pub(super) fn completed(&mut self, rq: RequestId) {
        self.elapses = 0;
        if !self.flying.remove(&rq) {
            self.shared.accuse(ISSUES, || format!("{rq:?} completed, but this elevator did not issue it"));
        }
    }

    /// Checks a call of `dispatch`.
    pub(super) fn asked(&mut self, cx: &Cx<'_>, deadline: Option<Instant>, tunables: &dyn Tunables) {
        let changed = core::mem::take(&mut self.shared.checked().changed_unseen);
        let unchanged = self.unchanged.filter(|&(_, in_flight)| in_flight == cx.device().in_flight && !changed);
        if let Some((answer, _)) = unchanged {
            self.shared.accuse(POLLS, || format!("asked again, but nothing has changed since the answer {answer:?}"));
        }
        self.enter(cx, deadline);
        self.waiting.look(tunables);
    }

    /// Checks an answer; returns it if it keeps the law, otherwise a harmless one.
    pub(super) fn answered(&mut self, cx: &Cx<'_>, answer: Dispatch, deadline: Option<Instant>) -> Dispatch {
        let queued = self.queued.len();
        match answer {
            Dispatch::Issue(rq) => return self.issued(cx, rq),
            Dispatch::Reinsert(rq) => return self.reinserted(rq, answer),
            Dispatch::Empty if queued > 0 => self.shared.accuse(EMPTY, || format!("{queued} requests are queued")),
            Dispatch::Wait if queued == 0 => {
                self.shared.accuse(WAIT, || "nothing is queued: the answer should be Empty".to_owned());
            }
            Dispatch::Wait if cx.device().in_flight == 0 && deadline.is_none() => {
                self.shared.accuse(WAIT, || format!("{queued} requests are queued, and nothing will ever happen"));
            }
            Dispatch::Idle { until, .. } if deadline.is_none_or(|at| at > until) => {
                self.shared.accuse(IDLE, || format!("idle until {until}, but the deadline is {deadline:?}"));
            }
            Dispatch::Idle { .. } | Dispatch::Wait | Dispatch::Empty => {}
        }
        self.unchanged = Some((answer, cx.device().in_flight));
        answer
    }

    /// Checks that a request to be inserted again was queued; from here on it counts as new.
    fn reinserted(&mut self, rq: RequestId, answer: Dispatch) -> Dispatch {
        if !self.queued.remove(&rq) {
            self.shared.accuse(ISSUES, || format!("{rq:?} is to be inserted again, but was not queued"));
        }
        self.waiting.gone(rq);
        answer
    }

    fn issued(&mut self, cx: &Cx<'_>, rq: RequestId) -> Dispatch {
        if !self.queued.remove(&rq) {
            let at = if self.flying.contains(&rq) { "in flight" } else { "nowhere" };
            self.shared.accuse(ISSUES, || format!("{rq:?} was issued, but is {at}"));
            return Dispatch::Empty;
        }
        self.flying.insert(rq);
        self.elapses = 0;
        if let Err(what) = self.waiting.issued(cx.now, rq) {
            self.shared.accuse(WAITING, || what);
        }
        Dispatch::Issue(rq)
    }
}
