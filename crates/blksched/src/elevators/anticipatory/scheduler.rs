//! The anticipatory scheduler: the mechanisms of this folder, put together.
//!
//! **Rule** What was forced out goes first. Nothing goes while a process is waited for or a batch drains. A batch that
//! goes on takes its oldest request if that one is late, else, if it is one of reads, asks whether to wait for the
//! process that read last, else goes on in sector order. A batch that is over gives way to the other class, which
//! begins with its oldest request.
//! **Origin** notes A1 to A10, E9, E10.

use super::anticipate::{Anticipation, Awaited, Phase};
use super::batch::{self, Batch, Lengths, Stage};
use super::breaking::{self, AtHand, Prospect, Sight};
use super::close::{self, Place};
use super::exits::Exits;
use super::fifo::Aged;
use super::history::{Lesson, Newcomers};
use super::look_up;
use super::next_request::{self, Nearer};
use super::process::{Life, ProcessId, Processes};
use super::tunables::AnticipatoryTunables;
use crate::elevator::{Cx, Dispatch, Elevator, IdleFor, Insert, Lookup, Neighbours, Run};
use crate::elevators::sorted_dispatch::SortedDispatch;
use crate::explain::{BatchStart, End, Index, Reason, WaitEnd};
use crate::index::Tree;
use crate::queue::merge::Merging;
use crate::request::{Bio, PerWaiter, RequestId, Requests, Sector, SubmitterId, Table, Waiter};
use crate::time::{Instant, Jiffies, Tick};
use crate::tunables::Tunables;

/// The anticipatory scheduler of 2.6.
#[derive(Debug)]
pub struct Anticipatory {
    tunables: AnticipatoryTunables,
    jiffies: Jiffies,
    sorted: PerWaiter<Tree<Sector>>,
    aged: PerWaiter<Aged>,
    /// The request that a class would go on with in sector order.
    next: PerWaiter<Option<RequestId>>,
    /// Where the last request of a class ended.
    arm: PerWaiter<Sector>,
    /// On their way to the device.
    chosen: SortedDispatch,
    /// Chosen and not completed.
    in_flight: u32,
    batch: Batch,
    anticipation: Anticipation,
    processes: Processes,
    /// The process of each request.
    owner: Table<ProcessId>,
    newcomers: Newcomers,
    exits: Exits,
}

/// What a batch that goes on does.
enum Step {
    Take(RequestId),
    /// Leave the disk idle: somebody is waited for.
    Wait,
    /// It has nothing to go on with.
    Nothing,
}

impl Anticipatory {
    pub(super) fn new(hz: u32) -> Anticipatory {
        let jiffies = Jiffies::new(hz);
        let tunables = AnticipatoryTunables::defaults(jiffies);
        let batch = Batch::first(0, lengths(&tunables, jiffies));
        Anticipatory {
            tunables,
            jiffies,
            sorted: PerWaiter::default(),
            aged: PerWaiter::default(),
            next: PerWaiter::default(),
            arm: PerWaiter::default(),
            chosen: SortedDispatch::default(),
            in_flight: 0,
            batch,
            anticipation: Anticipation::default(),
            processes: Processes::default(),
            owner: Table::new(),
            newcomers: Newcomers::default(),
            exits: Exits::NONE,
        }
    }

    fn tick(&self, cx: &Cx<'_>) -> Tick {
        self.jiffies.tick(cx.now)
    }

    fn antic_expire(&self) -> Tick {
        self.jiffies.ticks(self.tunables.antic_expire)
    }

    fn lengths(&self) -> Lengths {
        lengths(&self.tunables, self.jiffies)
    }

    fn expire(&self, class: Waiter) -> Tick {
        self.jiffies.ticks(match class {
            Waiter::Sync => self.tunables.read_expire,
            Waiter::Async => self.tunables.write_expire,
        })
    }

    fn waiting(&self) -> PerWaiter<bool> {
        let waits = |class| self.aged[class].oldest().is_some();
        PerWaiter { sync: waits(Waiter::Sync), async_: waits(Waiter::Async) }
    }
}

fn lengths(tunables: &AnticipatoryTunables, jiffies: Jiffies) -> Lengths {
    PerWaiter { sync: jiffies.ticks(tunables.read_batch_expire), async_: jiffies.ticks(tunables.write_batch_expire) }
}

/// Choosing what goes next.
impl Anticipatory {
    fn choose(&mut self, cx: &mut Cx<'_>) -> Option<RequestId> {
        let waiting = self.waiting();
        self.batch.look(waiting);
        let nobody = !waiting.sync && !waiting.async_;
        if nobody || self.anticipation.is_waiting() || self.batch.stage == Stage::Draining {
            return None;
        }
        if self.batch.goes_on(self.tick(cx), waiting) {
            match self.go_on(cx, waiting) {
                Step::Take(rq) => return Some(rq),
                Step::Wait => return None,
                Step::Nothing => {}
            }
        }
        self.begin_batch(cx, waiting)
    }

    fn go_on(&mut self, cx: &mut Cx<'_>, waiting: PerWaiter<bool>) -> Step {
        let (class, candidate) = (self.batch.class, self.next[self.batch.class]);
        let antic_expire = self.antic_expire();
        if class == Waiter::Sync && antic_expire > 0 {
            if let Some(late) = self.late(cx, class) {
                return Step::Take(late);
            }
            if self.should_wait(cx, candidate) {
                self.anticipation.wait(cx, self.jiffies, antic_expire);
                return Step::Wait;
            }
        }
        let Some(next) = candidate else { return Step::Nothing };
        if waiting.sync && !waiting.async_ {
            self.batch.expires = self.tick(cx) + self.lengths().sync;
        }
        if let Some(late) = self.late(cx, class) {
            return Step::Take(late);
        }
        cx.explain(Reason::BatchContinued { rq: next, nth: self.batch.taken + 1 });
        Step::Take(next)
    }

    /// The oldest request of the class, if its time is up.
    fn late(&mut self, cx: &mut Cx<'_>, class: Waiter) -> Option<RequestId> {
        let expire = self.expire(class);
        let (rq, late) = self.aged[class].late(cx.now, self.jiffies, expire)?;
        cx.explain(Reason::TookOldest { rq, late });
        Some(rq)
    }

    /// The next batch: `None` while it must wait for the device.
    fn begin_batch(&mut self, cx: &mut Cx<'_>, waiting: PerWaiter<bool>) -> Option<RequestId> {
        let (now, lengths) = (self.tick(cx), self.lengths());
        let class = batch::next_class(self.batch.class, waiting);
        self.batch.begin(class, now, self.in_flight, lengths);
        let rq = self.aged[class].begin_with_oldest(now)?;
        if self.batch.stage == Stage::Draining {
            cx.explain(Reason::BatchDrains { to: class, in_flight: self.in_flight });
            return None;
        }
        cx.explain(Reason::BatchBegan { dir: cx.rq(rq).dir(), rq, why: BatchStart::Oldest });
        Some(rq)
    }

    /// `rq` is chosen: it leaves the orders of its class, and its process is the one to wait for next.
    fn take(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run {
        let run = self.end_wait(cx, WaitEnd::OutOfTurn);
        let class = cx.rq(rq).waiter;
        let process = self.owner[rq];
        self.arm[class] = cx.rq(rq).end();
        let awaited = match class {
            Waiter::Sync => Some(Awaited { process, submitter: cx.rq(rq).submitter }),
            Waiter::Async => {
                self.batch.writes.count();
                None
            }
        };
        self.wait_next_for(awaited);
        self.next[class] = self.behind(cx, rq);
        self.leave_orders(class, rq);
        self.processes[process].queued -= 1;
        self.processes[process].chosen += 1;
        self.batch.taken += 1;
        self.in_flight += 1;
        self.chosen.insert(cx, rq);
        run
    }

    fn wait_next_for(&mut self, awaited: Option<Awaited>) {
        if let Some(Awaited { process, .. }) = awaited {
            self.processes.refer(process);
        }
        if let Some(Awaited { process, .. }) = self.anticipation.taken(awaited) {
            self.processes.release(process);
        }
    }

    /// The request that its class would go on with after `rq`, which is still in sector order.
    fn behind(&self, cx: &Cx<'_>, rq: RequestId) -> Option<RequestId> {
        let class = cx.rq(rq).waiter;
        let tree = &self.sorted[class];
        let index = rq.index() as u32;
        let lowest = tree.first().filter(|&first| first != index);
        let ahead = tree.next(index).or(lowest).map(RequestId::from_index);
        let back = tree.previous(index).map(RequestId::from_index);
        self.nearer(cx, class, ahead, back)
    }

    fn nearer(
        &self,
        cx: &Cx<'_>,
        class: Waiter,
        first: Option<RequestId>,
        second: Option<RequestId>,
    ) -> Option<RequestId> {
        let (Some(a), Some(b)) = (first, second) else { return first.or(second) };
        match next_request::choose(self.arm[class], cx.rq(a).start, cx.rq(b).start) {
            Nearer::First => first,
            Nearer::Second => second,
        }
    }

    fn leave_orders(&mut self, class: Waiter, rq: RequestId) {
        self.sorted[class].remove(rq.index() as u32);
        self.aged[class].remove(rq);
    }

    /// By sector; every older request with the same first sector is forced out.
    fn sort(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run {
        let (class, start) = (cx.rq(rq).waiter, cx.rq(rq).start);
        let mut run = Run::No;
        while let Some(older) = self.sorted[class].find(start).0.map(RequestId::from_index) {
            cx.explain(Reason::AliasForced { rq: older });
            run = run.max(self.take(cx, older));
            cx.seal(older);
        }
        let steps = self.sorted[class].insert(rq.index() as u32, start);
        cx.explain(Reason::Searched { index: Index::Tree, steps });
        run
    }
}

/// Waiting for a process.
impl Anticipatory {
    /// Is it better to leave the disk idle than to take `candidate`?
    fn should_wait(&mut self, cx: &mut Cx<'_>, candidate: Option<RequestId>) -> bool {
        let Some(awaited) = self.anticipation.awaited else { return false };
        if self.anticipation.phase == Phase::Finished {
            return false;
        }
        let why = self.reason_not_to_wait(cx, awaited, candidate);
        if let Some(why) = why {
            cx.explain(Reason::WaitEnds { submitter: awaited.submitter, why });
        }
        why.is_none()
    }

    fn reason_not_to_wait(&mut self, cx: &Cx<'_>, awaited: Awaited, rq: Option<RequestId>) -> Option<WaitEnd> {
        let (now, antic_expire) = (self.tick(cx), self.antic_expire());
        let process = self.processes[awaited.process];
        let sight = Sight {
            at_hand: self.at_hand(cx, awaited.process, rq),
            waited: self.anticipation.finished_at.map(|at| now - at),
            antic_expire,
            on_their_way: process.on_their_way(),
        };
        let at_once = breaking::at_once(sight);
        if at_once == Some(WaitEnd::CloseEnough) {
            self.succeed(cx, awaited.process, rq);
        }
        if at_once.is_some() {
            return at_once;
        }
        let has_exited = process.life == Life::Exited;
        if has_exited && process.history.is_new() {
            self.exits.left();
        }
        breaking::by_experience(Prospect {
            has_exited,
            think: process.history.think(),
            newcomers_think: self.newcomers.think(),
            exits: self.exits,
            antic_expire,
        })
    }

    fn at_hand(&self, cx: &Cx<'_>, process: ProcessId, rq: Option<RequestId>) -> AtHand {
        match rq {
            Some(rq) if self.owner[rq] == process => AtHand::ItsOwn,
            Some(rq) if cx.rq(rq).waiter == Waiter::Sync && self.is_close(cx, process, rq) => AtHand::Close,
            _ => AtHand::Nothing,
        }
    }

    fn is_close(&self, cx: &Cx<'_>, process: ProcessId, rq: RequestId) -> bool {
        let place = Place {
            arm: self.arm[self.batch.class],
            waited: self.anticipation.waited(self.tick(cx)),
            antic_expire: self.antic_expire(),
            seek_mean: self.processes[process].history.seek().unwrap_or(self.newcomers.seek()),
        };
        close::is_close(place, cx.rq(rq).start, self.jiffies)
    }

    /// Somebody else's read goes on where `process` left off; it counts as its own.
    fn succeed(&mut self, cx: &Cx<'_>, process: ProcessId, rq: Option<RequestId>) {
        if self.processes[process].life == Life::Exited {
            if self.processes[process].history.is_new() {
                self.exits.left();
            }
            self.exits.succeeded();
        }
        if let Some(rq) = rq {
            self.learn(cx, process, rq);
        }
    }

    fn learn(&mut self, cx: &Cx<'_>, process: ProcessId, rq: RequestId) {
        let now = self.tick(cx);
        let lesson = self.processes[process].learn(now, cx.rq(rq), self.jiffies, &mut self.newcomers);
        if lesson == Lesson::Stayed {
            self.exits.stayed();
        }
    }

    fn end_wait(&mut self, cx: &mut Cx<'_>, why: WaitEnd) -> Run {
        if let Some(Awaited { submitter, .. }) = self.anticipation.awaited.filter(|_| self.anticipation.is_waiting()) {
            cx.explain(Reason::WaitEnds { submitter, why });
        }
        self.anticipation.stop(cx)
    }

    /// `rq` has just been queued: does that end the wait?
    fn look_at_new(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run {
        let Some(awaited) = self.anticipation.awaited.filter(|_| self.anticipation.is_waiting()) else {
            return Run::No;
        };
        let why = self.reason_not_to_wait(cx, awaited, Some(rq));
        why.map_or(Run::No, |why| self.end_wait(cx, why))
    }
}

impl Elevator for Anticipatory {
    fn attach(&mut self, cx: &mut Cx<'_>) {
        self.batch = Batch::first(self.tick(cx), self.lengths());
    }

    fn insert(&mut self, cx: &mut Cx<'_>, rq: RequestId, at: Insert) -> Run {
        let class = cx.rq(rq).waiter;
        let process = self.processes.of(cx.rq(rq).submitter);
        *self.owner.row(rq) = process;
        self.processes.refer(process);
        if at == Insert::First {
            self.in_flight += 1;
            self.requeue(cx, rq);
            return Run::No;
        }
        if class == Waiter::Sync {
            self.learn(cx, process, rq);
        }
        self.processes[process].queued += 1;
        let forced = self.sort(cx, rq);
        let expires = self.tick(cx) + self.expire(class);
        self.aged[class].push(rq, expires);
        self.next[class] = self.nearer(cx, class, Some(rq), self.next[class]);
        forced.max(self.look_at_new(cx, rq))
    }

    fn dispatch(&mut self, cx: &mut Cx<'_>) -> Dispatch {
        if self.chosen.is_empty() {
            if let Some(rq) = self.choose(cx) {
                self.take(cx, rq);
            }
        }
        if let Some(rq) = self.chosen.take(cx) {
            self.processes[self.owner[rq]].chosen -= 1;
            return Dispatch::Issue(rq);
        }
        match (self.has_work(), self.anticipation.timer(), self.anticipation.awaited) {
            (false, ..) => Dispatch::Empty,
            (true, Some(until), Some(Awaited { submitter, .. })) => {
                Dispatch::Idle { until, why: IdleFor::Submitter(submitter) }
            }
            _ => Dispatch::Wait,
        }
    }

    fn complete(&mut self, cx: &mut Cx<'_>, rq: RequestId) -> Run {
        let (now, lengths, process) = (self.tick(cx), self.lengths(), self.owner[rq]);
        let class = cx.rq(rq).waiter;
        let mut run = Run::No;
        self.in_flight -= 1;
        if self.batch.stage == Stage::Draining && self.in_flight == 0 {
            self.batch.drained(now, lengths);
            run = Run::Soon;
        }
        if self.batch.completed(class, now, lengths) {
            cx.explain(Reason::BatchFitted { requests: self.batch.writes.requests });
        }
        self.anticipation.completed(cx, process, self.jiffies, self.antic_expire());
        self.part(now, class, process);
        run
    }

    fn has_work(&self) -> bool {
        !self.chosen.is_empty() || self.waiting().sync || self.waiting().async_
    }

    fn deadline(&self) -> Option<Instant> {
        self.anticipation.timer()
    }

    fn elapse(&mut self, cx: &mut Cx<'_>) -> Run {
        let Some(Awaited { process, submitter }) = self.anticipation.awaited else { return Run::No };
        self.anticipation.timed_out();
        cx.explain(Reason::WaitEnds { submitter, why: WaitEnd::TimeIsUp });
        if self.processes[process].history.is_new() {
            self.exits.left();
        }
        if self.processes[process].life == Life::Exited {
            self.exits.left_alone();
        }
        Run::Soon
    }

    fn merging(&self) -> Merging {
        Merging::LINUX_2_6
    }

    fn look_up(&mut self, cx: &mut Cx<'_>, bio: &Bio) -> Lookup {
        let (found, steps) = self.sorted[look_up::tree_for(bio.dir())].find(bio.end());
        cx.explain(Reason::Searched { index: Index::Tree, steps });
        found.map_or(Lookup::Nothing, |index| Lookup::Front(RequestId::from_index(index)))
    }

    fn neighbours(&self, rq: RequestId) -> Neighbours {
        let index = rq.index() as u32;
        let trees = [&self.sorted.sync, &self.sorted.async_];
        trees.into_iter().find(|tree| tree.contains(index)).map_or(Neighbours::default(), |tree| Neighbours {
            before: tree.previous(index).map(RequestId::from_index),
            behind: tree.next(index).map(RequestId::from_index),
        })
    }

    fn grown(&mut self, cx: &mut Cx<'_>, rq: RequestId, end: End) {
        if end == End::Front {
            self.sorted[cx.rq(rq).waiter].remove(rq.index() as u32);
            self.sort(cx, rq);
        }
    }

    fn absorbed(&mut self, cx: &mut Cx<'_>, into: RequestId, victim: RequestId) {
        let (now, class, process) = (self.tick(cx), cx.rq(victim).waiter, self.owner[victim]);
        self.aged[class].inherit(into, victim);
        self.processes[process].queued -= 1;
        if self.next[class] == Some(victim) {
            self.next[class] = self.behind(cx, victim);
        }
        self.leave_orders(class, victim);
        self.part(now, class, process);
    }

    fn requeue(&mut self, _cx: &mut Cx<'_>, rq: RequestId) {
        self.processes[self.owner[rq]].chosen += 1;
        self.chosen.hand_back(rq);
    }

    fn forget(&mut self, _cx: &mut Cx<'_>, submitter: SubmitterId) -> Run {
        self.processes.exit(submitter);
        Run::No
    }

    fn tunables(&self) -> &dyn Tunables {
        &self.tunables
    }

    fn tunables_mut(&mut self) -> Option<&mut dyn Tunables> {
        Some(&mut self.tunables)
    }

    fn check(&self, requests: &Requests) {
        self.chosen.check(requests);
        let mut queued = 0;
        for class in [Waiter::Sync, Waiter::Async] {
            self.sorted[class].check();
            self.aged[class].check(requests);
            assert_eq!(self.sorted[class].len(), self.aged[class].len());
            queued += self.aged[class].len();
            if let Some(next) = self.next[class] {
                assert!(self.sorted[class].contains(next.index() as u32), "the next request is gone");
            }
        }
        assert_eq!(self.processes.on_their_way().0, queued, "processes and orders disagree");
        assert!(
            self.anticipation.phase != Phase::Completion || self.in_flight > 0,
            "waits for a completion of nothing"
        );
    }
}

impl Anticipatory {
    /// A request of `process` is no more: it completed, or another absorbed it.
    fn part(&mut self, now: Tick, class: Waiter, process: ProcessId) {
        if class == Waiter::Sync {
            self.processes[process].completed_at = Some(now);
        }
        self.processes.release(process);
    }
}
