//! CFQ's state: what its mechanisms share, and the invariants between them.
//!
//! **In the kernel** `cfq_data`.

#![doc(alias = "cfq_data")]

use super::context::{Pid, Processes};
use super::cooperator::Positions;
use super::groups::{Grouping, Groups};
use super::mechanisms::Mechanisms;
use super::ncq::NcqWatch;
use super::qid::Qid;
use super::queue::Queues;
use super::service_tree::ServiceTrees;
use super::tunables::{CfqTunables, Ticks};
use super::workload::Workload;
use crate::elevator::{IdleFor, Run};
use crate::elevators::sorted_dispatch::SortedDispatch;
use crate::index::{Forest, Lists};
use crate::request::{PerWaiter, Requests, Sector, SubmitterId, Table};
use crate::time::{Jiffies, Tick};

/// What is kept of each request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row {
    pub(super) queue: Qid,
    /// Whose it is.
    pub(super) process: Pid,
    /// When it goes out of turn ([`Fifo::SinceInserted`](super::Fifo)).
    pub(super) expires: Tick,
}

/// Completely fair queueing.
#[derive(Debug)]
pub struct Cfq {
    pub(super) knobs: CfqTunables,
    /// The times among them, in units of the clock.
    pub(super) ticks: Ticks,
    pub(super) rules: Mechanisms,
    /// What time is counted in.
    pub(super) unit: Jiffies,
    /// A jiffy in that unit.
    pub(super) jiffy: Tick,
    /// Added to service keys ([`Clock::head_start`](super::Clock)).
    pub(super) head_start: i64,

    pub(super) processes: Processes,
    pub(super) queues: Queues,
    pub(super) groups: Groups,
    pub(super) rows: Table<Row>,
    /// Each queue's requests by sector.
    pub(super) sorted: Forest<Sector>,
    /// Each queue's requests by age.
    pub(super) fifos: Lists,
    pub(super) service: ServiceTrees,
    pub(super) positions: Positions,
    pub(super) workload: Workload,
    pub(super) chosen: SortedDispatch,

    /// The queue being served.
    pub(super) active: Option<Qid>,
    /// Whose request was the first of this turn: the process that the disk idles for.
    pub(super) active_process: Option<Pid>,
    /// Until when the disk idles.
    pub(super) timer: Option<Tick>,
    /// For whom.
    pub(super) idles_for: IdleFor,
    /// The queue to be marked once the run that its arrival set off is over.
    pub(super) pending: Option<Qid>,

    /// Requests in all queues.
    pub(super) queued: u32,
    pub(super) in_driver: PerWaiter<u32>,
    /// Chosen and not yet back.
    pub(super) in_flight: PerWaiter<u32>,
    pub(super) ncq: NcqWatch,
    /// Behind the last request that the driver took.
    pub(super) head: Sector,
    /// When a request that somebody waited for last came back.
    pub(super) last_sync: Tick,
    /// When one last came back late.
    pub(super) last_delayed_sync: Tick,
    wished: bool,
}

impl Cfq {
    /// CFQ with these knobs and mechanisms, on a kernel with `hz` ticks per second.
    pub fn new(knobs: CfqTunables, rules: Mechanisms, hz: u32) -> Cfq {
        let unit = rules.clock.unit(hz);
        Cfq {
            knobs,
            ticks: Ticks::of(&knobs, unit),
            rules,
            unit,
            jiffy: rules.clock.jiffy(hz),
            head_start: 0,
            processes: Processes::default(),
            queues: Queues::default(),
            groups: Groups::new(0),
            rows: Table::new(),
            sorted: Forest::new(),
            fifos: Lists::new(),
            service: ServiceTrees::default(),
            positions: Positions::default(),
            workload: Workload::default(),
            chosen: SortedDispatch::default(),
            active: None,
            active_process: None,
            timer: None,
            idles_for: IdleFor::Submitter(SubmitterId(0)),
            pending: None,
            queued: 0,
            in_driver: PerWaiter::default(),
            in_flight: PerWaiter::default(),
            ncq: NcqWatch::new(rules.ncq),
            head: Sector(0),
            last_sync: 0,
            last_delayed_sync: 0,
            wished: false,
        }
    }

    /// Room for this many requests, within reason, and for the queues of a usual load; more have room made for them
    /// when they come.
    pub(super) fn reserve(&mut self, requests: usize) {
        let (requests, queues) = (requests.min(4096), 256);
        self.processes.reserve(queues);
        self.queues.reserve(queues);
        self.service.reserve(queues);
        self.positions.reserve(queues);
        self.rows.reserve(requests);
        self.sorted.reserve(requests);
        self.fifos.reserve(requests);
        self.chosen.reserve(requests);
    }

    /// Wish to be run later, if there is anything to run for.
    pub(super) fn wish_run(&mut self) {
        self.wished |= self.service.busy() > 0;
    }

    pub(super) fn take_wish(&mut self) -> Run {
        if core::mem::take(&mut self.wished) { Run::Soon } else { Run::No }
    }

    /// The invariants of the state.
    pub(super) fn check_books(&self, requests: &Requests) {
        let (mut queued, mut waiting, mut reading) = (0, 0, 0);
        for (q, queue) in self.queues.iter() {
            let members = self.sorted.iter(queue.sorted);
            members.for_each(|slot| assert!(requests.is_live(crate::RequestId::from_index(slot))));
            assert_eq!(queue.sorted.len(), queue.fifo.len(), "queue {q}: the orders hold different requests");
            assert_eq!(queue.next.is_some(), !queue.is_empty(), "queue {q}: a next request exactly if there are any");
            assert!(queue.is_empty() || queue.served_in.is_some(), "queue {q} has requests but waits for no turn");
            assert!(queue.positioned_in.is_none() || !queue.is_empty(), "queue {q} is nowhere but has a position");
            let idle = queue.is_empty() && queue.dispatched == 0 && queue.served_in.is_none();
            assert!(queue.held_by.requests > 0 || idle || self.active == Some(q), "queue {q} lives for nothing");
            queued += queue.sorted.len();
            waiting += u32::from(queue.served_in.is_some());
            reading += u32::from(queue.served_in.is_some() && queue.is_sync());
        }
        assert_eq!((self.queued, self.service.busy(), self.service.busy_sync()), (queued, waiting, reading));
        let counts = self.rules.groups == Grouping::On;
        let (mut in_groups, mut in_flight) = (0, 0);
        for (g, group) in self.groups.iter() {
            let queues = self.service.in_group(g);
            assert_eq!(counts && queues > 0, self.groups.is_waiting(g), "group {g} waits exactly if its queues do");
            in_groups += queues;
            in_flight += group.in_flight;
        }
        assert_eq!((in_groups, in_flight), (self.service.busy(), self.in_flight.sync + self.in_flight.async_));
        assert!(self.active.is_some() || self.active_process.is_none());
    }
}
