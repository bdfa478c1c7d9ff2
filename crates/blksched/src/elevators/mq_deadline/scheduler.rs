//! mq-deadline as an elevator: the order in which classes are served, and the parts combined.
//!
//! **Rule** First the requests that the device returned (`at_head`). Then, while several classes are busy, requests
//! that have waited too long (`ageing`). Then the highest busy class: lower classes get nothing while a higher one is
//! busy, even if only its last request is in flight. A request that seems to have been queued in the future, because
//! its expire was lowered since, is not dispatched: the disk is left idle.
//! **Origin** docs/behaviour/elevators-6.1.md#mq-deadline "Dispatch".
//! **In the kernel** `deadline_data`, `dd_dispatch_request`, `dd_insert_requests`, `dd_insert_request`,
//! `dd_finish_request`, `dd_has_work`, `dd_prepare_request`.

use super::ageing::{Age, Ageing, BusyClasses, Expire, MAY_AGE};
use super::at_head::{AtHead, HandedBack};
use super::batch::Batch;
use super::class::{ClassQueue, Classes, PerClass};
use super::depth::Depth;
use super::position::{Position, PositionRule};
use super::tunables::MqDeadlineTunables;
use crate::elevator::{
    Admission, Admits, Cx, DeviceFacts, Dispatch, Elevator, Grouped, IdleFor, Insert, Lookup, Merges, Neighbours, Run,
    Tuned,
};
use crate::elevators::deadline::LastTick;
use crate::elevators::ioprio::{IoprioClass, MergePriorities};
use crate::explain::{ClassTurn, End, Reason};
use crate::queue::merge::Merging;
use crate::request::{Bio, Dir, PerDir, RequestId, Requests};
use crate::time::{Instant, Jiffies, Span, Tick};
use crate::tunables::Tunables;

/// The differences between eras.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) classes: Classes,
    pub(super) ageing: Ageing,
    pub(super) position: PositionRule,
    pub(super) at_head: AtHead,
    pub(super) depth: Depth,
    pub(super) merge_priorities: MergePriorities,
}

/// mq-deadline.
#[derive(Debug)]
pub struct MqDeadline {
    pub(super) tunables: MqDeadlineTunables,
    jiffies: Jiffies,
    tick: LastTick,
    pub(super) rules: Rules,
    pub(super) classes: PerClass<ClassQueue>,
    /// The classes with unfinished requests.
    busy: BusyClasses,
    /// How long requests may wait, and whether all waiting ones were given this time.
    expire: PerDir<Expire>,
    batch: Batch,
    handed_back: HandedBack,
    /// The number of requests in all orders and of those returned by the device.
    pub(super) queued: u32,
    /// The tick, in the future, at which the next request seems to have been queued.
    ahead_of_time: Option<Tick>,
}

impl MqDeadline {
    pub(super) fn new(tunables: MqDeadlineTunables, hz: u32, rules: Rules) -> MqDeadline {
        MqDeadline {
            tunables,
            jiffies: Jiffies::new(hz),
            tick: LastTick::default(),
            rules,
            classes: PerClass::from_fn(|| ClassQueue::new(Position::of(rules.position))),
            busy: BusyClasses::default(),
            expire: PerDir::default(),
            batch: Batch::default(),
            handed_back: HandedBack::new(rules.at_head),
            queued: 0,
            ahead_of_time: None,
        }
    }

    #[inline(always)]
    fn choose(&mut self, cx: &mut Cx<'_>) -> Option<RequestId> {
        let several = self.busy.are_several();
        // Requests of another class that are only in flight count, too. Asking aged classes may change batch and
        // direction even if they yield nothing.
        if several
            && self.rules.ageing == Ageing::On
            && let Some(rq) = self.choose_aged(&mut cx.apart())
        {
            return Some(rq);
        }
        self.choose_highest(cx, several)
    }

    /// Only the highest class that counts needs to be asked: one with nothing queued yields nothing, and asking it
    /// changes nothing.
    #[inline(always)]
    fn choose_highest(&mut self, cx: &mut Cx<'_>, several: bool) -> Option<RequestId> {
        let class = match self.rules.classes {
            Classes::Queued => self.highest_queued()?,
            Classes::One | Classes::Unfinished => self.busy.highest()?,
        };
        match self.pick(cx, class, None) {
            Pick::Taken { rq, .. } => {
                if several {
                    cx.explain(Reason::ClassServed { class: class.class(), why: ClassTurn::Highest });
                }
                return Some(rq);
            }
            Pick::TooYoung { queued } => self.ahead_of_time = Some(queued as Tick),
            Pick::Nothing => {}
        }
        // A class holds lower ones back while any of its requests is unfinished, if only in the device.
        cx.explain(Reason::ClassBlocks { class: class.class() });
        None
    }

    fn highest_queued(&self) -> Option<IoprioClass> {
        let has_any = |class: IoprioClass| self.classes[class].len() > 0 || self.handed_back.has_of_class(class);
        IoprioClass::ALL.into_iter().find(|&class| has_any(class))
    }

    #[inline(never)]
    fn choose_aged(&mut self, cx: &mut Cx<'_>) -> Option<RequestId> {
        let now = self.jiffies.tick(cx.now);
        let age = Age::aged(now, self.tunables.prio_aging_expire, self.jiffies);
        for class in MAY_AGE {
            if let Pick::Taken { rq, queued } = self.pick(cx, class, Some(age)) {
                let waited = self.jiffies.span(now - queued.max(0) as Tick);
                cx.explain(Reason::ClassServed { class: class.class(), why: ClassTurn::Aged { waited } });
                return Some(rq);
            }
        }
        None
    }

    /// The next request of a class, if it is old enough; without `age`, if it was queued by now.
    #[inline(always)]
    fn pick(&mut self, cx: &mut Cx<'_>, class: IoprioClass, age: Option<Age>) -> Pick {
        if self.handed_back.has_of_class(class) {
            return self.pick_handed_back(&cx.apart(), class, age);
        }
        let candidate = self.batch.candidate(cx, &mut self.classes[class], &self.tunables, self.jiffies);
        let Some(candidate) = candidate else { return Pick::Nothing };
        let (dir, rq) = (candidate.dir, candidate.rq);
        let mut queued = 0;
        // While the expiry times are those that the requests were given, none seems to come from the future.
        let may_be_too_young = age.is_some() || !self.expire[dir].is_steady(self.expire_of(dir));
        if may_be_too_young && self.rules.ageing == Ageing::On {
            queued = self.queued_at(class, dir, rq);
            if !self.age(cx, age).admits(queued) {
                return Pick::TooYoung { queued };
            }
        }
        self.batch.took(cx, candidate);
        let lanes = &mut self.classes[class].lanes;
        lanes[dir].take(rq);
        // 4.19 and 5.10 keep one such request per direction and clear the other one's, so that the other direction
        // begins with its oldest.
        if self.rules.position == PositionRule::NextRqOfBoth {
            lanes[dir.other()].forgets_next();
        }
        Pick::Taken { rq, queued }
    }

    #[inline(never)]
    fn pick_handed_back(&mut self, cx: &Cx<'_>, class: IoprioClass, age: Option<Age>) -> Pick {
        let age = self.age(cx, age);
        let handed_back = self.handed_back.pop_of_class(class, age).flatten();
        handed_back.map_or(Pick::Nothing, |(rq, queued)| Pick::Taken { rq, queued })
    }

    /// The tick at which a request seems to have been queued.
    #[inline(never)]
    fn queued_at(&self, class: IoprioClass, dir: Dir, rq: RequestId) -> i64 {
        self.classes[class].lanes[dir].aged.expires(rq) as i64 - self.jiffies.ticks(self.expire_of(dir)) as i64
    }

    fn age(&self, cx: &Cx<'_>, age: Option<Age>) -> Age {
        age.unwrap_or_else(|| Age::any(self.jiffies.tick(cx.now)))
    }

    #[inline(always)]
    fn answer(&mut self, cx: &mut Cx<'_>) -> Dispatch {
        if self.handed_back.has_any()
            && let Some(rq) = self.handed_back.pop()
        {
            let request = cx.rq(rq);
            // The arm goes there, so the sweep continues from there, although the request was in no order (since
            // 6.12).
            self.classes[self.rules.classes.of(request.priority)].lanes[request.dir()].goes_on_from(request.start);
            self.queued -= 1;
            return Dispatch::Issue(rq);
        }
        if !self.has_work() {
            // Nothing waits that was given another time: a changed knob counts as steady again.
            self.expire = PerDir::default();
            return Dispatch::Empty;
        }
        if let Some(rq) = self.choose(cx) {
            self.queued -= 1;
            return Dispatch::Issue(rq);
        }
        match self.deadline() {
            Some(until) => Dispatch::Idle { until, why: IdleFor::AheadOfTime },
            None => Dispatch::Wait,
        }
    }

    /// Inserts a request into the orders of its class.
    #[inline(always)]
    fn enter(&mut self, cx: &Cx<'_>, rq: RequestId, bio: &Bio) {
        let (dir, class) = (bio.dir(), self.rules.classes.of(bio.priority));
        self.queued += 1;
        self.is_unfinished(class);
        let expire = self.expire_of(dir);
        let expires = self.tick.of(cx.now, self.jiffies) + self.expire[dir].of(expire, self.jiffies);
        self.classes[class].lanes[dir].insert(rq, bio.start, expires);
    }

    /// Counts a request of this class that has arrived.
    #[inline(always)]
    fn is_unfinished(&mut self, class: IoprioClass) {
        let unfinished = &mut self.classes[class].unfinished;
        if *unfinished == 0 {
            self.busy.add(class);
        }
        *unfinished += 1;
    }

    #[inline(always)]
    fn expire_of(&self, dir: Dir) -> Span {
        match dir {
            Dir::Read => self.tunables.read_expire,
            Dir::Write => self.tunables.write_expire,
        }
    }

    /// Uncounts a request of this class that has completed or been absorbed.
    #[inline(always)]
    fn is_finished(&mut self, class: IoprioClass) {
        let unfinished = &mut self.classes[class].unfinished;
        *unfinished -= 1;
        if *unfinished == 0 {
            self.busy.remove(class);
        }
    }

    /// Announces a changed deadline.
    #[inline(never)]
    fn announce(&mut self, cx: &mut Cx<'_>) {
        let deadline = self.deadline();
        cx.wake_at(deadline);
        match deadline {
            Some(until) => cx.explain(Reason::Armed { until, why: IdleFor::AheadOfTime }),
            None => cx.explain(Reason::Cancelled),
        }
    }

    fn hand_back(&mut self, cx: &Cx<'_>, rq: RequestId) {
        let request = cx.rq(rq);
        let expire = self.jiffies.ticks(self.expire_of(request.dir()));
        // It is put back without a time of its own to expire, so that it counts as queued that much before its return
        // (MEMORY of 6.1).
        let queued = self.jiffies.tick(cx.now) as i64 - expire as i64;
        self.handed_back.push(self.rules.classes.of(request.priority), rq, queued);
    }
}

/// The result of asking a class.
enum Pick {
    /// This request, which was queued at that tick.
    Taken {
        rq: RequestId,
        queued: i64,
    },
    /// It has a request, but it was queued too late, at that tick.
    TooYoung {
        queued: i64,
    },
    Nothing,
}

impl Elevator for MqDeadline {
    fn announces_deadline(&self) -> bool {
        true
    }

    fn attach(&mut self, cx: &mut Cx<'_>) {
        self.tunables.async_depth = self.rules.depth.at_first(cx.device());
    }

    #[inline(always)]
    fn insert(&mut self, cx: &mut Cx<'_>, rq: RequestId, at: Insert) -> Run {
        if at == Insert::First {
            self.queued += 1;
            self.is_unfinished(self.rules.classes.of(cx.rq(rq).priority));
            self.hand_back(cx, rq);
            return Run::No;
        }
        let bio = **cx.rq(rq);
        self.enter(cx, rq, &bio);
        Run::No
    }

    #[inline(always)]
    fn dispatch(&mut self, cx: &mut Cx<'_>) -> Dispatch {
        let before = self.ahead_of_time;
        if before.is_some() {
            self.ahead_of_time = None;
        }
        let answer = self.answer(cx);
        if self.ahead_of_time != before {
            self.announce(&mut cx.apart());
        }
        answer
    }

    /// When the next request no longer seems to come from the future. (A kernel tries every 3 ms.)
    fn deadline(&self) -> Option<Instant> {
        self.ahead_of_time.map(|tick| self.jiffies.instant(tick))
    }

    fn elapse(&mut self, cx: &mut Cx<'_>) -> Run {
        self.ahead_of_time = None;
        cx.wake_at(None);
        Run::Soon
    }

    #[inline(always)]
    fn complete(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run {
        self.is_finished(self.rules.classes.of(cx.rq(rq).priority));
        Run::No
    }

    fn has_work(&self) -> bool {
        self.queued > 0
    }

    fn absorbed(&mut self, cx: &mut Cx<'_>, into: RequestId, victim: RequestId) {
        let request = cx.rq(victim);
        self.queued -= 1;
        let class = self.rules.classes.of(request.priority);
        // If priorities may mix, it may be of another class, whose ages are not comparable.
        let same = class == self.rules.classes.of(cx.rq(into).priority);
        self.classes[class].absorb(request.dir(), same.then_some(into), victim);
        self.is_finished(class);
    }

    fn requeue(&mut self, cx: &mut Cx<'_>, rq: RequestId) {
        self.queued += 1;
        self.hand_back(cx, rq);
    }

    fn check(&self, requests: &Requests) {
        self.classes.iter().for_each(|class| class.check(requests));
        let sorted: u32 = self.classes.iter().map(ClassQueue::len).sum();
        assert_eq!(self.queued, sorted + self.handed_back.len());
        assert!(IoprioClass::ALL.iter().all(|&class| self.busy.has(class) == self.classes[class].is_busy()));
    }
}

impl Merges for MqDeadline {
    fn merging(&self) -> Merging {
        Merging { kin: self.rules.merge_priorities.kin(), ..Merging::LINUX_6_1 }
    }

    fn asking_changes(&mut self, _bio: &Bio) -> bool {
        false
    }

    #[inline(always)]
    fn look_up(&mut self, cx: &mut Cx<'_>, bio: &Bio) -> Lookup {
        self.look_in_front(cx, bio)
    }

    fn neighbours(&self, rq: RequestId) -> Neighbours {
        self.beside(rq)
    }

    fn grown(&mut self, cx: &mut Cx<'_>, rq: RequestId, end: End) {
        if end == End::Front {
            let request = cx.rq(rq);
            self.classes[self.rules.classes.of(request.priority)].lanes[request.dir()].move_in_order(rq, request.start);
        }
    }
}

impl Admits for MqDeadline {
    fn shallowest(&self, _device: &DeviceFacts) -> Option<u32> {
        Some(1)
    }

    #[inline(always)]
    fn admit(&mut self, cx: &mut Cx<'_>, bio: &Bio) -> Admission {
        self.rules.depth.admission(bio.op, self.tunables.async_depth, cx.device())
    }
}

impl Grouped for MqDeadline {}

impl Tuned for MqDeadline {
    fn tunables(&self) -> &dyn Tunables {
        &self.tunables
    }

    fn tunables_mut(&mut self) -> Option<&mut dyn Tunables> {
        Some(&mut self.tunables)
    }
}
