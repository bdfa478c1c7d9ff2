//! The anticipatory scheduler: the mechanisms of this folder, combined.
//!
//! **Rule** Requests that were forced out go first. Nothing is dispatched while a process is waited for or a batch
//! drains. A batch that continues takes its oldest request if that one is late; otherwise, if it is a batch of reads,
//! it asks whether to wait for the process that read last; otherwise it continues in sector order. A batch that is over
//! yields to the other class, which begins with its oldest request.
//! **Origin** docs/behaviour/elevators-2.5-2.6.md#a.1 to #a.10, #e9, #e10.
//! **In the kernel** `as_data`, `iosched_as`, `as_add_request`, `as_completed_request`, `as_merged_request`,
//! `as_remove_queued_request`.

use super::anticipate::{Anticipation, Awaited, Phase};
use super::batch::{Batch, BatchStage, Lengths};
use super::exits::Exits;
use super::fifo::Aged;
use super::history::Newcomers;
use super::look_up;
use super::process::{Life, ProcessId, Processes};
use super::tunables::AnticipatoryTunables;
use crate::elevator::{
    Admits, Cx, Dispatch, Elevator, Grouped, IdleFor, Insert, Lookup, Merges, Neighbours, Run, Tuned,
};
use crate::elevators::sorted_dispatch::SortedDispatch;
use crate::explain::{End, Index, Reason, WaitEnd};
use crate::index::Tree;
use crate::queue::merge::Merging;
use crate::request::{Bio, PerWaiter, RequestId, Requests, Sector, SubmitterId, Table, Waiter};
use crate::time::{Instant, Jiffies, Tick};
use crate::tunables::Tunables;

/// The anticipatory scheduler of 2.6.
#[derive(Debug)]
pub struct Anticipatory {
    pub(super) tunables: AnticipatoryTunables,
    pub(super) jiffies: Jiffies,
    pub(super) sorted: PerWaiter<Tree<Sector>>,
    pub(super) aged: PerWaiter<Aged>,
    /// The request with which a class would continue in sector order.
    pub(super) next: PerWaiter<Option<RequestId>>,
    /// Where the last request of a class ended.
    pub(super) arm: PerWaiter<Sector>,
    /// The dispatch list.
    pub(super) dispatch_list: SortedDispatch,
    /// The number of requests dispatched and not completed.
    pub(super) in_flight: u32,
    pub(super) batch: Batch,
    pub(super) anticipation: Anticipation,
    pub(super) processes: Processes,
    /// The process of each request.
    pub(super) owner: Table<ProcessId>,
    pub(super) newcomers: Newcomers,
    pub(super) exits: Exits,
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
            dispatch_list: SortedDispatch::default(),
            in_flight: 0,
            batch,
            anticipation: Anticipation::default(),
            processes: Processes::default(),
            owner: Table::new(),
            newcomers: Newcomers::default(),
            exits: Exits::NONE,
        }
    }

    pub(super) fn tick(&self, cx: &Cx<'_>) -> Tick {
        self.jiffies.tick(cx.now)
    }

    pub(super) fn antic_expire(&self) -> Tick {
        self.jiffies.ticks(self.tunables.antic_expire)
    }

    pub(super) fn lengths(&self) -> Lengths {
        lengths(&self.tunables, self.jiffies)
    }

    pub(super) fn expire(&self, class: Waiter) -> Tick {
        self.jiffies.ticks(match class {
            Waiter::Sync => self.tunables.read_expire,
            Waiter::Async => self.tunables.write_expire,
        })
    }

    pub(super) fn waiting(&self) -> PerWaiter<bool> {
        let waits = |class| self.aged[class].oldest().is_some();
        PerWaiter { sync: waits(Waiter::Sync), async_: waits(Waiter::Async) }
    }
}

fn lengths(tunables: &AnticipatoryTunables, jiffies: Jiffies) -> Lengths {
    PerWaiter { sync: jiffies.ticks(tunables.read_batch_expire), async_: jiffies.ticks(tunables.write_batch_expire) }
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
        if self.dispatch_list.is_empty()
            && let Some(rq) = self.choose(cx)
        {
            self.take(cx, rq);
        }
        if let Some(rq) = self.dispatch_list.take(cx) {
            self.processes[self.owner[rq]].on_dispatch_list -= 1;
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
        if self.batch.stage == BatchStage::Draining && self.in_flight == 0 {
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
        !self.dispatch_list.is_empty() || self.waiting().sync || self.waiting().async_
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
        self.processes[self.owner[rq]].on_dispatch_list += 1;
        self.dispatch_list.hand_back(rq);
    }

    fn forget(&mut self, _cx: &mut Cx<'_>, submitter: SubmitterId) -> Run {
        self.processes.exit(submitter);
        Run::No
    }

    fn check(&self, requests: &Requests) {
        self.dispatch_list.check(requests);
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

impl Merges for Anticipatory {
    fn merging(&self) -> Merging {
        Merging::LINUX_2_6
    }

    fn asking_changes(&mut self, _bio: &Bio) -> bool {
        false
    }

    fn look_up(&mut self, cx: &mut Cx<'_>, bio: &Bio) -> Lookup {
        let (found, steps) = self.sorted[look_up::tree_for(bio.dir())].find_counting(bio.end(), cx.steps());
        cx.explain_search(Index::Tree, steps);
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
            let forced = self.sort(cx, rq);
            cx.run_queue(forced);
        }
    }
}

impl Admits for Anticipatory {}
impl Grouped for Anticipatory {}

impl Tuned for Anticipatory {
    fn tunables(&self) -> &dyn Tunables {
        &self.tunables
    }

    fn tunables_mut(&mut self) -> Option<&mut dyn Tunables> {
        Some(&mut self.tunables)
    }
}
